/**
 * What a change of a list of guardrails means: which are added and removed, which are stricter or weaker, and which are
 * moved behind one that masks what they would have found.
 */
import type { JsonMap } from "../../config/shown.ts";
import type { RuleId } from "../rules.ts";
import { changeText, type Field, type Finding, finding, type KeyChange, type Value } from "./field.ts";
import {
  differences,
  type GuardrailUse,
  guardrailUses,
  type KeyDifference,
  overlap,
} from "./guardrail-use.ts";

export const guardrailList: Field = (change) => {
  const { before, after, pair } = change;
  const was = guardrailUses(before, pair.from.findPlugin);
  const is = guardrailUses(after, pair.to.findPlugin);
  const pairs = paired(was, is);
  const kept = new Set(pairs.flat());
  const findings = [
    ...pairs.flatMap((both) => keptFindings(change, both)),
    ...orderFindings(change, pairs),
    ...is.filter((use) => !kept.has(use)).map((use) => addedFinding(change, use)),
    ...was.filter((use) => !kept.has(use)).map((use) => removedFinding(change, use)),
  ];
  if (findings.length > 0) return findings;
  return [finding(change, "P501", "`guardrails` are written in another way: they are the same.")];
};

type Pair = readonly [was: GuardrailUse, is: GuardrailUse];

/** Equal entries first, as many in their order as can be, then those of one name in their order. In the order of `is`. */
function paired(was: readonly GuardrailUse[], is: readonly GuardrailUse[]): readonly Pair[] {
  const free = new Set(was);
  const found = new Map<GuardrailUse, GuardrailUse>();
  const take = (use: GuardrailUse, fits: (old: GuardrailUse) => boolean): void => {
    if (found.has(use)) return;
    const old = [...free].find((one) => one.use === use.use && fits(one));
    if (old === undefined) return;
    free.delete(old);
    found.set(use, old);
  };
  const isEqual = (old: GuardrailUse, use: GuardrailUse): boolean =>
    old.use === use.use && differences(old, use).length === 0;
  const inOrder = pairedInOrder(was, is, isEqual);
  for (const use of is) take(use, (old) => inOrder.get(use) === old);
  for (const use of is) take(use, (old) => isEqual(old, use));
  for (const use of is) take(use, () => true);
  return is.flatMap((use): readonly Pair[] => {
    const old = found.get(use);
    return old === undefined ? [] : [[old, use]];
  });
}

/** From both ends first: of several equal entries those that no change has touched stay where they are. */
function pairedInOrder<T>(
  was: readonly T[],
  is: readonly T[],
  isEqual: (old: T, now: T) => boolean,
): ReadonlyMap<T, T> {
  const shorter = Math.min(was.length, is.length);
  const holds = (old: T | undefined, now: T | undefined): boolean =>
    old !== undefined && now !== undefined && isEqual(old, now);
  let start = 0;
  while (start < shorter && holds(was[start], is[start])) start++;
  let end = 0;
  while (end < shorter - start && holds(was.at(-1 - end), is.at(-1 - end))) end++;
  const middle = commonOrder(was.slice(start, was.length - end), is.slice(start, is.length - end), isEqual);
  const found = new Map(middle);
  const pair = (old: T | undefined, now: T | undefined): void => {
    if (old !== undefined && now !== undefined) found.set(now, old);
  };
  for (let n = 0; n < start; n++) pair(was[n], is[n]);
  for (let n = 1; n <= end; n++) pair(was.at(-n), is.at(-n));
  return found;
}

/** The longest run of equal entries that both lists have in the same order, with gaps: of `is` to `was`. */
function commonOrder<T>(
  was: readonly T[],
  is: readonly T[],
  isEqual: (old: T, now: T) => boolean,
): ReadonlyMap<T, T> {
  // lengths[i][j]: of the longest run behind i of `was` and j of `is`.
  const lengths = Array.from({ length: was.length + 1 }, () => new Array<number>(is.length + 1).fill(0));
  const lengthAt = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (const [i, old] of [...was.entries()].reverse()) {
    for (const [j, now] of [...is.entries()].reverse()) {
      const length = isEqual(old, now)
        ? lengthAt(i + 1, j + 1) + 1
        : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
      (lengths[i] ?? [])[j] = length;
    }
  }
  const found = new Map<T, T>();
  let j = 0;
  for (const [i, old] of was.entries()) {
    while (j < is.length && lengthAt(i, j) === lengthAt(i, j + 1) && lengthAt(i, j) > lengthAt(i + 1, j)) j++;
    const now = is[j];
    if (now === undefined || !isEqual(old, now) || lengthAt(i, j) !== lengthAt(i + 1, j + 1) + 1) continue;
    found.set(now, old);
    j++;
  }
  return found;
}

/** Stricter: what it is by what the guardrail does to texts now. */
const stricterRule = ({ mode }: GuardrailUse): RuleId =>
  mode === "block" || mode === "unknown" ? "P107" : "P402";

function keptFindings(change: KeyChange, [was, is]: Pair): readonly Finding[] {
  const all = differences(was, is);
  if (all.length === 0) return [];
  const stricter = all.filter(({ direction }) => direction.stricter);
  const weaker = all.filter(({ direction }) => direction.weaker);
  const at = { was, is };
  if (stricter.length === 0 && weaker.length === 0)
    return [keyFinding(change, at, { rule: neutralRule(all), keys: all, what: "is changed" })];
  const refuses = is.mode !== "shadow" && stricter.some((key) => key.refuses);
  const rule = refuses ? "P107" : stricterRule(is);
  const isUnknown = stricter.some((key) => weaker.includes(key));
  return [
    ...(stricter.length === 0
      ? []
      : [
          keyFinding(change, at, {
            rule,
            keys: stricter,
            what: isUnknown ? "may be stricter" : "is stricter",
          }),
        ]),
    ...(weaker.length === 0
      ? []
      : [
          keyFinding(change, at, {
            rule: "P201",
            keys: weaker,
            what: isUnknown ? "may be weaker" : "is weaker",
          }),
        ]),
  ];
}

