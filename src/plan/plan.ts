/**
 * What a deploy would do: every difference between two configurations under the rule that it falls under, with its risk,
 * its place and one sentence. Reads data and decides; what may be accepted, and how it looks, is the caller's.
 */
import { sharedCauses } from "./causes.ts";
import { changesBetween } from "./changes.ts";
import type { CallTokens, PlanChange } from "./draft.ts";
import { changedFindings } from "./judge-changed.ts";
import { addedFindings, removedFindings } from "./judge-whole.ts";
import type { ObjectRef } from "./objects.ts";
import { type FindPlugin, prepareSide } from "./prepared-side.ts";
import type { Side } from "./side.ts";

export type { CallTokens, PlanChange } from "./draft.ts";

export interface JudgeOptions {
  /** Facts of plugins, such as a registry of the built-in ones has them. */
  readonly findPlugin: FindPlugin;
  /** For what has expired, and for prices that are announced. */
  readonly nowMs: number;
  /** Measured tokens of an endpoint's or alias's calls; undefined: nothing is known of it. */
  readonly tokensOf?: (object: ObjectRef) => CallTokens | undefined;
}

/** In the order of the configuration. Equal sides have none. */
export function judge(from: Side, to: Side, options: JudgeOptions): readonly PlanChange[] {
  const sides = {
    from: prepareSide(from, options.findPlugin, options.nowMs),
    to: prepareSide(to, options.findPlugin, options.nowMs),
    tokensOf: options.tokensOf ?? (() => undefined),
  };
  const drafts = changesBetween(from, to).flatMap((change) => {
    const { before, after } = change;
    if (before !== undefined && after !== undefined)
      return changedFindings({ ...change, before, after }, sides);
    if (after !== undefined) return addedFindings(after, sides);
    return before === undefined ? [] : removedFindings(before, sides);
  });
  return sharedCauses(drafts, sides);
}
