/**
 * What a change of a key means. Tables of keys are made of the functions here, one for each way in which keys differ;
 * a key that no table has counts as stricter and weaker, since nobody can tell.
 */
import { isDeepStrictEqual } from "node:util";
import { asJsonMap, type ConfigPath, isJsonMap, type JsonMap } from "../../config/shown.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import { type Compare, holdsReference, known, SAME } from "../directions/direction.ts";
import type { Finding } from "../finding.ts";
import type { ConfigObject } from "../objects.ts";
import type { PreparedSide } from "../prepared-side.ts";

export type { Finding } from "../finding.ts";

import type { Risk, RuleId } from "../rules.ts";

export type Value = JsonValue | undefined;

/** One key of an object that both sides have, or a key below it. */
export interface KeyChange {
  /** For messages: `otlp.content`. */
  readonly name: string;
  readonly before: Value;
  readonly after: Value;
  /** From the object to the value, on each side. */
  readonly fromPath: ConfigPath;
  readonly toPath: ConfigPath;
  readonly pair: ObjectPair;
}

/** An object that both sides have. */
export interface ObjectPair {
  readonly before: ConfigObject;
  readonly after: ConfigObject;
  readonly from: PreparedSide;
  readonly to: PreparedSide;
}

export type Field = (change: KeyChange) => readonly Finding[];
export type Fields = Readonly<Record<string, Field>>;

export function finding(change: KeyChange, rule: RuleId, message: string, risk?: Risk): Finding {
  const { before, after, fromPath, toPath } = change;
  return { rule, message, before, after, fromPath, toPath, ...(risk === undefined ? {} : { risk }) };
}

/** Any change is of this rule. */
export function always(rule: RuleId, effect?: string): Field {
  return (change) => [finding(change, rule, sentence(change, effect))];
}

/** What each direction is, and what it does to calls. */
export interface Directed {
  readonly stricter: RuleId;
  readonly weaker: RuleId;
  /** After the colon. */
  readonly whenStricter?: string;
  readonly whenWeaker?: string;
}

/** Both directions: one finding for each. Neither: the same value in other words. */
export function directed(compare: Compare, rules: Directed): Field {
  return (change) => {
    const { stricter, weaker } = compare(change.before, change.after);
    const isUnknown = stricter && weaker && unknowable(change);
    const effect = (text: string | undefined) => (isUnknown ? UNKNOWN : text);
    if (!stricter && !weaker) return [finding(change, "P501", sentence(change, SAME_MEANING))];
    return [
      ...(stricter ? [finding(change, rules.stricter, sentence(change, effect(rules.whenStricter)))] : []),
      ...(weaker && !(stricter && rules.weaker === rules.stricter)
        ? [finding(change, rules.weaker, sentence(change, effect(rules.whenWeaker)))]
        : []),
    ];
  };
}

const UNKNOWN = "the value of a reference is known only where the gateway runs";
const SAME_MEANING = "it means the same";

const unknowable = ({ before, after }: KeyChange): boolean => holdsReference(before) || holdsReference(after);

/** A flag, or a choice of two: one value is the stricter. */
export function flagged(strict: JsonValue, rules: Directed): Field {
  return directed(
    known((before, after) => ({ stricter: after === strict, weaker: before === strict && after !== strict })),
    rules,
  );
}

/** What a field says of equal values is found once: most endpoints have the lists and schemas of others. */
export function remembered(field: Field): Field {
  return (change) => {
    const { before, after, name, pair } = change;
    const { memory } = pair.to;
    const key = `${name} ${JSON.stringify(before)} ${JSON.stringify(after)}`;
    let findings = memory.get(key);
    if (findings === undefined) {
      findings = field(change);
      if (memory.size < REMEMBERED_MAX) memory.set(key, findings);
    }
    return findings;
  };
}

const REMEMBERED_MAX = 10_000;

/** A key that counts only where `matters` says so; elsewhere its change is safe. */
export function where(matters: (pair: ObjectPair) => boolean, reason: string, field: Field): Field {
  return (change) =>
    matters(change.pair) ? field(change) : [finding(change, "P501", sentence(change, reason))];
}

/** A map with keys of its own, each judged by itself. */
export function nested(fields: Fields): Field {
  return (change) => keyChanges(change).flatMap((part) => fieldOf(fields, part)(part));
}

