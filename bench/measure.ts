/**
 * How figures are taken: a window under steady load after a warm-up, and rounds in which the targets take turns, in
 * reversed order every other round, each in a fresh process. One process differs from the next by up to 25 %, so
 * only medians over rounds of one run are compared.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Lab, Target, TargetPlan } from "./lab.ts";
import { Load, type LoadPlan } from "./load.ts";
import { machineCpuUs } from "./usage.ts";

/** Before that the compiler is still at work on the target's code. */
const WARM_UP_SECONDS_MIN = 3;

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
  await delay(Math.max(bench.seconds, WARM_UP_SECONDS_MIN) * 1000);
  const before = reading(bench.lab, target, load);
  await delay(bench.seconds * 1000);
  const after = reading(bench.lab, target, load);
  load.close();
  refuseFailures(target, load);
  const wallUs = after.wallUs - before.wallUs;
  const calls = after.calls - before.calls;
  const targetUs = after.targetUs - before.targetUs;
  const driverUs = after.driverUs - before.driverUs;
  const sample = {
    callsPerSecond: (calls / wallUs) * 1e6,
    cpuUsPerCall: targetUs / calls,
    driverShare: driverUs / wallUs,
    foreignCores: Math.max(0, after.machineUs - before.machineUs - targetUs - driverUs) / wallUs,
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

function reading(lab: Lab, target: Target, load: Load) {
  return {
    wallUs: performance.now() * 1000,
    targetUs: target.cpuUs(),
    driverUs: lab.driverCpuUs(),
    machineUs: machineCpuUs(),
    calls: load.tally().calls,
  };
}
