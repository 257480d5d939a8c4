/** A Random for tests: ids that count up, so that a failure reads the same each time. It is no random source. */
import type { Random } from "../../src/plugin/host.ts";

/** `from`: the count before the first id. */
export function countingRandom(from = 0): Random {
  let count = from;
  return {
    uuid() {
      count += 1;
      return `00000000-0000-4000-8000-${count.toString(16).padStart(12, "0")}`;
    },
    fraction: () => 0.5,
  };
}
