/** Which way the options of a guardrail change what it catches, by what its plugin declares of them. */
import { isDeepStrictEqual } from "node:util";
import { isJsonMap, type JsonMap } from "../../config/shown.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { OptionStrength } from "../../plugin/contract.ts";
import {
  BOTH,
  bySet,
  type Direction,
  directionOf,
  known,
  opposite,
  SAME,
  STRICTER,
  WEAKER,
} from "./direction.ts";

type Value = JsonValue | undefined;

/** SAME of two values that differ: the option is neutral. */
export function optionDirection(
  strength: OptionStrength | undefined,
  before: Value,
  after: Value,
): Direction {
  if (strength === undefined) return isDeepStrictEqual(before, after) ? SAME : BOTH;
  if (strength === "neutral") return SAME;
  return known((was, is) => {
    if (strength === "more") return byMore(was, is);
    if (strength === "less") return opposite(byMore(was, is));
    return typeof strength === "function" ? byFunction(strength, was, is) : byPlace(strength, was, is);
  })(before, after);
}

/** More is stricter: a larger number, true, and lists and maps that hold all of the other. */
function byMore(before: Value, after: Value): Direction {
  if (typeof before === "number" && typeof after === "number")
    return directionOf(after > before, after < before);
  if (typeof before === "boolean" && typeof after === "boolean") return after ? STRICTER : WEAKER;
  if (isJsonMap(before) && isJsonMap(after)) return directionOf(!holds(before, after), !holds(after, before));
  return opposite(bySet()(before, after));
}

/** Whether a map has every entry of another one. */
function holds(map: JsonMap, entries: JsonMap): boolean {
  return Object.entries(entries).every(
    ([key, value]) => Object.hasOwn(map, key) && isDeepStrictEqual(map[key], value),
  );
}

function byPlace(weakestFirst: readonly JsonValue[], before: Value, after: Value): Direction {
  const [was, is] = [before, after].map((value) => (value === undefined ? -1 : weakestFirst.indexOf(value)));
  if (was === undefined || is === undefined || was < 0 || is < 0) return BOTH;
  return directionOf(is > was, is < was);
}

function byFunction(
  compare: Extract<OptionStrength, (...values: never) => unknown>,
  before: Value,
  after: Value,
): Direction {
  const answer = compare(before, after);
  if (answer === "stricter") return STRICTER;
  if (answer === "weaker") return WEAKER;
  return answer === "same" ? SAME : BOTH;
}
