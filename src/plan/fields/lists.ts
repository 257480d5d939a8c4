/** Keys that are more than one value: the choice of models, which may change what calls cost, and lists of stages. */
import { isDeepStrictEqual } from "node:util";
import { asJsonMap, type JsonMap } from "../../config/shown.ts";
import type { CallTokens } from "../call-tokens.ts";
import { BOTH, byNumber, directionOf, holdsReference, joined, SAME } from "../directions/direction.ts";
import { ASSUMED_TOKENS, ratesOf, tokensText, usdPer1000Calls, usdText } from "../money.ts";
import { type PreparedSide, type TargetNames, targetsOf } from "../prepared-side.ts";
import {
  directed,
  type Field,
  finding,
  type KeyChange,
  type ObjectPair,
  shortText,
  type Value,
} from "./field.ts";

const CHOICE_KEYS = ["provider_template", "model", "provider", "credential"];

/** What asks the primary model: several keys are one choice, told at the first that differs. */
export const choice: Field = (change) => {
  const { before, after } = change.pair;
  const differing = CHOICE_KEYS.filter((key) => !isDeepStrictEqual(before.value[key], after.value[key]));
  if (differing[0] !== change.name) return [];
  const [was, is] = [targets(change.pair, "from")[0], targets(change.pair, "to")[0]];
  const whole = differing.length === 1 ? change : { ...change, ...chosen(change.pair, differing) };
  const text = choiceText(was, is, whole);
  const cost = costOf(change.pair, { was: [was], is: [is] });
  return [finding(whole, cost.isDearer ? "P301" : "P401", `${text}${cost.text}.`)];
};

function chosen(
  { before, after }: ObjectPair,
  keys: readonly string[],
): { readonly before: Value; readonly after: Value } {
  const of = (value: JsonMap): JsonMap =>
    Object.fromEntries(keys.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key] ?? null]])));
  return { before: of(before.value), after: of(after.value) };
}

function choiceText(
  was: TargetNames | undefined,
  is: TargetNames | undefined,
  { name, before, after }: KeyChange,
): string {
  const [old, now] = [modelText(was), modelText(is)];
  if (old !== now) return `The model is changed from \`${old}\` to \`${now}\``;
  const values = [shortText(before), shortText(after)];
  return values.includes(undefined)
    ? `How \`${now}\` is chosen is changed`
    : `\`${name}\` is changed from ${values[0]} to ${values[1]}`;
}

const modelText = (target: TargetNames | undefined): string =>
  target === undefined ? "none" : `${target.provider}/${target.model}`;

function targets({ before, after, from, to }: ObjectPair, side: "from" | "to"): readonly TargetNames[] {
  return side === "from" ? targetsOf(before, from.byIdentity) : targetsOf(after, to.byIdentity);
}

export const failover: Field = (change) => {
  const [[primary, ...was], [, ...is]] = [targets(change.pair, "from"), targets(change.pair, "to")];
  // Where there was none a call was answered by the primary model, or not at all.
  const cost = costOf(change.pair, { was: was.length === 0 ? [primary] : was, is });
  return [finding(change, cost.isDearer ? "P301" : "P401", `${failoverText(was, is)}${cost.text}.`)];
};

