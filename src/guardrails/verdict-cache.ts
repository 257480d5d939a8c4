/**
 * Caches verdicts by the hash of the text: clients send the whole conversation with every turn, and a text judged in an
 * earlier turn is not judged again. Holds hashes, spans and reasons; never a text.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Verdict } from "../plugin/index.ts";

/** For the whole process: all guardrails and tenants. The least recently used verdicts are evicted. */
const VERDICTS_MAX = 50_000;
/** A verdict with more edits is not cached. */
const EDITS_MAX = 64;
/** Characters of all replacements of a verdict. */
const REPLACEMENT_CHARACTERS_MAX = 2048;

/** Which guardrail judged, and whose text. */
export interface VerdictScope {
  /** Unique for each use of a guardrail: other options, other number. */
  readonly useId: number;
  /** The conversation's owner; see `conversationOwner`. */
  readonly owner: string;
}

interface CachedVerdict {
  readonly verdict: Verdict;
}

const PASSED: CachedVerdict = { verdict: undefined };
const verdicts = new LRUCache<string, CachedVerdict>({ max: VERDICTS_MAX });

/** The cache key of a text. `kind`: the role, or `definition`. */
export function verdictKey({ useId, owner }: VerdictScope, kind: string, text: string): string {
  return `${useId} ${kind} ${owner} ${hashOf(text)}`;
}

/** undefined: the text has not been judged, or its verdict was evicted. */
export function cachedVerdict(key: string): CachedVerdict | undefined {
  return verdicts.get(key);
}

export function cacheVerdict(key: string, verdict: Verdict): void {
  if (verdict === undefined) verdicts.set(key, PASSED);
  else if (verdict.verdict === "block" || isSmall(verdict.edits)) verdicts.set(key, { verdict });
}

function isSmall(edits: readonly { readonly text: string }[]): boolean {
  if (edits.length > EDITS_MAX) return false;
  return edits.reduce((sum, { text }) => sum + text.length, 0) <= REPLACEMENT_CHARACTERS_MAX;
}

let hashedText = "";
let hashed = "";

/** The last hash is kept: all guardrails of a call hash the same text. */
function hashOf(text: string): string {
  if (text !== hashedText) {
    hashed = hash("sha256", text, "base64url");
    // A long text is not worth keeping in memory.
    hashedText = text.length <= 65_536 ? text : "";
  }
  return hashed;
}
