/**
 * Remembers verdicts on texts by hash: clients send the whole conversation with every turn, and a text that was judged
 * in an earlier turn is not judged again. Holds hashes, spans and reasons; never a text.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Verdict } from "../plugin/index.ts";

/** Verdicts of the process, of all guardrails and tenants. The least recently used are dropped and judged again. */
const VERDICTS_MAX = 50_000;
/** A verdict with more edits is not remembered. */
const EDITS_MAX = 64;
/** Characters of the edits' replacements, all together. */
const REPLACEMENT_CHARACTERS_MAX = 2048;

/** Whose verdict on whose text. */
export interface VerdictScope {
  /** Number of the guardrail's use: another use, or the same with other options, has another one. */
  readonly policy: number;
  /** The conversation's owner; see `conversationOwner`. */
  readonly owner: string;
}

export interface Remembered {
  readonly verdict: Verdict;
}

const PASSED: Remembered = { verdict: undefined };
const verdicts = new LRUCache<string, Remembered>({ max: VERDICTS_MAX });

/** The key of a text for `recall` and `remember`. `kind`: the role, or what else the text is. */
export function verdictKey({ policy, owner }: VerdictScope, kind: string, text: string): string {
  return `${policy} ${kind} ${owner} ${hashOf(text)}`;
}

/** undefined: the text has not been judged, or the verdict is no longer known. */
export function recall(key: string): Remembered | undefined {
  return verdicts.get(key);
}

export function remember(key: string, verdict: Verdict): void {
  if (verdict === undefined) verdicts.set(key, PASSED);
  else if (verdict.verdict === "block" || isSmall(verdict.edits)) verdicts.set(key, { verdict });
}

function isSmall(edits: readonly { readonly text: string }[]): boolean {
  if (edits.length > EDITS_MAX) return false;
  return edits.reduce((sum, { text }) => sum + text.length, 0) <= REPLACEMENT_CHARACTERS_MAX;
}

let hashedText = "";
let hashed = "";

/** One guardrail after another asks for the same text. */
function hashOf(text: string): string {
  if (text !== hashedText) {
    hashed = hash("sha256", text, "base64url");
    // A long text must not be kept in memory for this.
    hashedText = text.length <= 65_536 ? text : "";
  }
  return hashed;
}
