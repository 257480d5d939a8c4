/** Carries out what guardrails say of a text: replaces spans of it. */
import type { Edit } from "../plugin/index.ts";

/** The text with its spans replaced. `edits`: ascending, not overlapping. */
export function edited(text: string, edits: readonly Edit[]): string {
  let out = "";
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return out + text.slice(at);
}
