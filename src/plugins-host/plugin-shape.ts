/** Checks what a module exports as a plugin. Messages name the plugin's field and say what was expected. */
import { compileSchema } from "../base/json-schema.ts";
import type { JsonSchema } from "../plugin/chat.ts";
import type { Plugin } from "../plugin/contract.ts";
import { STAGES } from "../plugin/contract.ts";

const KINDS: readonly Plugin["kind"][] = ["stage", "guardrail", "provider", "store"];
const NAME = /^[a-z0-9][a-z0-9_-]*$/;
const NAME_CHARACTERS_MAX = 64;

/** What is wrong with a plugin; undefined: nothing. */
export function pluginFault(plugin: unknown): string | undefined {
  const field = (key: string): unknown => property(plugin, key);
  if (field("api") !== 1) return "make it with definePlugin, defineGuardrail, defineProvider or defineStore";
  const [kind, name, description, stage] = [
    field("kind"),
    field("name"),
    field("description"),
    field("stage"),
  ];
  if (!KINDS.some((known) => known === kind)) return `unknown kind '${String(kind)}'`;
  if (typeof name !== "string") return "it has no name";
  if (!NAME.test(name) || name.length > NAME_CHARACTERS_MAX) {
    return `\`name\` must be kebab-case or snake_case of at most ${NAME_CHARACTERS_MAX} characters, not '${name.slice(0, 80)}'`;
  }
  if (typeof description !== "string" || description.trim() === "")
    return `\`description\` of '${name}' must be a sentence`;
  if (typeof field("setup") !== "function") return "it has no setup function";
  if (kind === "stage" && !STAGES.some((known) => known === stage)) {
    return `unknown stage '${String(stage)}'; stages are ${STAGES.join(", ")}`;
  }
  return schemaFault(name, field("schema"), field("examples"));
}

function schemaFault(name: string, schema: unknown, examples: unknown): string | undefined {
  if (!isSchema(schema)) return "it has no schema";
  if (!Array.isArray(examples)) return `\`examples\` of '${name}' must be a list of options`;
  const compiled = compileSchema(schema);
  // Told by the check of the options, with its place in the schema.
  if (!compiled.ok) return undefined;
  for (const [n, example] of examples.entries()) {
    const errors = compiled.check(example);
    if (errors !== undefined)
      return `\`examples[${n}]\` of '${name}' is not what its schema accepts: ${errors[0] ?? ""}`;
  }
  return undefined;
}

function isSchema(value: unknown): value is JsonSchema {
  return (typeof value === "object" && value !== null && !Array.isArray(value)) || typeof value === "boolean";
}

function property(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Reflect.get(value, key);
}