function failoverText(was: readonly TargetNames[], is: readonly TargetNames[]): string {
  const [old, now] = [was.map(modelText), is.map(modelText)];
  const added = now.filter((model) => !old.includes(model));
  const gone = old.filter((model) => !now.includes(model));
  const parts = [
    ...(gone.length > 0 ? [`loses ${gone.map((model) => `\`${model}\``).join(", ")}`] : []),
    ...(added.length > 0 ? [`gains ${added.map((model) => `\`${model}\``).join(", ")}`] : []),
  ];
  return parts.length > 0
    ? `\`failover\` ${parts.join(" and ")}`
    : "`failover` is in another order or uses other credentials";
}

interface Choices {
  readonly was: readonly (TargetNames | undefined)[];
  readonly is: readonly (TargetNames | undefined)[];
}

interface Cost {
  /** A model whose price nobody knows may cost more. */
  readonly isDearer: boolean;
  /** What follows what has changed; "": nothing is known of either. */
  readonly text: string;
}

function costOf(pair: ObjectPair, { was, is }: Choices): Cost {
  const { tokens, isMeasured } = tokensOf(pair);
  const [before, after] = [
    costs(pair.from, was, pair.before.value, tokens),
    costs(pair.to, is, pair.after.value, tokens),
  ];
  const old = new Set(was.map(modelText));
  const unknown = is.find((model, index) => after[index] === undefined && !old.has(modelText(model)));
  if (unknown !== undefined)
    return { isDearer: true, text: `; the price of \`${modelText(unknown)}\` is not known` };
  const [most, now] = [highest(before), highest(after)];
  const at = `at ${tokensText(tokens, isMeasured)}`;
  if (now === undefined) return { isDearer: false, text: "" };
  if (most === undefined || before.includes(undefined)) {
    const isOther = is.some((model) => !old.has(modelText(model)));
    const text = `; 1,000 calls cost USD ${usdText(now)} ${at}, and what they cost before is not known`;
    return { isDearer: isOther, text: isOther ? text : "" };
  }
  if (now === most) return { isDearer: false, text: "" };
  return {
    isDearer: now > most,
    text: `; 1,000 calls cost USD ${usdText(now)} instead of USD ${usdText(most)}, ${at}`,
  };
}

function costs(
  side: PreparedSide,
  models: Choices["was"],
  value: JsonMap,
  tokens: CallTokens,
): readonly (number | undefined)[] {
  const { estimated_cost_per_1k_tokens_usd: own } = value;
  const ownUsd = own === undefined || own === null || holdsReference(own) ? undefined : Number(own);
  return models.map((model) => (model === undefined ? 0 : usdPer1000Calls(side, model, tokens, ownUsd)));
}

function highest(usd: readonly (number | undefined)[]): number | undefined {
  const known = usd.filter((cost) => cost !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function tokensOf({ after, to }: ObjectPair): { readonly tokens: CallTokens; readonly isMeasured: boolean } {
  const measured = to.tokensOf(after.ref);
  return { tokens: measured ?? ASSUMED_TOKENS, isMeasured: measured !== undefined };
}

/** A higher limit of models that cost nothing changes answers alone. */
export const outputTokens: Field = (change) => {
  const rates = targets(change.pair, "to").map((model) => ratesOf(change.pair.to, model)?.output);
  const isFree = rates.every((rate) => rate === 0);
  return directed(byNumber, {
    ...{ stricter: "P107", weaker: isFree ? "P401" : "P301" },
    whenStricter: "longer answers are cut off",
    whenWeaker: isFree ? "answers may be longer" : perAnswer(change, rates),
  })(change);
};

function perAnswer({ before, after }: KeyChange, rates: readonly (number | undefined)[]): string {
  const rate = highest(rates);
  if (rate === undefined || typeof before !== "number" || typeof after !== "number")
    return "answers may be longer and cost more";
  const usd = (tokens: number): string => usdText((tokens * rate) / 1_000_000);
  return `1,000 answers may cost USD ${usd(after)} instead of USD ${usd(before)}`;
}

/** An endpoint's own price, or that of the price lists where it has none. */
export const ownPrice: Field = (change) => {
  const { from, to } = change.pair;
  const costAt = (side: PreparedSide, value: Value, models: readonly TargetNames[]): readonly number[] =>
    models.map((model) =>
      value === null || value === undefined
        ? (usdPer1000Calls(side, model, ASSUMED_TOKENS, undefined) ?? 0)
        : Number(value) * (ASSUMED_TOKENS.input + ASSUMED_TOKENS.output),
    );
  return directed(
    (before, after) => {
      if (holdsReference(before) || holdsReference(after)) return BOTH;
      const was = costAt(from, before, targets(change.pair, "from"));
      const is = costAt(to, after, targets(change.pair, "to"));
      return joined(
        SAME,
        ...is.map((cost, index) => directionOf(cost > (was[index] ?? cost), cost < (was[index] ?? cost))),
      );
    },
    {
      ...{ stricter: "P401", weaker: "P301" },
      whenStricter: "budgets end sooner",
      whenWeaker: "the same calls use up less of their budgets",
    },
  )(change);
};

/** Third parties' stages may refuse or protect: which, nobody can tell without running them. */
export const stageList: Field = (change) => {
  const [was, is] = [change.before, change.after].map((list) =>
    Array.isArray(list) ? list.map((entry) => asJsonMap(entry)) : [],
  );
  const [old, now] = [was ?? [], is ?? []];
  const names = (list: readonly JsonMap[]) => list.map(({ use }) => String(use));
  const added = names(now).filter((use) => !names(old).includes(use));
  const gone = names(old).filter((use) => !names(now).includes(use));
  const isOther = (added.length === 0 && gone.length === 0) || (added.length > 0 && gone.length > 0);
  const text = [
    ...added.map((use) => `stage \`${use}\` is added`),
    ...gone.map((use) => `stage \`${use}\` is removed`),
  ].join(", ");
  const message = `${text === "" ? "Options or order of stages are changed" : text.replace(/^s/, "S")}: what they refuse is not known.`;
  return [
    ...(isOther || added.length > 0 ? [finding(change, "P107", message)] : []),
    ...(isOther || gone.length > 0 ? [finding(change, "P201", message)] : []),
  ];
};
