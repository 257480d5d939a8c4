/** Why a text is not YAML: of everything that its parser reports, the one thing that has to change. */
import type { Source } from "./source.ts";
import type { Cause } from "./yaml-flow.ts";
import { structuralCause } from "./yaml-structure.ts";

/** The parser's first error. */
export interface ParserError {
  readonly code: string;
  readonly start: number;
  readonly end: number;
}

/** The parser's own messages may quote the text, and the text may be a secret: these do not. */
const PHRASES: Readonly<Record<string, string>> = {
  BAD_ALIAS: "an alias needs a name: `*name`",
  BAD_DQ_ESCAPE: "unknown escape in a double-quoted string",
  BAD_INDENT: "wrong indentation",
  BAD_PROP_ORDER: "anchors and tags must be directly before their value",
  BAD_SCALAR_START: "a plain value cannot begin with this character: put it in quotes",
  BLOCK_AS_IMPLICIT_KEY:
    "unexpected nested mapping: check the indentation, or quote a value that contains `: `",
  BLOCK_IN_FLOW: "indented lists and mappings cannot be used inside `[…]` or `{…}`",
  MISSING_CHAR: "a `:`, a `,`, a quote, or a closing `]` or `}` is missing",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line: is a `:` or a quote missing?",
  MULTIPLE_DOCS: "more than one document: a configuration file holds one",
  TAB_AS_INDENT: "a tab is used as indentation: indent with spaces",
  UNEXPECTED_TOKEN: "unexpected text",
};

const HELP: Readonly<Record<string, string>> = {
  BAD_DQ_ESCAPE: "write `\\\\` for a backslash, or use single quotes",
  MULTIPLE_DOCS: "remove the line `---`, or move what follows into a file of its own and `include` it",
};

/** The parser may notice a mistake some lines above the one that has to change, as it does with keys. */
const LINES_AFTER = 3;
/** These say already what has to change. */
const EXACT: ReadonlySet<string> = new Set(["BAD_ALIAS", "BAD_DQ_ESCAPE", "MULTIPLE_DOCS"]);

export function syntaxCause(source: Source, error: ParserError): Cause {
  const conflict = mergeConflict(source);
  if (conflict !== undefined) return conflict;
  const { code, start, end } = error;
  const message = PHRASES[code] ?? `not valid YAML (${code})`;
  const help = HELP[code];
  const reported: Cause = { start, end, message, ...(help === undefined ? {} : { help }) };
  if (EXACT.has(code)) return reported;
  const cause = structuralCause(source.text);
  if (cause === undefined) return reported;
  const isNear = source.position(cause.start).line <= source.position(start).line + LINES_AFTER;
  return isNear ? cause : reported;
}

const CONFLICT_START = /^<{7}(?: .*)?$/gm;
const CONFLICT_END = /^>{7}(?: .*)?$/gm;

/** Lines that git leaves where both sides of a merge changed the same. */
function mergeConflict(source: Source): Cause | undefined {
  const starts = [...source.text.matchAll(CONFLICT_START)];
  const [first] = starts;
  if (first === undefined) return undefined;
  CONFLICT_END.lastIndex = first.index;
  const end = CONFLICT_END.exec(source.text);
  CONFLICT_END.lastIndex = 0;
  const from = source.position(first.index).line;
  const to = end === null ? undefined : source.position(end.index).line;
  const lines = to === undefined ? `from line ${from}` : `in lines ${from} to ${to}`;
  const others = starts.length === 1 ? "" : `, and ${starts.length - 1} more below`;
  return {
    start: first.index,
    end: first.index + first[0].length,
    message: `unresolved merge conflict ${lines}${others}`,
    help: "keep one side, and remove the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`",
  };
}
