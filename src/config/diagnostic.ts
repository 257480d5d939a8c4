/** What is wrong with a configuration, and the one place that collects it. Plain data: it crosses to other threads. */
import type { Code } from "./codes.ts";
import { isSensitiveKey, maskedUser } from "./mask.ts";
import type { Range, Spot, Tree } from "./tree.ts";

export { renderText } from "./render.ts";

export interface Diagnostic {
  readonly code: Code;
  readonly severity: "error" | "warning";
  /** What was found and what is allowed, in one line. Holds no secret. */
  readonly message: string;
  /** Absolute path. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
  /** `projects[0].endpoints[2].temperature`; "" for a whole file. */
  readonly path: string;
  /** The name or value that was probably meant. */
  readonly suggestion?: string;
  /** What to do about it. */
  readonly help?: string;
  /** The line it stands on, secrets hidden, and how much of it is meant. */
  readonly frame?: { readonly text: string; readonly length: number };
}

export interface Details {
  readonly suggestion?: string | undefined;
  readonly help?: string | undefined;
  /** Point at the key, not at its value. */
  readonly at?: "key" | "value";
}

/** Collects diagnostics. One place and message is reported once, however many roads lead to it. */
export interface Reporter {
  report(code: Code, spot: Spot, message: string, details?: Details): void;
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
}

const DIAGNOSTICS_MAX = 1000;
const MARKED_CHARACTERS_MAX = 80;

/** `denied`: warnings that count as errors. */
export function createReporter(tree: Tree, denied: ReadonlySet<Code>): Reporter {
  const errors: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  const seen = new Set<string>();

  function add(found: Omit<Diagnostic, "severity" | "message">, message: string, details: Details): void {
    const { code, file, line, column } = found;
    const severity = code.startsWith("E") || denied.has(code) ? "error" : "warning";
    const list = severity === "error" ? errors : warnings;
    const shownText = tree.scrubbed(message);
    const identity = `${code} ${file}:${line}:${column} ${shownText}`;
    if (seen.has(identity) || list.length >= DIAGNOSTICS_MAX) return;
    seen.add(identity);
    list.push({ ...found, severity, message: shownText, ...advice(details, tree) });
  }

  const reporter: Reporter = {
    report(code, spot, message, details = {}) {
      const range = details.at === "key" ? tree.keyRange(spot) : tree.valueRange(spot);
      const path = tree.path(spot);
      if (range !== undefined) reporter.reportRange(code, range, message, { ...details, path });
      else add({ code, file: "", line: 1, column: 1, path }, message, details);
    },
    reportRange(code, { source, start, end }, message, details = {}) {
      const { line, column } = source.position(start);
      const text = source.shownLine(line);
      const length = Math.max(1, Math.min(end - start, text.length - column + 1, MARKED_CHARACTERS_MAX));
      const { path = "" } = details;
      add({ code, file: source.path, line, column, path, frame: { text, length } }, message, details);
    },
    reportFile(code, file, message, details = {}) {
      add({ code, file, line: 1, column: 1, path: "" }, message, details);
    },
    place(spot) {
      const range = tree.keyRange(spot);
      if (range === undefined) return "";
      const { line, column } = range.source.position(range.start);
      return `${range.source.path}:${line}:${column}`;
    },
    errors,
    warnings,
  };
  return reporter;
}

function advice({ suggestion, help }: Details, tree: Tree): Pick<Diagnostic, "suggestion" | "help"> {
  const isOurs = suggestion !== undefined && tree.scrubbed(suggestion) === suggestion;
  return { ...(isOurs ? { suggestion } : {}), ...(help === undefined ? {} : { help: tree.scrubbed(help) }) };
}

/** Errors and warnings in the order of their places. */
export function inOrder(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return [...diagnostics].sort(
    (a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.column - b.column,
  );
}

const SHOWN_CHARACTERS_MAX = 60;

/** A value in words that a message may hold: neither what stands under a secret's key nor what a reference gave. */
export function shown(tree: Tree, spot: Spot, value: unknown): string {
  const kind = kindOf(value);
  if (typeof value === "object") return kind;
  const reference = tree.reference(spot.container, spot.key);
  if (reference !== undefined) return `${kind} from ${reference.text}`;
  for (let at: Spot | undefined = spot; at !== undefined; at = at.parent) {
    if (typeof at.key === "string" && isSensitiveKey(at.key)) return kind;
  }
  const text = maskedUser(JSON.stringify(value) ?? "");
  return text.length > SHOWN_CHARACTERS_MAX ? `${kind} of ${String(value).length} characters` : text;
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  if (typeof value === "boolean") return "a boolean";
  return typeof value === "number" ? "a number" : "a string";
}
