/** Endpoints: slugs, templates, schemas. */
import { compileSchema, malformation, refusedPattern, type SchemaRefusal } from "../../base/json-schema.ts";
import type { JsonSchema } from "../../plugin/chat.ts";
import { isPlainMap, type Spot } from "../read/tree.ts";
import type { FilledEndpoint } from "../schema/endpoint.ts";
import { isPlain } from "../schema/rules.ts";
import { RESERVED_SLUGS, slugOf } from "../slug.ts";
import { checkCallSettings } from "./call-settings.ts";
import { type Check, type UniqueNames, under } from "./context.ts";
import { checkStages } from "./options.ts";
import type { ProjectNames } from "./targets.ts";
import { spotAt } from "./validate.ts";

const INPUT_PLACEHOLDER = /\{\{\s*input\s*\}\}/;

export interface EndpointRegistries {
  readonly slugs: UniqueNames;
  readonly uuids: UniqueNames;
}

export function checkEndpoint(
  check: Check,
  endpoint: FilledEndpoint,
  spot: Spot,
  { names, registries }: { readonly names: ProjectNames; readonly registries: EndpointRegistries },
): void {
  checkSlug(check, endpoint, spot, registries.slugs);
  if (endpoint.uuid !== null)
    registries.uuids.add(endpoint.uuid.toLowerCase(), under(endpoint, "uuid", spot));
  checkCallSettings(check, endpoint, spot, names);
  checkStages(check, endpoint.stages, under(endpoint, "stages", spot));
  const { user_prompt_template: template } = endpoint;
  if (template !== "" && !INPUT_PLACEHOLDER.test(template)) {
    const message = "user_prompt_template has no `{{input}}`: what the user says would be lost";
    check.report("E0314", under(endpoint, "user_prompt_template", spot), message, {
      help: "put `{{input}}` where the user's message belongs",
    });
  }
  checkSchema(check, endpoint, "input_schema", spot);
  checkCallable(check, endpoint, spot);
  checkSchema(check, endpoint, "output_schema", spot);
}

function checkSlug(check: Check, endpoint: FilledEndpoint, spot: Spot, slugs: UniqueNames): void {
  const { slug, name } = endpoint;
  if (slug === null && (name === undefined || check.tree.isFaulty(endpoint, "slug"))) return;
  const place = under(endpoint, slug === null ? "name" : "slug", spot);
  const path = slug ?? slugOf(name ?? "");
  if (path === "") {
    check.report("E0309", place, "no slug can be made from this name", { help: "add a `slug`" });
  } else if (RESERVED_SLUGS.has(path)) {
    const message = `slug \`${path}\` is the path of another route`;
    check.report("E0308", place, message, { help: `reserved: ${[...RESERVED_SLUGS].join(", ")}` });
  } else {
    slugs.add(path, place);
  }
}

function checkSchema(
  check: Check,
  endpoint: FilledEndpoint,
  key: "input_schema" | "output_schema",
  parent: Spot,
): void {
  const schema = endpoint[key];
  if (schema === null) return;
  const refusal = refusalOf(schema);
  if (refusal === undefined) return;
  const spot = under(endpoint, key, parent);
  const place = typeof schema === "object" ? spotAt(schema, refusal.path, spot) : undefined;
  check.report("E0315", place?.spot ?? spot, `${key}: ${refusal.message}`, {
    help: refusal.help,
  });
}

/** What may admit `message` elsewhere than under `properties`. */
const COMPOSITION = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties"];

/** Clients of the MCP bridge send what the tool's schema names, and a chat call needs `message`. */
function checkCallable(check: Check, endpoint: FilledEndpoint, parent: Spot): void {
  const { expose_as_mcp_tool: isExposed, input_schema: schema } = endpoint;
  if (!isExposed || schema === null) return;
  if (typeof schema === "object") {
    if (COMPOSITION.some((key) => Object.hasOwn(schema, key))) return;
    const properties: unknown = schema["properties"];
    if (isPlainMap(properties) && takesText(properties["message"])) return;
  }
  const message = "input_schema has no `message`, which each call needs: as an MCP tool nobody can call it";
  check.report("W0114", under(endpoint, "input_schema", parent), message, {
    help: "add a property `message` of type string, or set `expose_as_mcp_tool: false`",
  });
}

function takesText(schema: unknown): boolean {
  if (!isPlainMap(schema)) return schema === true;
  const { type } = schema;
  return type === undefined || type === "string" || (Array.isArray(type) && type.includes("string"));
}

const PLAIN_CHARACTERS_MAX = 20_000;

/** Most schemas are small and plain: well formed, such a one compiles, and that can wait until it is needed. */
function refusalOf(schema: JsonSchema): SchemaRefusal | undefined {
  const refusal = malformation(schema) ?? refusedPattern(schema);
  if (refusal !== undefined) return refusal;
  if (isPlain(schema) && JSON.stringify(schema).length <= PLAIN_CHARACTERS_MAX) return undefined;
  const compiled = compileSchema(schema);
  return compiled.ok ? undefined : compiled;
}
