/** Properties of plans for random configurations. `npm run plan-properties` runs more of them. */
import { verifies } from "../spec/verifies.ts";
import { checkBehavior } from "./behavior.ts";
import { checkSeed } from "./properties.ts";

async function everySeed(count: number, check: (seed: number) => Promise<void>): Promise<void> {
  for (let seed = 1; seed <= count; seed++) {
    await check(seed).catch((cause: unknown) => {
      throw new Error(`seed ${seed}: npm run plan-properties -- ${seed} 1`, { cause });
    });
  }
}

verifies(
  ["plan.rules.mirror", "plan.rules.one"],
  "plans of random changes mirror those of their opposites, and one field is told by one rule",
  () => everySeed(15, checkSeed),
);

verifies("plan.rules.behavior", "calls of random configurations differ where the plan says so", () =>
  everySeed(10, checkBehavior),
);
