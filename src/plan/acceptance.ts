/**
 * `# sluice: accept P201 until 2027-01-31: reason`: changes that somebody has accepted, in a comment of the new
 * configuration. It holds for changes on its line, on the line below, and for what was removed from the list or map that
 * begins there.
 */
import { Lexer } from "yaml";
import type { SourcePlace } from "../config/model.ts";
import { RULES, type RuleId } from "./rules.ts";

export interface Acceptance {
  readonly rules: readonly RuleId[];
  /** `YYYY-MM-DD`: the last day on which it counts, in UTC. */
  readonly until: string;
  readonly reason: string;
  readonly at: SourcePlace;
}

/** A comment that accepts nothing. */
export interface AcceptanceWarning {
  readonly at: SourcePlace;
  readonly message: string;
}

export interface Acceptances {
  /** undefined: no comment on that line, or above it, accepts the rule now. */
  find(rule: RuleId, place: SourcePlace): Acceptance | undefined;
  readonly warnings: readonly AcceptanceWarning[];
}

export const ACCEPT_FORM = "# sluice: accept RULE until YYYY-MM-DD: reason";

const MENTION = /^#+\s*sluice:\s*accept\b/i;
const REASON_CHARACTERS_MAX = 500;
const DAY_MS = 86_400_000;

/** `texts`: path and text of each YAML file of the new configuration. */
export function acceptancesIn(
  texts: Iterable<readonly [path: string, text: string]>,
  nowMs: number,
): Acceptances {
  const warnings: AcceptanceWarning[] = [];
  const byLine = new Map<string, Acceptance[]>();
  for (const [file, text] of texts) {
    if (!/sluice:\s*accept/i.test(text)) continue;
    for (const comment of commentsOf(text)) {
      if (!MENTION.test(comment.text)) continue;
      const at = { file, line: comment.line, column: comment.column };
      const read = acceptanceOf(comment.text, at, nowMs);
      if ("message" in read) warnings.push({ at, message: read.message });
      else
        for (const line of linesOf(comment, text)) {
          const key = `${file}\0${line}`;
          byLine.set(key, [...(byLine.get(key) ?? []), read]);
        }
    }
  }
  return {
    find: (rule, { file, line }) => byLine.get(`${file}\0${line}`)?.find(({ rules }) => rules.includes(rule)),
    warnings,
  };
}

function acceptanceOf(
  comment: string,
  at: SourcePlace,
  nowMs: number,
): Acceptance | { readonly message: string } {
  const { names, until, reason } = partsOf(comment);
  if (names === "" || until === "" || reason === "")
    return { message: `this accepts nothing: write \`${ACCEPT_FORM}\`` };
  const rules: RuleId[] = [];
  for (const name of names.split(",").map((part) => part.trim().toUpperCase())) {
    if (!isRule(name)) return { message: `this accepts nothing: there is no rule '${name}'` };
    rules.push(name);
  }
  const dayMs = Date.parse(`${until}T00:00:00Z`);
  const isDay = !Number.isNaN(dayMs) && new Date(dayMs).toISOString().slice(0, 10) === until;
  if (!isDay) return { message: `this accepts nothing: '${until}' is not a date such as 2027-01-31` };
  if (nowMs >= dayMs + DAY_MS)
    return { message: `the acceptance of ${rules.join(", ")} ended with ${until} and counts for nothing` };
  return { rules, until, reason: reason.trim().slice(0, REASON_CHARACTERS_MAX), at };
}

/** `accept NAMES until DATE: REASON`; "" for what is not there. */
function partsOf(comment: string): Readonly<Record<"names" | "until" | "reason", string>> {
  const body = comment.slice(MENTION.exec(comment)?.[0].length ?? 0);
  const colon = body.indexOf(":");
  const head = colon < 0 ? body : body.slice(0, colon);
  const at = head.toLowerCase().indexOf(UNTIL);
  if (at < 0) return { names: "", until: "", reason: "" };
  const reason = colon < 0 ? "" : body.slice(colon + 1).trim();
  return { names: head.slice(0, at).trim(), until: head.slice(at + UNTIL.length).trim(), reason };
}

const UNTIL = " until ";

export function isRule(name: string): name is RuleId {
  return Object.hasOwn(RULES, name);
}

interface Comment {
  readonly text: string;
  readonly line: number;
  readonly column: number;
  /** Nothing but it is on its line. */
  readonly isAlone: boolean;
}

/** Comments as YAML has them: a `#` in a prompt is none. */
function commentsOf(text: string): readonly Comment[] {
  const comments: Comment[] = [];
  let [line, lineStart, at] = [1, 0, 0];
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    if (token === SCALAR) {
      isScalar = true;
      continue;
    }
    // Other marks stand for no text.
    if (token === DOCUMENT || token === FLOW_ERROR) continue;
    if (token.startsWith("#") && !isScalar) {
      const before = text.slice(lineStart, at);
      comments.push({
        text: token.trimEnd(),
        line,
        column: at - lineStart + 1,
        isAlone: before.trim() === "",
      });
    }
    isScalar = false;
    for (let next = token.indexOf("\n"); next >= 0; next = token.indexOf("\n", next + 1)) {
      line += 1;
      lineStart = at + next + 1;
    }
    at += token.length;
  }
  return comments;
}

/** Marks of the lexer of `yaml`. */
const [SCALAR, DOCUMENT, FLOW_ERROR] = ["\u001f", "\u0002", "\u0018"];

/** The lines that a comment speaks of: its own, or for one that stands alone the next that is no such comment. */
function linesOf({ line, isAlone }: Comment, text: string): readonly number[] {
  if (!isAlone) return [line];
  const lines = text.split("\n");
  let below = line + 1;
  while (MENTION.test((lines[below - 1] ?? "").trim())) below += 1;
  return [line, below];
}