/** Sets in another order, or roles of a guardrail that judges answers alone, decide nothing. */
function neutralRule(keys: readonly KeyDifference[]): RuleId {
  return keys.every(({ name, before, after }) => name === "roles" || isReordered(before, after))
    ? "P501"
    : "P401";
}

function isReordered(before: Value, after: Value): boolean {
  const sorted = (list: Value) =>
    JSON.stringify(Array.isArray(list) ? list.map((item) => JSON.stringify(item)).sort() : null);
  return Array.isArray(before) && sorted(before) === sorted(after);
}

interface Told {
  readonly rule: RuleId;
  readonly keys: readonly KeyDifference[];
  readonly what: string;
}

function keyFinding(
  { fromPath, toPath }: KeyChange,
  { was, is }: { readonly was: GuardrailUse; readonly is: GuardrailUse },
  { rule, keys, what }: Told,
): Finding {
  const texts = keys.map(({ name, before, after }) => changeText(name, before, after));
  const message = `Guardrail \`${is.use}\` ${what}: ${texts.join("; ")}.`;
  const [only] = keys.length === 1 ? keys : [];
  const paths = {
    fromPath: [...fromPath, was.index, ...keyPath(was, only?.name)],
    toPath: [...toPath, is.index, ...keyPath(is, only?.name)],
  };
  // What the path leads to: the value of one key, or of the entry those that differ.
  if (only !== undefined) return { rule, message, before: only.before, after: only.after, ...paths };
  const values = (side: "before" | "after"): JsonMap =>
    Object.fromEntries(
      keys.flatMap((key) => (key[side] === undefined ? [] : [[key.name, key[side] ?? null]])),
    );
  return { rule, message, before: values("before"), after: values("after"), ...paths };
}

/** Options stand beside `use`, or under `options`. */
function keyPath({ entry }: GuardrailUse, name: string | undefined): readonly string[] {
  if (name === undefined) return [];
  return Object.hasOwn(entry, name) ? [name] : ["options", name];
}

function addedFinding({ fromPath, toPath }: KeyChange, use: GuardrailUse): Finding {
  const effects = {
    block: "it refuses what it finds",
    mask: "it masks what it finds",
    shadow: "it records what it finds",
  };
  const effect = use.mode === "unknown" ? "it may refuse what it finds" : effects[use.mode];
  return {
    rule: stricterRule(use),
    message: `Guardrail \`${use.use}\` is added: ${effect}.`,
    before: undefined,
    after: use.entry,
    fromPath,
    toPath: [...toPath, use.index],
  };
}

function removedFinding({ fromPath, toPath }: KeyChange, use: GuardrailUse): Finding {
  return {
    rule: "P201",
    message: `Guardrail \`${use.use}\` is removed.`,
    before: use.entry,
    after: undefined,
    fromPath: [...fromPath, use.index],
    // What held it is the list.
    toPath: [...toPath, use.index],
  };
}

/** Of guardrails that both sides have, those whose place among the others differs. */
function orderFindings(change: KeyChange, pairs: readonly Pair[]): readonly Finding[] {
  const moved: Finding[] = [];
  let hasSwap = false;
  let isActedOn = false;
  for (const pair of pairs) {
    const [was, is] = pair;
    const swapped = pairs.filter(
      ([old, now]) => old.index < was.index !== now.index < is.index && now !== is,
    );
    hasSwap ||= swapped.length > 0;
    isActedOn ||= swapped.some((other) => actsOnASide(other) && actsOnASide(pair));
    const masking = swapped.filter(([old, now]) => masks(old) && masks(now) && overlap(now, is));
    const behind = masking.filter(([, now]) => now.index < is.index);
    const before = masking.filter(([, now]) => now.index > is.index);
    if (behind.length > 0)
      moved.push(movedFinding(change, pair, { rule: "P201", others: behind, where: "behind" }));
    if (before.length > 0)
      moved.push(movedFinding(change, pair, { rule: stricterRule(is), others: before, where: "before" }));
  }
  if (moved.length > 0 || !hasSwap) return moved;
  const { before, after, fromPath, toPath } = change;
  const effect = isActedOn ? "another one may refuse first" : "they only record";
  const message = `The order of guardrails is changed: ${effect}.`;
  return [{ rule: isActedOn ? "P401" : "P501", message, before, after, fromPath, toPath }];
}

/** Before or after the change; so the opposite change says the same. */
const actsOnASide = ([was, is]: Pair): boolean => was.mode !== "shadow" || is.mode !== "shadow";

const masks = ({ mode }: GuardrailUse): boolean => mode === "mask" || mode === "unknown";

interface Move {
  readonly rule: RuleId;
  readonly others: readonly Pair[];
  readonly where: "behind" | "before";
}

function movedFinding(
  { fromPath, toPath }: KeyChange,
  [was, is]: Pair,
  { rule, others, where }: Move,
): Finding {
  const names = others.map(([, { use }]) => `\`${use}\``).join(", ");
  const masking = `${names}, which ${others.length === 1 ? "masks" : "mask"} texts`;
  const effect = where === "behind" ? "it no longer sees what is masked" : "it sees what is masked later";
  return {
    rule,
    message: `Guardrail \`${is.use}\` is moved ${where} ${masking}: ${effect}.`,
    before: was.index + 1,
    after: is.index + 1,
    fromPath: [...fromPath, was.index],
    toPath: [...toPath, is.index],
  };
}
