/** Runs the cases of a fuzz target one after the other and watches the event loop while they run. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type FuzzTarget, SeededRandom } from "./target.ts";

export interface FuzzLimits {
  readonly firstSeed: number;
  /** Cases at most. */
  readonly cases: number;
  /** Wall-clock time at most; no new case starts after it. Infinity: only `cases` bounds the run. */
  readonly durationMs: number;
}

export interface FuzzReport {
  readonly cases: number;
  /** The longest time that the event loop did not turn, in milliseconds. */
  readonly longestStallMs: number;
}

/** Rejects with an Error that names the seed of the first case that failed and the command that repeats it. */
export async function runFuzzer(target: FuzzTarget, limits: FuzzLimits): Promise<FuzzReport> {
  const session = await target.start();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedMs = performance.now();
  let cases = 0;
  try {
    for (; cases < limits.cases && performance.now() - startedMs < limits.durationMs; cases += 1) {
      const seed = limits.firstSeed + cases;
      try {
        await session.run(new SeededRandom(seed));
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        const repeat = `npm run fuzz -- ${target.name} --seed ${seed} --cases 1`;
        throw new Error(`${target.name}, seed ${seed}: ${reason}\nrepeat with: ${repeat}`, { cause });
      }
    }
  } finally {
    delay.disable();
    await session.close();
  }
  return { cases, longestStallMs: delay.max / 1e6 };
}
