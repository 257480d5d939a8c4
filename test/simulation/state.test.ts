/** Some hundred lives of stores; `npm run simulate` lives 10,000. SLUICE_SIM_SEED lives the one of that seed alone. */
import { test } from "node:test";
import { simulate } from "./simulate.ts";

const RUNS_PER_TEST = 150;
const ONLY_SEED = process.env["SLUICE_SIM_SEED"];

if (ONLY_SEED !== undefined) {
  test(`spend and limits stay consistent after every event (seed ${ONLY_SEED})`, () =>
    simulate(Number(ONLY_SEED), 1));
} else {
  for (const first of [1, 151, 301, 451]) {
    const last = first + RUNS_PER_TEST - 1;
    test(`spend and limits stay consistent after every event (seeds ${first} to ${last})`, () =>
      simulate(first, RUNS_PER_TEST));
  }
}
