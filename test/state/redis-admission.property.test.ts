/**
 * Admission in Redis against admission in memory: the same calls at the same times, made up by fast-check, are decided
 * alike, one by one and many in one turn. A failure prints its seed and the shortest schedule.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { StateStore } from "../../src/plugin/index.ts";
import type { Admission, Reservation } from "../../src/plugin/store.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";
import { RATE_RUNS_MAX } from "../../src/state/rate-window.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "../../src/testing/store-claims.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { countingRandom } from "./counting-random.ts";
import { openStore, redisTests } from "./redis-server.ts";

const RUNS = { seed: 20261103, numRuns: 150 };

const pauseMs = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.constantFrom(1, 54, 999, 1000, 59_999, 60_000, 60_001) },
  { weight: 1, arbitrary: fc.constantFrom(3_599_999, 3_600_000, 3_600_001) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 5000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 40 * 24 * HOUR_MS }) },
);

const call = fc.record({
  endpoint: fc.integer({ min: 0, max: 1 }),
  minute: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constant(RATE_RUNS_MAX + 1)),
  hour: fc.integer({ min: 1, max: 9 }),
  cap: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
  estimate: fc.integer({ min: 0, max: 60 }),
  end: fc.constantFrom("settle", "release", "later"),
  cost: fc.integer({ min: 0, max: 90 }),
});

const turn = fc.record({ pause: pauseMs, calls: fc.array(call, { maxLength: 7 }) });

const redis = redisTests();

redis.test(
  "every decision is that of the memory store, also while reloads change limits and caps",
  async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { maxLength: 30 }), async (turns) => {
        run += 1;
        const clock = virtualClock();
        const inMemory = memoryStore({ clock, random: countingRandom(), maxSessions: 1 });
        const inRedis = await openStore({
          clock,
          url: redis.server.url,
          keyPrefix: `run-${run}`,
          serverTimeMs: () => clock.nowMs(),
        });
        const open: Reservation[] = [];
        for (const { pause, calls } of turns) {
          clock.advance(pause);
          inRedis.renew(open);
          await sameDecisions(inMemory, inRedis, calls, open);
        }
        assert.deepEqual(sorted(await inRedis.sums()), sorted(await inMemory.sums()));
        await inRedis.close();
      }),
      RUNS,
    );
  },
);

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

async function sameDecisions(
  inMemory: StateStore,
  inRedis: StateStore,
  calls: readonly Call[],
  open: Reservation[],
): Promise<void> {
  const decide = (store: StateStore) => Promise.all(calls.map((each) => store.admit("call", claimsOf(each))));
  const [expected, answers] = [await decide(inMemory), await decide(inRedis)];
  assert.deepEqual(answers.map(plain), expected.map(plain));
  for (const [index, { end, cost }] of calls.entries()) {
    for (const [store, answer] of [
      [inMemory, expected[index]],
      [inRedis, answers[index]],
    ] as const) {
      if (answer?.admitted !== true || answer.reservation === undefined) continue;
      if (end === "settle") void store.settle(answer.reservation, cost);
      else if (end === "release") void store.release(answer.reservation);
      else if (store === inRedis) open.push(answer.reservation);
    }
  }
}

function claimsOf({ endpoint, minute, hour, cap, estimate }: Call) {
  return [
    rate(`${endpoint}`, minute, MINUTE_MS),
    rate(`${endpoint}`, hour, HOUR_MS),
    spend(`endpoint ${endpoint}`, estimate, cap),
    spend("token", estimate, cap),
  ];
}

/** A reservation with its documented fields. */
function plain(admission: Admission): unknown {
  return JSON.parse(JSON.stringify(admission));
}

function sorted<T extends { readonly key: string; readonly month: string }>(
  sums: readonly T[],
): readonly T[] {
  // One that is reserved at an estimate of zero stands in memory, and nowhere else.
  const standing = sums.filter((sum) => !/"settledNanoUsd":0,"reservedNanoUsd":0/.test(JSON.stringify(sum)));
  return standing.sort((a, b) => (a.month + a.key).localeCompare(b.month + b.key));
}
