/** A guardrail in use as it is compared: what it does to a text that it catches, and which way each of its keys changes. */
import { isDeepStrictEqual } from "node:util";
import { GUARDRAIL_KEYS } from "../../config/schema/endpoint.ts";
import type { SchemaNode } from "../../config/schema/keywords.ts";
import { asJsonMap, type JsonMap } from "../../config/shown.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { GuardrailStrength } from "../../plugin/contract.ts";
import { fill } from "../../plugin/schema-defaults.ts";
import {
  BOTH,
  byRank,
  bySet,
  type Direction,
  directionOf,
  known,
  reversed,
  SAME,
} from "../directions/direction.ts";
import { optionDirection } from "../directions/strength.ts";
import type { FindPlugin } from "../hosts.ts";

/** Weakest first. */
export const MODES = ["shadow", "mask", "block"] as const;
export type Mode = (typeof MODES)[number] | "unknown";

export interface GuardrailUse {
  readonly use: string;
  /** Place in its list. */
  readonly index: number;
  readonly entry: JsonMap;
  /** With the defaults of the plugin's schema, wherever they are written. */
  readonly options: JsonMap;
  readonly strength: GuardrailStrength;
  readonly mode: Mode;
}

export function guardrailUses(list: JsonValue | undefined, findPlugin: FindPlugin): readonly GuardrailUse[] {
  return (Array.isArray(list) ? list : []).map((item: JsonValue, index) => {
    const entry = asJsonMap(item);
    const use = String(entry["use"]);
    const plugin = findPlugin("guardrail", use);
    const beside = Object.entries(entry).filter(([key]) => !GUARDRAIL_KEYS.has(key));
    const given = { ...Object.fromEntries(beside), ...asJsonMap(entry["options"]) };
    // `fill` of a map is a map, and a plugin's schema is one or a flag.
    const options =
      typeof plugin?.schema === "object" ? (fill(plugin.schema as SchemaNode, given) as JsonMap) : given;
    const strength = plugin?.strength ?? {};
    return { use, index, entry, options, strength, mode: modeOf(entry, options, strength) };
  });
}

function modeOf({ shadow }: JsonMap, options: JsonMap, strength: GuardrailStrength): Mode {
  if (shadow !== false && shadow !== undefined) return shadow === true ? "shadow" : "unknown";
  const modeKey = modeOption(strength);
  const mode = modeKey === undefined ? "block" : options[modeKey];
  return mode === "mask" || mode === "block" ? mode : modeKey === undefined ? "block" : "unknown";
}

/** The option whose values are `mask` and `block`. */
function modeOption(strength: GuardrailStrength): string | undefined {
  return Object.keys(strength).find((key) => {
    const { [key]: order } = strength;
    return Array.isArray(order) && order.includes("mask");
  });
}

/** One key that differs between two uses of one guardrail. */
export interface KeyDifference {
  readonly name: string;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  readonly direction: Direction;
  /** It refuses calls where it is stricter, whatever the mode. */
  readonly refuses?: boolean;
}

export function differences(was: GuardrailUse, is: GuardrailUse): readonly KeyDifference[] {
  return [...modeDifferences(was, is), ...ownDifferences(was, is), ...optionDifferences(was, is)];
}

function modeDifferences(was: GuardrailUse, is: GuardrailUse): readonly KeyDifference[] {
  if (isDeepStrictEqual(was.entry["shadow"], is.entry["shadow"])) return [];
  const difference = { name: "shadow", before: was.entry["shadow"], after: is.entry["shadow"] };
  return [{ ...difference, direction: modeDirection(was.mode, is.mode) }];
}

function modeDirection(before: Mode, after: Mode): Direction {
  if (before === "unknown" || after === "unknown") return BOTH;
  const [was, is] = [MODES.indexOf(before), MODES.indexOf(after)];
  return directionOf(is > was, is < was);
}

const moreItems = reversed(bySet());

/** Keys of the gateway's own. */
function ownDifferences({ entry: was }: GuardrailUse, { entry: is }: GuardrailUse): readonly KeyDifference[] {
  const judgesInput = [was, is].some(({ on }) => !Array.isArray(on) || on.includes("input"));
  const directions: Readonly<
    Record<string, (before: JsonValue | undefined, after: JsonValue | undefined) => Direction>
  > = {
    on: moreItems,
    roles: judgesInput ? moreItems : () => SAME,
    on_error: byRank("block", "allow"),
    isolate: byRank(true, false),
    timeout_ms: known((before, after) => timeoutDirection(is["on_error"], Number(after) < Number(before))),
  };
  return Object.entries(directions)
    .filter(([name]) => !isDeepStrictEqual(was[name], is[name]))
    .map(([name, compare]) => {
      const [before, after] = [was[name], is[name]];
      const refuses = name === "on_error" || name === "timeout_ms";
      return { name, before, after, direction: compare(before, after), refuses };
    });
}

/** A time-out is a failure, which blocks or lets the text through. More time alone protects no less. */
function timeoutDirection(onError: JsonValue | undefined, isShorter: boolean): Direction {
  return onError === "allow" ? directionOf(!isShorter, isShorter) : directionOf(isShorter, false);
}

function optionDifferences(was: GuardrailUse, is: GuardrailUse): readonly KeyDifference[] {
  const names = [...new Set([...Object.keys(is.options), ...Object.keys(was.options)])];
  const modeKey = modeOption(is.strength);
  return names
    .filter((name) => !isDeepStrictEqual(was.options[name], is.options[name]))
    .map((name) => {
      const [before, after] = [was.options[name], is.options[name]];
      const own = Object.hasOwn(is.strength, name) ? is.strength[name] : undefined;
      // In shadow it is not acted on, and what `shadow` itself changes has been told.
      const isShadow = name === modeKey && (was.mode === "shadow" || is.mode === "shadow");
      return { name, before, after, direction: isShadow ? SAME : optionDirection(own, before, after) };
    });
}

/** Whether both judge some texts of one kind. */
export function overlap({ entry: one }: GuardrailUse, { entry: other }: GuardrailUse): boolean {
  const [sides, others] = [one["on"], other["on"]];
  if (!Array.isArray(sides) || !Array.isArray(others)) return true;
  return sides.some((side) => others.includes(side));
}
