/**
 * What a deploy would do: every difference between two configurations under the rule that it falls under, with its risk,
 * its place and one sentence. Reads data and decides; what may be accepted, and how it looks, is the caller's.
 */

import { provider } from "../config/schema/gateway.ts";
import type { JsonMap } from "../config/shown.ts";
import { fill } from "../plugin/schema-defaults.ts";
import type { CallTokens } from "./call-tokens.ts";
import { sharedCauses } from "./causes.ts";
import { changesBetween, fieldChanges, type ObjectChange } from "./changes.ts";
import type { Draft, PlanChange, Sides } from "./draft.ts";
import { changedFindings } from "./judge-changed.ts";
import { addedFindings, removedFindings } from "./judge-whole.ts";
import type { ConfigObject, ObjectRef } from "./objects.ts";
import { type FindPlugin, prepareSide } from "./prepared-side.ts";
import type { Side } from "./side.ts";

export type { CallTokens } from "./call-tokens.ts";
export type { PlanChange } from "./draft.ts";

export interface JudgeOptions {
  /** Facts of plugins, such as a registry of the built-in ones has them. */
  readonly findPlugin: FindPlugin;
  /** For what has expired, and for prices that are announced. */
  readonly nowMs: number;
  /** Measured tokens of an endpoint's or alias's calls; undefined: nothing is known of it. */
  readonly tokensOf?: (object: ObjectRef) => CallTokens | undefined;
  /** Default: `changesBetween` of the two sides. */
  readonly changes?: readonly ObjectChange[];
}

/** In the order of the configuration. Equal sides have none. */
export function judge(from: Side, to: Side, options: JudgeOptions): readonly PlanChange[] {
  const { changes = changesBetween(from, to) } = options;
  // Defaults that no endpoint inherits are no change of an object.
  if (changes.length === 0 && from.hash === to.hash) return [];
  const facts = { ...options, tokensOf: options.tokensOf ?? (() => undefined) };
  const sides = { from: prepareSide(from, facts), to: prepareSide(to, facts) };
  const drafts = changes.flatMap((change) => findingsOf(change, sides));
  return sharedCauses(drafts, sides);
}

function findingsOf(change: ObjectChange, sides: Sides): readonly Draft[] {
  const { before, after, ref } = change;
  if (before !== undefined && after !== undefined)
    return changedFindings({ ...change, before, after }, sides);
  const object = after ?? before;
  if (object === undefined) return [];
  if (ref.kind === "provider") return providerFindings(change, object, sides);
  return after === undefined ? removedFindings(object, sides) : addedFindings(object, sides);
}

/** A provider that a side does not name has the defaults there. */
function providerFindings(change: ObjectChange, object: ConfigObject, sides: Sides): readonly Draft[] {
  const unnamed = { ...object, value: PROVIDER_DEFAULTS };
  const [before, after] = change.after === undefined ? [object, unnamed] : [unnamed, object];
  const fields = fieldChanges({ old: before, from: sides.from.side }, { after, to: sides.to.side });
  if (fields.length > 0) return changedFindings({ ...change, before, after, fields }, sides);
  return change.after === undefined ? removedFindings(object, sides) : addedFindings(object, sides);
}

// What the schema makes of an empty map is a map of its defaults.
const PROVIDER_DEFAULTS = fill(provider, {}) as JsonMap;
