/**
 * Many lives of stores, each from its seed; the first that fails is named, and can be lived again.
 *   npm run simulate -- [RUNS] [FIRST SEED]
 */
import { pathToFileURL } from "node:url";
import { StoreSimulation } from "./store-simulation.ts";

/** Rejects with an Error that says which seed failed, and why. */
export async function simulate(firstSeed: number, runs: number): Promise<void> {
  for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
    try {
      await new StoreSimulation(seed).run();
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`seed ${seed}: ${reason}; npm run simulate -- 1 ${seed} lives it again`, { cause });
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [runs = "10000", firstSeed = "1"] = process.argv.slice(2);
  const startedMs = performance.now();
  await simulate(Number(firstSeed), Number(runs));
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  process.stdout.write(
    `${runs} lives from seed ${firstSeed}: the books were right all along (${seconds} s)\n`,
  );
}