function keyChanges(change: KeyChange): readonly KeyChange[] {
  const [was, is] = [asJsonMap(change.before), asJsonMap(change.after)];
  const keys = [...new Set([...Object.keys(is), ...Object.keys(was)])];
  return keys
    .filter((key) => !isDeepStrictEqual(was[key], is[key]))
    .map((key) => ({
      ...change,
      name: `${change.name}.${key}`,
      before: was[key],
      after: is[key],
      fromPath: [...change.fromPath, key],
      toPath: [...change.toPath, key],
    }));
}

/** The key's place in the name is its last part. */
function fieldOf(fields: Fields, { toPath }: KeyChange): Field {
  const key = String(toPath.at(-1));
  return (Object.hasOwn(fields, key) ? fields[key] : undefined) ?? unknownKey;
}

/** Nobody can tell which way it changes. */
export const unknownKey: Field = (change) => {
  const effect = "which way it changes is not known";
  return (["P107", "P201"] as const).map((rule) => finding(change, rule, sentence(change, effect)));
};

/** `rate_limit_per_minute` is lowered from 60 to 30: calls beyond it get 429. */
export function sentence(
  { name, before, after }: Pick<KeyChange, "name" | "before" | "after">,
  effect?: string,
) {
  return `${changeText(name, before, after)}${effect === undefined ? "" : `: ${effect}`}.`;
}

export function changeText(name: string, before: Value, after: Value): string {
  const items = itemsText(before, after);
  if (items !== undefined) return `\`${name}\` ${items}`;
  const [was, is] = [shortText(before), shortText(after)];
  const verb = verbOf(before, after);
  if (was === undefined || is === undefined) return `\`${name}\` is ${verb}`;
  if (verb === "set") return `\`${name}\` is set to ${is}`;
  if (verb === "removed") return `\`${name}\` is removed (was ${was})`;
  return `\`${name}\` is ${verb} from ${was} to ${is}`;
}

const ITEMS_MAX = 5;

/** Of two lists of words: loses a, b and gains c. */
function itemsText(before: Value, after: Value): string | undefined {
  if (
    !Array.isArray(before) ||
    !Array.isArray(after) ||
    [...before, ...after].some((item) => typeof item === "object")
  )
    return undefined;
  const gone = before.filter((item) => !after.includes(item));
  const added = after.filter((item) => !before.includes(item));
  const some = (items: readonly JsonValue[]): string =>
    items.length <= ITEMS_MAX
      ? items.join(", ")
      : `${items.slice(0, ITEMS_MAX).join(", ")} and ${items.length - ITEMS_MAX} more`;
  if (gone.length === 0 && added.length === 0) return "is in another order";
  if (gone.length === 0) return `gains ${some(added)}`;
  return added.length === 0 ? `loses ${some(gone)}` : `loses ${some(gone)} and gains ${some(added)}`;
}

function verbOf(before: Value, after: Value): string {
  if (isNone(before)) return "set";
  if (isNone(after)) return "removed";
  const [was, is] = [before, after];
  if (typeof was === "number" && typeof is === "number") return is < was ? "lowered" : "raised";
  return "changed";
}

export function isNone(value: Value): boolean {
  return (
    value === undefined ||
    value === null ||
    value === "" ||
    (Array.isArray(value) && value.length === 0) ||
    (isJsonMap(value) && Object.keys(value).length === 0)
  );
}

const TEXT_CHARACTERS_MAX = 60;

/** A value that fits a sentence; undefined: it does not. */
export function shortText(value: Value): string | undefined {
  if (isNone(value)) return "none";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return isShort(value) ? `"${value}"` : undefined;
  if (!Array.isArray(value) || value.some((item) => typeof item === "object")) return undefined;
  const text = value.join(", ");
  return isShort(text) ? text : undefined;
}

const isShort = (text: string): boolean => text.length <= TEXT_CHARACTERS_MAX && !text.includes("\n");

/** For keys whose values are told by something else than themselves. */
export const unchanged: Compare = () => SAME;

export const textAt = (value: JsonMap, key: string): string => {
  const { [key]: text } = value;
  return typeof text === "string" ? text : "";
};
