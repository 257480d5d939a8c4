/**
 * `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}`, replaced in values after parsing, so that what they bring
 * in can never become YAML. Any other `${…}` is plain text; `$${env:` writes `${env:`.
 */
import { dirname, isAbsolute, resolve } from "node:path";
import type { AllowedReferences } from "../allowed-names.ts";
import type { Reporter } from "../report/diagnostic.ts";
import { nearestName } from "../report/suggest.ts";
import { isSecretField, isTextField, namesFiles } from "../secret-fields.ts";
import { OUTSIDE_HELP } from "./root.ts";
import { Source, type Sources } from "./source.ts";
import type { Key, Range, Spot, Tree } from "./tree.ts";

export interface ReferenceReader {
  /** Secret files are links to where they really are: those of a copy that the gateway kept itself. */
  readonly secretsAreLinked?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sources: Sources;
  /** What included files may refer to. */
  readonly allowed: AllowedReferences;
  readonly tree: Tree;
  readonly reporter: Reporter;
  /** See LoadRequest. */
  readonly secrets: "resolve" | "skip" | "keep" | "dummy";
}

const REFERENCE = /\$?\$\{(env|file):([^}\n]*)(\}?)/g;
/** The same text as it would be written: what looks like a reference in it stays text. */
export function escapedReferences(text: string): string {
  return text.includes("${") ? text.replace(/\$\{(?:env|file):/g, (start) => `$${start}`) : text;
}

const ENV_NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/;

/** Resolves every string under `container`, in place. One that cannot be is reported, taken out and marked. */
export function resolveReferences(
  container: object,
  parent: Spot | undefined,
  reader: ReferenceReader,
): void {
  // Most values are neither references nor containers: nothing is allocated for them.
  const keys: Iterable<Key> = Array.isArray(container) ? container.keys() : Object.keys(container);
  for (const key of keys) {
    const value: unknown = Reflect.get(container, key);
    if (typeof value === "string") {
      if (value.includes("${")) resolveString(value, { container, key, parent }, reader);
    } else if (typeof value === "object" && value !== null) {
      resolveReferences(value, { container, key, parent }, reader);
    }
  }
}

/** Resolves the string at one spot, in place. */
export function resolveString(value: string, spot: Spot, reader: ReferenceReader): void {
  const { tree } = reader;
  const range = tree.valueRange(spot);
  if (range === undefined) return;
  let from = range.start;
  let failed = false;
  let isPlaceholder = false;
  let text = "";
  let shown = "";
  let shownTo = 0;
  const resolved = value.replace(REFERENCE, (written: string, ...parts: [string, string, string, number]) => {
    const [kind, body, closed, offset] = parts;
    shown += value.slice(shownTo, offset);
    shownTo = offset + written.length;
    if (written.startsWith("$$")) {
      shown += written;
      return written.slice(1);
    }
    text = written;
    const at = spanOf(written, range, from);
    from = at.end;
    const found = closed === "" ? undefined : resolveOne(kind, body, { spot, source: at.source }, reader);
    const outcome = found ?? malformed(written);
    if ("text" in outcome) {
      if (outcome.isDefault !== true) tree.broughtIn(outcome.text, written);
      shown += outcome.isContent === true ? escapedReferences(outcome.text) : written;
      return outcome.text;
    }
    shown += written;
    if (outcome.mayPass === true && reader.secrets !== "resolve") {
      isPlaceholder = true;
      return "placeholder";
    }
    failed = true;
    reader.reporter.reportRange(outcome.code, at, outcome.problem, { ...outcome, path: tree.path(spot) });
    return "";
  });
  shown += value.slice(shownTo);
  if (text !== "") tree.markReference(spot.container, spot.key, { text, isPlaceholder, shown });
  // The container was made by this load, for it alone: see ParsedFile.plain.
  const values = spot.container as Record<string | number, unknown>;
  if (!failed) {
    values[spot.key] = resolved;
    return;
  }
  tree.markFault(spot.container, spot.key);
  if (Array.isArray(spot.container)) values[spot.key] = null;
  else delete values[spot.key];
}

type Outcome =
  | {
      readonly text: string;
      readonly isDefault?: true;
      /** It is part of the configuration, such as a prompt's file, and no secret. */
      readonly isContent?: true;
    }
  | {
      readonly code: "E0011" | "E0201" | "E0202" | "E0203" | "E0205";
      /** True when it is the value that is missing: without secrets it counts as given. */
      readonly mayPass?: true;
      readonly problem: string;
      readonly suggestion?: string | undefined;
      readonly help?: string;
      readonly subject?: string;
    };

function resolveOne(
  kind: string,
  body: string,
  place: ReferencePlace,
  reader: ReferenceReader,
): Outcome | undefined {
  return kind === "env" ? resolveEnv(body, place, reader) : resolveFile(body.trim(), place, reader);
}

function notAllowed(written: string, source: Source, allowed: AllowedReferences): Outcome {
  return {
    code: "E0205",
    problem: `this file may not refer to \`${written}\`: its include allows ${allowed.describe(source)}`,
    help: "extend `secrets.allow` of the include",
  };
}

/** The field that a reference is part of, and the file that the field is in. */
interface ReferencePlace {
  readonly spot: Spot;
  readonly source: Source;
}

function resolveEnv(
  body: string,
  { spot, source }: ReferencePlace,
  { env, allowed, secrets }: ReferenceReader,
): Outcome | undefined {
  const [, name, fallback] = ENV_NAME.exec(body) ?? [];
  if (name === undefined) return undefined;
  if (!allowed.allowsVariable(source, name)) return notAllowed(name, source, allowed);
  // Which files there are is decided by a variable's default when no variable is read.
  const isKept = secrets === "keep" && !(fallback !== undefined && namesFiles(spot));
  const value = secrets !== "keep" && Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined && !isKept && (value === undefined || value === ""))
    return { text: fallback, isDefault: true };
  if (value !== undefined) return { text: value };
  const known = Object.keys(env).filter((other) => allowed.allowsVariable(source, other));
  const near = nearestName(name, known);
  return {
    code: "E0201",
    mayPass: true,
    problem: `environment variable \`${name}\` is not set`,
    subject: name,
    suggestion: near === undefined ? undefined : `\${env:${near}}`,
    help: `set it, or give a default: \`\${env:${name}:-…}\``,
  };
}

