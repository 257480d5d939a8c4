/** The bound on windows: idle ones go, busy ones never, and who finds no room is told exactly how long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { StoreClaim } from "../../src/plugin/store.ts";
import { RateTable } from "../../src/state/rate-table.ts";
import { HOUR_MS, MINUTE_MS, rate } from "../../src/testing/store-claims.ts";

function take(table: RateTable, claims: readonly StoreClaim[], nowMs: number) {
  const refusal = table.check(claims, nowMs);
  if (refusal === undefined) table.record(claims, nowMs);
  return refusal;
}

test("windows in which nothing counts any more are forgotten as calls come", () => {
  const table = new RateTable();
  for (let user = 0; user < 100; user += 1) take(table, [rate(`user ${user}`, 5)], user);
  assert.equal(table.size, 100);
  for (let call = 0; call < 20; call += 1) take(table, [rate("one", 50)], MINUTE_MS + 200);
  assert.equal(table.size, 1);
});

test("with as many busy windows as it may have, a new one is refused until the first has run out", () => {
  const table = new RateTable(2);
  take(table, [rate("a", 5)], 0);
  take(table, [rate("b", 5)], 10_000);
  take(table, [rate("a", 5)], 20_000);
  assert.deepEqual(take(table, [rate("c", 5)], 30_000), { refused: 0, retryAfterSeconds: 40 });
  assert.equal(take(table, [rate("a", 5)], 30_000), undefined);
  assert.equal(take(table, [rate("c", 5)], 70_000), undefined);
  assert.equal(table.size, 2);
});

test("a call that needs two new windows waits until there is room for both", () => {
  const table = new RateTable(2);
  take(table, [rate("a", 5)], 0);
  take(table, [rate("b", 5, HOUR_MS)], 0);
  assert.equal(take(table, [rate("c", 5), rate("d", 5)], 0)?.retryAfterSeconds, 3600);
});

test("a call that needs more windows than there may be is refused without end", () => {
  const table = new RateTable(1);
  assert.deepEqual(take(table, [rate("a", 5), rate("b", 5)], 0), { refused: 0, retryAfterSeconds: 1 });
  assert.equal(table.size, 0);
});

test("a limit of none refuses the first call of its key too", () => {
  assert.deepEqual(take(new RateTable(), [rate("none", 0)], 0), { refused: 0, retryAfterSeconds: 60 });
});

test("however few windows there is room for, no limit is passed and every wait told is exact", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e");
  const claim = fc
    .tuple(key, fc.constantFrom(MINUTE_MS, HOUR_MS))
    .map(([name, windowMs]) => rate(name, 2, windowMs));
  const step = fc.record({
    pause: fc.constantFrom(0, 1, 999, 1000, 30_000, 60_000, 3_600_000),
    claims: fc.array(claim, { minLength: 1, maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 5 }), fc.array(step, { maxLength: 60 }), (windowsMax, steps) => {
      const table = new RateTable(windowsMax);
      const admitted: { readonly nowMs: number; readonly claims: readonly StoreClaim[] }[] = [];
      let nowMs = 0;
      for (const { pause, claims } of steps) {
        nowMs += pause;
        const refusal = take(table, claims, nowMs);
        if (refusal !== undefined) {
          nowMs += refusal.retryAfterSeconds * 1000 - 1000;
          if (refusal.retryAfterSeconds > 1) assert.notEqual(take(table, claims, nowMs), undefined);
          nowMs += 1000;
          assert.equal(take(table, claims, nowMs), undefined);
        }
        admitted.push({ nowMs, claims });
        assert.ok(table.size <= windowsMax);
        for (const { key, windowMs } of claims.filter((one) => one.kind === "rate")) {
          const within = admitted.filter(
            (call) =>
              call.nowMs > nowMs - windowMs &&
              call.claims.some((one) => one.kind === "rate" && one.key === key && one.windowMs === windowMs),
          );
          assert.ok(within.length <= 2);
        }
      }
    }),
    { seed: 20261103, numRuns: 500 },
  );
});
