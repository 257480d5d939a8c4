/**
 * Properties of plans, for one seed: equal sides have none; the plan of the opposite change mirrors that of the change; one
 * field that differs is told by exactly one rule, or by one for each direction.
 */
import assert from "node:assert/strict";
import { judge, type PlanChange } from "../../src/plan/plan.ts";
import type { RuleId } from "../../src/plan/rules.ts";
import type { Side } from "../../src/plan/side.ts";
import { OPTIONS, sideInMemory } from "./kit.ts";
import { type JsonMap, mutated, Random, randomConfig } from "./random-config.ts";

/** What the opposite of a change may be. Written from the rules' texts, not from the tables that are tested. */
const OPPOSITES: Readonly<Record<RuleId, readonly RuleId[]>> = {
  P101: ["P101", "P502", "P501"],
  P102: ["P102"],
  P104: ["P104", "P202", "P502"],
  P105: ["P202"],
  P106: ["P106", "P201", "P202", "P502"],
  P107: ["P201", "P202", "P301", "P401", "P502"],
  P201: ["P106", "P107", "P402"],
  P202: ["P104", "P105", "P106", "P107", "P401", "P502", "P601"],
  P203: ["P101", "P106", "P202", "P203", "P401", "P501", "P601"],
  P301: ["P107", "P301", "P401", "P501", "P502"],
  P401: ["P107", "P202", "P203", "P301", "P401", "P402", "P502"],
  P402: ["P201", "P401"],
  P501: ["P101", "P501", "P502", "P301", "P203"],
  P502: ["P101", "P104", "P106", "P107", "P202", "P501"],
  P601: ["P202", "P203", "P601"],
};

/** Of one cause: what it says when a value goes one way, and when it goes the other. */
const PAIRS: readonly string[] = [
  ...["P105 P202", "P106 P201", "P107 P201", "P107 P202", "P107 P301", "P201 P402"],
  ...["P202 P502", "P202 P601", "P301 P401"],
  // Several guardrails change places with one that masks.
  ...["P107 P402", "P107 P201 P402"],
];

export interface Drawn {
  readonly config: JsonMap;
  readonly side: Side;
}

/** The first configuration of a seed that the checks accept. */
export async function drawn(random: Random, name: string): Promise<Drawn> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const config = randomConfig(random);
    const side = await sideInMemory(JSON.stringify(config, null, 1), name);
    if (side !== undefined) return { config, side };
  }
  throw new Error("no configuration of 50 was accepted: the generator has fallen behind the checks");
}

const placeOf = ({ object: { kind, project, name } }: PlanChange): string => `${kind} ${project}/${name}`;

function byPlace(changes: readonly PlanChange[]): ReadonlyMap<string, readonly PlanChange[]> {
  const groups = new Map<string, PlanChange[]>();
  for (const change of changes) groups.set(placeOf(change), [...(groups.get(placeOf(change)) ?? []), change]);
  return groups;
}

const brief = ({ rule, path, message }: PlanChange): string => `${rule} ${path}: ${message}`;

/** Whatever one plan says of an object, the other has its opposite of it or of the parent that took it along. */
export function assertMirrored(forth: readonly PlanChange[], back: readonly PlanChange[]): void {
  const opposite = byPlace(back);
  const all = back.flatMap(({ object, reaches }) => [object, ...reaches].map(({ project }) => project));
  for (const [place, changes] of byPlace(forth)) {
    // An added project is told with all that is in it, and a removed one alone.
    const others = opposite.get(place);
    if (others === undefined) {
      assert.ok(
        changes.every(({ object, action }) => action === "add" && all.includes(object.project)),
        `${place} has no opposite: ${changes.map(brief).join("\n")}`,
      );
      continue;
    }
    for (const change of changes) {
      const isMirrored = others.some(({ rule }) => OPPOSITES[change.rule].includes(rule));
      assert.ok(
        isMirrored,
        `${place}: ${brief(change)}\nhas no opposite among\n${others.map(brief).join("\n")}`,
      );
    }
  }
}

export async function checkSeed(seed: number): Promise<void> {
  const random = new Random(seed);
  const [a, b] = [await drawn(random, "a"), await drawn(random, "b")];
  const again = await sideInMemory(JSON.stringify(a.config, null, 1), "again");
  assert.ok(again !== undefined);
  assert.deepEqual(judge(a.side, again, OPTIONS), [], "equal configurations");
  const [forth, back] = [judge(a.side, b.side, OPTIONS), judge(b.side, a.side, OPTIONS)];
  assertMirrored(forth, back);
  assertMirrored(back, forth);
  for (let count = 0; count < 4; count++) await checkMutation(random, a);
}

async function checkMutation(random: Random, { config, side }: Drawn): Promise<void> {
  const mutation = mutated(random, config);
  const other =
    mutation === undefined
      ? undefined
      : await sideInMemory(JSON.stringify(mutation.config, null, 1), "mutated");
  if (mutation === undefined || other === undefined) return;
  const isSame = JSON.stringify(side.shown.config) === JSON.stringify(other.shown.config);
  const changes = judge(side, other, OPTIONS);
  const text = `${mutation.what}: ${changes.map(brief).join("\n")}`;
  if (isSame) return assert.deepEqual(changes, [], text);
  assertOneRule(changes, text);
  const back = judge(other, side, OPTIONS);
  assertOneRule(back, `opposite of ${text}: ${back.map(brief).join("\n")}`);
  assertMirrored(changes, back);
  assertMirrored(back, changes);
}

/** One rule, or one for each direction; by each endpoint that a default reaches. */
function assertOneRule(changes: readonly PlanChange[], text: string): void {
  assert.ok(changes.length > 0, `nothing is told of ${text}`);
  const reached = new Map<string, Set<string>>();
  for (const change of changes) {
    const objects =
      change.object.kind === "endpoint_defaults" && change.reaches.length > 0
        ? change.reaches
        : [change.object];
    for (const { kind, name, project } of objects) {
      const place = `${kind} ${project}/${name}`;
      reached.set(place, (reached.get(place) ?? new Set()).add(change.rule));
    }
  }
  for (const rules of reached.values()) {
    const told = [...rules].sort().join(" ");
    assert.ok(rules.size === 1 || PAIRS.includes(told), `${told} are told of ${text}`);
  }
  const objects = new Set(changes.map(placeOf));
  assert.equal(objects.size, 1, `several objects: ${text}`);
}
