/**
 * How figures are taken: windows under steady load after a warm-up, and rounds in which the targets take turns, in
 * reversed order every other time, each in a fresh process a round. One process differs from the next by up to 25 %, so
 * only medians over rounds of one run are compared.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Lab, Target, TargetPlan } from "./lab.ts";
import { Load, type LoadPlan } from "./load.ts";
import { machineCpuUs } from "./usage.ts";

/** Before that the compiler is still at work on the target's code. */
const WARM_UP_SECONDS_MIN = 3;
/** Fifty of the kernel's steps, and shorter than a neighbour's moods. */
const TURN_SECONDS = 0.5;
/** Until all connections of a turn are open and at work. */
const CONNECTING_MS = 50;

export interface Bench {
  readonly lab: Lab;
  readonly rounds: number;
  /** Length of a measuring window. The warm-up before it is as long, and at least three seconds. */
  readonly seconds: number;
  progress(text: string): void;
  /** Notes what could not be measured; the rest goes on. */
  failed(reason: string): void;
  /** Notes a window, for the warnings under the table. */
  taken(sample: Sample): void;
}

/** What one window under load gave. */
export interface Sample {
  readonly callsPerSecond: number;
  /** CPU of the target's process. */
  readonly cpuUsPerCall: number;
  /** CPU of the load and the mock upstream, as a share of their core: near 1, they were what limited the rate. */
  readonly driverShare: number;
  /** CPU of everything else on the machine, in cores. */
  readonly foreignCores: number;
}

/** Loads the target, lets it warm up, and measures. Throws when a call fails or a stream is not whole. */
export async function measure(bench: Bench, target: Target, plan: Omit<LoadPlan, "port">): Promise<Sample> {
  const load = new Load({ ...plan, port: target.port });
  await delay(warmUpSeconds(bench) * 1000);
  const before = reading(bench.lab, target, load);
  await delay(bench.seconds * 1000);
  const after = reading(bench.lab, target, load);
  load.close();
  refuseFailures(target, load);
  return report(bench, target, [difference(after, before)]);
}

/**
 * The same for targets that are compared: in each round all of them run side by side, idle but for one, and are loaded
 * by short turns. What else a shared machine does in a minute differs more than the targets do. Returns the samples by
 * plan, in the plans' order; a plan that fails ends it, since nothing is left to compare.
 */
export async function measureByTurns<Plan extends TargetPlan>(
  bench: Bench,
  plans: readonly Plan[],
  loadOf: (plan: Plan) => Omit<LoadPlan, "port">,
): Promise<Sample[][]> {
  const samples: Sample[][] = plans.map(() => []);
  for (let round = 0; round < bench.rounds; round++) {
    bench.progress(`  round ${round + 1} of ${bench.rounds}`);
    const targets: Target[] = [];
    try {
      for (const plan of plans) targets.push(await bench.lab.start(plan));
      const contestants = plans.flatMap((plan, n) => {
        const target = targets[n];
        return target === undefined ? [] : [{ target, load: loadOf(plan) }];
      });
      const taken = await turnsOf(bench, contestants);
      for (const [n, { target }] of contestants.entries())
        samples[n]?.push(report(bench, target, taken[n] ?? []));
    } catch (error) {
      bench.failed(error instanceof Error ? error.message : String(error));
      return plans.map(() => []);
    } finally {
      await Promise.all(targets.map((target) => target.stop()));
    }
  }
  return samples;
}

interface Contestant {
  readonly target: Target;
  readonly load: Omit<LoadPlan, "port">;
}

/** What each contestant's turns gave, after a warm-up; in reversed order every other time. */
async function turnsOf(bench: Bench, contestants: readonly Contestant[]): Promise<Reading[][]> {
  const taken: Reading[][] = contestants.map(() => []);
  for (const contestant of contestants) await turn(bench, contestant, warmUpSeconds(bench));
  const order = [...contestants.entries()];
  for (let n = 0; n * TURN_SECONDS < bench.seconds; n++) {
    for (const [at, contestant] of order) taken[at]?.push(await turn(bench, contestant, TURN_SECONDS));
    order.reverse();
  }
  return taken;
}

