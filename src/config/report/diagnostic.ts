/** Errors and warnings of a configuration, and their only collector. Plain data: it is sent between threads. */

import type { Range, Spot, Tree } from "../read/tree.ts";
import type { Code } from "./codes.ts";
import { isSensitiveKey, maskedUser } from "./mask.ts";

export interface Diagnostic {
  readonly code: Code;
  readonly severity: "error" | "warning";
  /** What was found and what is allowed, in one line. Contains no secret. */
  readonly message: string;
  /** Absolute path. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
  /** `projects[0].endpoints[2].temperature`; "" for a whole file. */
  readonly path: string;
  /** Where the marked piece of text ends: the first position after it. Absent where there is no text to mark. */
  readonly end?: { readonly line: number; readonly column: number };
  /** What to write in place of the marked text, and nothing else: tools apply it. Prose goes to `help`. */
  readonly suggestion?: string;
  /** What to do about it. */
  readonly help?: string;
  /** What it is about, where several are shown as one list: the name of a variable. */
  readonly subject?: string;
  /** Its line, secrets hidden, and how much of it is meant. `offset`: characters of the line before `text`. */
  readonly frame?: { readonly text: string; readonly length: number; readonly offset?: number };
}

export interface Details {
  readonly suggestion?: string | undefined;
  readonly help?: string | undefined;
  readonly subject?: string | undefined;
  /** Point at the key, not at its value. */
  readonly at?: "key" | "value";
}

/** Expensive details are functions, called only for diagnostics that are kept. */
export type DetailsOf = Details | (() => Details);

/** Collects diagnostics, up to a bound. The same message at the same place is reported once. */
export interface Reporter {
  report(code: Code, spot: Spot, message: string, details?: DetailsOf): void;
  reportRange(
    code: Code,
    range: Range,
    message: string,
    details?: Details & { readonly path?: string },
  ): void;
  /** For what no text can be shown of: a file that is not there. */
  reportFile(code: Code, file: string, message: string, details?: Details): void;
  /** ` at file:line:column`, for a message that names a second place. */
  place(spot: Spot): string;
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** How many more there were. */
  readonly omitted: Omitted;
}

/** Diagnostics that were counted and not kept. */
export interface Omitted {
  errors: number;
  warnings: number;
}

const DIAGNOSTICS_MAX = 1000;
/** Beyond these, repeated diagnostics are counted again. */
const IDENTITIES_MAX = 50_000;
const MARKED_CHARACTERS_MAX = 80;

/** `denied`: warnings that count as errors. */
export function createReporter(tree: Tree, denied: ReadonlySet<Code>): Reporter {
  const errors: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  const seen = new Set<string>();
  const omitted: Omitted = { errors: 0, warnings: 0 };

  function add(found: Found, message: string, details: DetailsOf): void {
    const { code, file, line, column, end, path, frameOf } = found;
    const identity = `${code} ${file}:${line}:${column} ${message}`;
    if (seen.has(identity)) return;
    if (seen.size < IDENTITIES_MAX) seen.add(identity);
    const severity = code.startsWith("E") || denied.has(code) ? "error" : "warning";
    const list = severity === "error" ? errors : warnings;
    if (list.length >= DIAGNOSTICS_MAX) {
      omitted[`${severity}s`] += 1;
      return;
    }
    const given = typeof details === "function" ? details() : details;
    const whole = {
      code,
      severity,
      message: tree.scrubbed(message),
      file,
      line,
      column,
      path: path(),
      ...(end === undefined ? {} : { end: end() }),
    } as const;
    list.push({ ...whole, ...advice(given, tree), ...(frameOf === undefined ? {} : { frame: frameOf() }) });
  }

  const reporter: Reporter = {
    report(code, spot, message, details = {}) {
      const atKey = typeof details !== "function" && details.at === "key";
      const range = atKey ? tree.keyRange(spot) : tree.valueRange(spot);
      const path = () => tree.path(spot);
      if (range !== undefined) add(foundAt(code, range, path), message, details);
      else add({ code, file: "", line: 1, column: 1, path }, message, details);
    },
    reportRange(code, range, message, details = {}) {
      const { path = "" } = details;
      add(
        foundAt(code, range, () => path),
        message,
        details,
      );
    },
    reportFile(code, file, message, details = {}) {
      add({ code, file, line: 1, column: 1, path: () => "" }, message, details);
    },
    place(spot) {
      const range = tree.keyRange(spot);
      if (range === undefined) return "";
      const { line, column } = range.source.position(range.start);
      return `${range.source.path}:${line}:${column}`;
    },
    errors,
    warnings,
    omitted,
  };
  return reporter;
}

/** A place; path, end and frame are made only for diagnostics that are kept. */
interface Found extends Pick<Diagnostic, "code" | "file" | "line" | "column"> {
  readonly path: () => string;
  readonly end?: () => NonNullable<Diagnostic["end"]>;
  readonly frameOf?: () => NonNullable<Diagnostic["frame"]>;
}

function foundAt(code: Code, { source, start, end }: Range, path: () => string): Found {
  const { line, column } = source.position(start);
  const frameOf = (): NonNullable<Diagnostic["frame"]> => {
    const { text, offset } = source.shownLine(line, column);
    const rest = offset + text.length - column + 1;
    const length = Math.max(1, Math.min(end - start, rest, MARKED_CHARACTERS_MAX));
    return offset === 0 ? { text, length } : { text, length, offset };
  };
  return { code, file: source.path, line, column, end: () => source.position(end), path, frameOf };
}

function advice(
  { suggestion, help, subject }: Details,
  tree: Tree,
): Pick<Diagnostic, "suggestion" | "help" | "subject"> {
  const isOurs = suggestion !== undefined && tree.scrubbed(suggestion) === suggestion;
  return {
    ...(isOurs ? { suggestion } : {}),
    ...(help === undefined ? {} : { help: tree.scrubbed(help) }),
    ...(subject === undefined ? {} : { subject }),
  };
}

/** Errors and warnings in the order of their places. */
export function inOrder(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return [...diagnostics].sort(
    (a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.column - b.column,
  );
}

const SHOWN_CHARACTERS_MAX = 60;

/** A value as text for a message: never that of a secret's key, nor one from a reference. */
export function shown(tree: Tree, spot: Spot, value: unknown): string {
  const kind = kindOf(value);
  if (typeof value === "object") return kind;
  const reference = tree.reference(spot.container, spot.key);
  if (reference !== undefined) return `${kind} from ${reference.text}`;
  if (isSensitive(spot)) return kind;
  const text = maskedUser(JSON.stringify(value) ?? "");
  return text.length > SHOWN_CHARACTERS_MAX ? `${kind} of ${String(value).length} characters` : text;
}

/** True when a key of the path to the value marks it as a secret. */
export function isSensitive(spot: Spot): boolean {
  for (let at: Spot | undefined = spot; at !== undefined; at = at.parent) {
    if (typeof at.key === "string" && isSensitiveKey(at.key)) return true;
  }
  return false;
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value === "boolean") return "a boolean";
  return typeof value === "number" ? "a number" : "a string";
}
