/** `npm run plan-properties [FIRST] [COUNT]`: properties of plans for many seeds; prints those that fail. */
import { checkBehavior } from "./behavior.ts";
import { checkSeed } from "./properties.ts";

const [first = 1, count = 10_000] = process.argv.slice(2).map(Number);
let failed = 0;
for (let seed = first; seed < first + count; seed++) {
  try {
    await checkSeed(seed);
    await checkBehavior(seed);
  } catch (error) {
    failed++;
    console.error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n`);
  }
  if ((seed - first + 1) % 1000 === 0) console.log(`${seed - first + 1} seeds, ${failed} failed`);
}
console.log(`${count} seeds, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
