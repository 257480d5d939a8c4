/** Where the code of a plugin does not parse, read off what esbuild (TypeScript) and Node (JavaScript) throw. */
import { fileURLToPath } from "node:url";

export interface SyntaxFailure {
  readonly message: string;
  /** Line and column from 1. */
  readonly at: { readonly file: string; readonly line: number; readonly column: number };
}

/** esbuild writes `/a/b.ts:3:14: ERROR: Expected ";" but found "x"`; its columns count from 0. */
const ESBUILD = ": ERROR: ";

/** Returns undefined when the error is not one of syntax, or does not say where. */
export function syntaxErrorOf(thrown: unknown): SyntaxFailure | undefined {
  if (!(thrown instanceof Error)) return undefined;
  for (const line of thrown.message.split("\n")) {
    const end = line.indexOf(ESBUILD);
    if (end < 0) continue;
    const [column, row, ...path] = line.slice(0, end).split(":").reverse();
    const at = { file: pathOf(path.reverse().join(":")), line: Number(row), column: Number(column) + 1 };
    const isPlace = Number.isInteger(at.line) && Number.isInteger(at.column);
    if (isPlace) return { message: line.slice(end + ESBUILD.length), at };
  }
  return thrown instanceof SyntaxError ? fromStack(thrown) : undefined;
}

/** Node writes `file:///a/b.js:3`, the line, and a line of carets before the error's own text. */
function fromStack({ stack = "", message }: SyntaxError): SyntaxFailure | undefined {
  const [place = "", , carets = ""] = stack.split("\n", 3);
  const colon = place.lastIndexOf(":");
  const line = Number(place.slice(colon + 1));
  if (colon < 0 || !Number.isInteger(line) || line < 1) return undefined;
  const [text = ""] = message.split("\n", 1);
  const column = Math.max(0, carets.indexOf("^")) + 1;
  return { message: text, at: { file: pathOf(place.slice(0, colon)), line, column } };
}

/** Without the query that makes a changed file a new module. */
function pathOf(file: string): string {
  const [plain = ""] = file.split("?", 1);
  return plain.startsWith("file:") ? fileURLToPath(plain) : plain;
}
