/** Each reference to a secret, and whether there is something behind it. No value is kept, printed or measured. */
import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import type { ConfigPath, ShownConfig } from "../../config/shown.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { CliIo } from "../command.ts";
import { advised, codeOf, type Finding, finding } from "./finding.ts";

/** As config/read/references.ts reads them. */
const REFERENCE = /\$?\$\{(env|file):([^}\n]*)(\}?)/g;
const DEFAULT = ":-";
/** Texts that may come from files and are no secrets. */
const TEXTS: ReadonlySet<string> = new Set([
  ...["prompt", "user_prompt_template", "description", "input_schema", "output_schema"],
]);

interface Place {
  readonly file: string;
  readonly line: number;
}

interface Reference {
  readonly kind: "env" | "file";
  readonly name: string;
  readonly hasDefault: boolean;
  readonly first: Place;
  more: number;
}

/** `shown`: the configuration with its references as they are written. */
export function checkSecrets(shown: ShownConfig, io: CliIo): readonly Finding[] {
  const references = referencesIn(shown);
  if (references.length === 0) return [finding("secrets", "ok", "", "the configuration refers to none")];
  return references.map((reference) => {
    const { kind, name, first, more, hasDefault } = reference;
    const others = more === 0 ? "" : ` and ${more} more`;
    const place = `(${relative(io.cwd, first.file)}:${first.line}${others})`;
    const problem =
      kind === "env" ? variableProblem(io.env[name]) : fileProblem(resolve(dirname(first.file), name));
    const is = kind === "env" ? "set" : "readable";
    if (problem === undefined) return finding("secrets", "ok", name, `${is} ${place}`);
    if (hasDefault) return finding("secrets", "ok", name, `${problem}, its default is used ${place}`);
    const advice =
      kind === "env"
        ? `export ${name}=…, or give a default: \${env:${name}:-…}`
        : "mount or create it, readable for this user";
    return advised(finding("secrets", "error", name, `${problem} ${place}`), advice);
  });
}

function variableProblem(value: string | undefined): string | undefined {
  if (value === undefined) return "not set";
  return value.trim() === "" ? "set, but empty" : undefined;
}

function fileProblem(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() === "" ? "empty" : undefined;
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" ? "does not exist" : `cannot be read (${code})`;
  }
}

function referencesIn({ config, originOf }: ShownConfig): readonly Reference[] {
  const found = new Map<string, Reference>();
  visit(config, [], (text, path) => {
    for (const [whole, kind, body = "", end] of text.matchAll(REFERENCE)) {
      if (whole.startsWith("$$") || end === "" || (kind !== "env" && kind !== "file")) continue;
      if (kind === "file" && path.some((key) => typeof key === "string" && TEXTS.has(key))) continue;
      const at = originOf(path)?.at;
      if (at === undefined) continue;
      const split = kind === "env" ? body.indexOf(DEFAULT) : -1;
      const name = split < 0 ? body : body.slice(0, split);
      // A relative file is another one in another folder.
      const key = `${kind} ${kind === "file" ? resolve(dirname(at.file), name) : name} ${split >= 0}`;
      const known = found.get(key);
      if (known !== undefined) known.more += 1;
      else found.set(key, { kind, name, hasDefault: split >= 0, first: at, more: 0 });
    }
  });
  return [...found.values()];
}

function visit(value: JsonValue, path: ConfigPath, text: (text: string, path: ConfigPath) => void): void {
  if (typeof value === "string") text(value, path);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value))
      visit(item, [...path, Array.isArray(value) ? Number(key) : key], text);
}
