/**
 * Admission against its naive definition, over schedules that fast-check makes up: bursts, edges of windows to the
 * millisecond, limits and caps that change between calls. A failure prints its seed and the shortest schedule.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { StateStore } from "../../src/plugin/index.ts";
import { isPromise } from "../../src/plugin/index.ts";
import type { Admission, StoreClaim } from "../../src/plugin/store.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "../../src/testing/store-claims.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { countingRandom } from "./counting-random.ts";
import { fullestSpan, NaiveStore } from "./naive-store.ts";

/** The same schedules in every run: change it to look further. */
const RUNS = { seed: 20261103, numRuns: 400 };

/** Mostly the steps that matter: nothing, the edges of seconds and windows, and anything between. */
const pauseMs = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: fc.constantFrom(1, 999, 1000, 1001, 59_000, 59_999, 60_000, 60_001) },
  { weight: 1, arbitrary: fc.constantFrom(3_599_999, 3_600_000, 3_600_001) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 5000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 * HOUR_MS }) },
);

function newStore() {
  const clock = virtualClock();
  return { clock, store: memoryStore({ clock, random: countingRandom(), maxSessions: 1 }) };
}

/** The memory store answers at once; the properties count on it. */
function ask(store: StateStore, claims: readonly StoreClaim[]): Admission {
  const answer = store.admit("call", claims);
  assert.ok(!isPromise(answer));
  return answer;
}

test("no span of a minute or an hour, wherever it starts, admits more calls than its limit", () => {
  const limits = fc.record({ minute: fc.integer({ min: 1, max: 6 }), hour: fc.integer({ min: 1, max: 12 }) });
  fc.assert(
    fc.property(limits, fc.array(pauseMs, { maxLength: 120 }), ({ minute, hour }, pauses) => {
      const { clock, store } = newStore();
      const claims = [rate("minute", minute), rate("hour", hour, HOUR_MS)];
      const times: number[] = [];
      for (const pause of pauses) {
        clock.advance(pause);
        if (ask(store, claims).admitted) times.push(clock.nowMs());
      }
      assert.ok(fullestSpan(times, MINUTE_MS) <= minute);
      assert.ok(fullestSpan(times, HOUR_MS) <= hour);
    }),
    RUNS,
  );
});

test("who waits exactly as long as told is admitted, and a second earlier is not", () => {
  const limits = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 }));
  const schedule = fc.array(pauseMs, { maxLength: 60 });
  fc.assert(
    fc.property(limits, schedule, fc.boolean(), ([minute, hour], pauses, early) => {
      const { clock, store } = newStore();
      const claims = [rate("minute", minute), rate("hour", hour, HOUR_MS)];
      for (const pause of pauses) {
        clock.advance(pause);
        const answer = ask(store, claims);
        if (answer.admitted) continue;
        assert.ok(Number.isInteger(answer.retryAfterSeconds) && answer.retryAfterSeconds >= 1);
        const tooEarly = early && answer.retryAfterSeconds > 1;
        clock.advance((answer.retryAfterSeconds - (tooEarly ? 1 : 0)) * 1000);
        assert.equal(ask(store, claims).admitted, !tooEarly);
      }
    }),
    RUNS,
  );
});

test("every decision is the naive one, while reloads change limits and caps", () => {
  const step = fc.record({
    pause: pauseMs,
    endpoint: fc.integer({ min: 0, max: 1 }),
    minute: fc.integer({ min: 1, max: 5 }),
    hour: fc.integer({ min: 1, max: 9 }),
    cap: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
    estimate: fc.integer({ min: 0, max: 60 }),
    end: fc.constantFrom("settle", "release", "later"),
    cost: fc.integer({ min: 0, max: 90 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { clock, store } = newStore();
      const naive = new NaiveStore();
      for (const { pause, endpoint, minute, hour, cap, estimate, end, cost } of steps) {
        clock.advance(pause);
        const month = new Date(clock.nowMs()).toISOString().slice(0, 7);
        const keys = [`${month} endpoint ${endpoint}`, `${month} token`];
        const claims = [
          rate(`${endpoint} minute`, minute),
          rate(`${endpoint} hour`, hour, HOUR_MS),
          ...keys.map((key) => spend(key, estimate, cap)),
        ];
        const answer = ask(store, claims);
        const expected = naive.admit(claims, clock.nowMs());
        assert.equal(answer.admitted, expected.admitted);
        if (!answer.admitted) {
          assert.deepEqual(answer, expected);
          continue;
        }
        assert.deepEqual(answer.windows, expected.windows);
        assert.ok(answer.reservation !== undefined);
        if (end === "settle") store.settle(answer.reservation, cost);
        if (end === "release") store.release(answer.reservation);
        const change = { settle: cost - estimate, release: -estimate, later: 0 }[end];
        for (const key of keys) naive.spend(key, change);
      }
    }),
    RUNS,
  );
});

test("above the exact limits, rounding never admits one call too many", () => {
  const step = fc.record({
    pause: fc.integer({ min: 0, max: 400_000 }),
    calls: fc.integer({ min: 1, max: 60_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 25 }), (steps) => {
      const limit = 70_000;
      const { clock, store } = newStore();
      const claims = [rate("huge", limit, HOUR_MS)];
      const bursts: { readonly timeMs: number; readonly calls: number }[] = [];
      for (const { pause, calls } of steps) {
        clock.advance(pause);
        let admitted = 0;
        while (admitted < calls && ask(store, claims).admitted) admitted += 1;
        bursts.push({ timeMs: clock.nowMs(), calls: admitted });
      }
      for (const { timeMs } of bursts) {
        const span = bursts.filter((burst) => burst.timeMs >= timeMs && burst.timeMs < timeMs + HOUR_MS);
        assert.ok(span.reduce((sum, burst) => sum + burst.calls, 0) <= limit);
      }
    }),
    { ...RUNS, numRuns: 10 },
  );
});