async function turn(bench: Bench, { target, load: plan }: Contestant, seconds: number): Promise<Reading> {
  const load = new Load({ ...plan, port: target.port });
  await delay(CONNECTING_MS);
  const before = reading(bench.lab, target, load);
  await delay(seconds * 1000);
  const after = reading(bench.lab, target, load);
  load.close();
  refuseFailures(target, load);
  return difference(after, before);
}

function warmUpSeconds({ seconds }: Bench): number {
  return Math.max(seconds, WARM_UP_SECONDS_MIN);
}

/** One sample of all the windows together. */
function report(bench: Bench, target: Target, windows: readonly Reading[]): Sample {
  const sum = (field: keyof Reading): number => windows.reduce((all, window) => all + window[field], 0);
  const [wallUs, calls, targetUs, driverUs] = [sum("wallUs"), sum("calls"), sum("targetUs"), sum("driverUs")];
  const sample = {
    callsPerSecond: (calls / wallUs) * 1e6,
    cpuUsPerCall: targetUs / calls,
    driverShare: driverUs / wallUs,
    foreignCores: Math.max(0, sum("machineUs") - targetUs - driverUs) / wallUs,
  };
  bench.progress(
    `  ${target.name}: ${sample.callsPerSecond.toFixed(0)} calls/s, ${sample.cpuUsPerCall.toFixed(1)} us CPU a call`,
  );
  bench.taken(sample);
  return sample;
}

/** Throws when a call was not answered with 200 or a stream was not whole. */
export function refuseFailures(target: Target, load: Load): void {
  const { calls, failed, incomplete } = load.tally();
  if (calls === 0) throw new Error(`${target.name}: no call was answered; ${load.firstFailure}`);
  if (failed + incomplete === 0) return;
  throw new Error(
    `${target.name}: ${failed} calls failed, ${incomplete} streams were cut; first: ${load.firstFailure}`,
  );
}

/**
 * Runs `take` on a fresh process of every plan in every round. Returns the samples by plan, in the plans' order. A
 * plan that fails is noted and left out from then on.
 */
export async function inRounds<T, Plan extends TargetPlan>(
  bench: Bench,
  plans: readonly Plan[],
  take: (target: Target, plan: Plan) => Promise<T>,
): Promise<T[][]> {
  const samples: T[][] = plans.map(() => []);
  const broken = new Set<Plan>();
  for (let round = 0; round < bench.rounds; round++) {
    bench.progress(`  round ${round + 1} of ${bench.rounds}`);
    const order = [...plans.entries()];
    for (const [n, plan] of round % 2 === 0 ? order : order.reverse()) {
      if (broken.has(plan)) continue;
      try {
        const target = await bench.lab.start(plan);
        samples[n]?.push(await take(target, plan).finally(() => target.stop()));
      } catch (error) {
        broken.add(plan);
        bench.failed(error instanceof Error ? error.message : String(error));
      }
    }
  }
  return samples;
}

interface Reading {
  readonly wallUs: number;
  readonly targetUs: number;
  readonly driverUs: number;
  readonly machineUs: number;
  readonly calls: number;
}

function reading(lab: Lab, target: Target, load: Load): Reading {
  return {
    wallUs: performance.now() * 1000,
    targetUs: target.cpuUs(),
    driverUs: lab.driverCpuUs(),
    machineUs: machineCpuUs(),
    calls: load.tally().calls,
  };
}

function difference(after: Reading, before: Reading): Reading {
  return {
    wallUs: after.wallUs - before.wallUs,
    targetUs: after.targetUs - before.targetUs,
    driverUs: after.driverUs - before.driverUs,
    machineUs: after.machineUs - before.machineUs,
    calls: after.calls - before.calls,
  };
}