/** Mounted secrets are outside the root: a secret-bearing field may name an absolute path. */
function resolveFile(
  path: string,
  { spot, source }: ReferencePlace,
  { sources, allowed, secrets, secretsAreLinked = false }: ReferenceReader,
): Outcome | undefined {
  if (path === "") return undefined;
  if (!allowed.allowsFile(source, path, spot, sources.root)) return notAllowed(path, source, allowed);
  const isMounted = (isAbsolute(path) || secretsAreLinked) && isSecretField(spot);
  const absolute = resolve(dirname(source.path), path);
  if (isSecretField(spot)) sources.markSecret(absolute);
  const isContent = isTextField(spot);
  if (!isContent) sources.leaveOut(absolute);
  if (!isContent && (secrets === "keep" || secrets === "dummy"))
    return { code: "E0202", problem: "", mayPass: true };
  const file = sources.read(absolute, isMounted ? "anywhere" : "root");
  if (file instanceof Source)
    return { text: file.text.replace(/\r?\n$/, ""), ...(isContent && { isContent }) };
  const problem = `\`${path}\` ${file.unreadable}`;
  if (file.isOutside) return { code: "E0011", problem, help: outsideHelp(spot) };
  const help = "paths are relative to this file";
  return { code: "E0202", problem, help, ...(isContent ? {} : { mayPass: true }) };
}

function outsideHelp(spot: Spot): string {
  return isSecretField(spot)
    ? "name a secret that is mounted elsewhere by its absolute path, or a wider root with `--root DIR`"
    : OUTSIDE_HELP;
}

function malformed(written: string): Outcome {
  return {
    code: "E0203",
    problem: `\`${written}\` is not a reference that can be resolved`,
    help:
      "write `${env:NAME}`, `${env:NAME:-default}` or `${file:PATH}`; `$$" +
      "{env:` stands for the text itself",
  };
}

/** Place of a reference inside its value: found in the file's text, past those found before. */
function spanOf(written: string, { source, start, end }: Range, from: number): Range {
  const at = source.text.indexOf(written, from);
  if (at < 0 || at >= end) return { source, start, end };
  return { source, start: at, end: at + written.length };
}
