/** The ledger's bounds, and what it says to amounts that are none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reservation } from "../../src/plugin/store.ts";
import { SpendLedger } from "../../src/state/spend-ledger.ts";
import { spend } from "../../src/testing/store-claims.ts";

const NOVEMBER_MS = Date.UTC(2026, 10, 3);

function reserve(
  ledger: SpendLedger,
  key: string,
  estimateNanoUsd: number,
  nowMs = NOVEMBER_MS,
): Reservation {
  const claims = [spend(key, estimateNanoUsd)];
  assert.equal(ledger.check(claims, nowMs, nowMs), undefined);
  const reservation = ledger.reserve("call", claims);
  assert.ok(reservation !== undefined);
  return reservation;
}

test("with as many sums as it may have a new one is refused, known ones go on", () => {
  const ledger = new SpendLedger(2);
  ledger.end(reserve(ledger, "a", 5), 5);
  const open = reserve(ledger, "b", 5);
  assert.deepEqual(ledger.check([spend("c", 0)], NOVEMBER_MS, 0), { refused: 0, spentNanoUsd: 0 });
  reserve(ledger, "a", 5);
  ledger.end(open, 0);
  reserve(ledger, "c", 5);
});

test("a sum that stands at zero is kept while a call is under way against it, and no longer", () => {
  const ledger = new SpendLedger(1);
  const [first, second] = [reserve(ledger, "free", 0), reserve(ledger, "free", 0)];
  ledger.end(first, 0);
  ledger.end(second, 7);
  assert.equal(ledger.spending("free", "2026-11").settledNanoUsd, 7);
  const other = new SpendLedger(1);
  other.end(reserve(other, "free", 0), 0);
  reserve(other, "next", 1);
});

test("three months with sums are kept, with what is still reserved in them, and the earliest goes for a fourth", () => {
  const ledger = new SpendLedger();
  const open = reserve(ledger, "key", 4);
  ledger.end(reserve(ledger, "key", 9), 9);
  reserve(ledger, "key", 1, Date.UTC(2026, 11, 31));
  reserve(ledger, "key", 1, Date.UTC(2027, 0, 31));
  assert.deepEqual(ledger.spending("key", "2026-11"), { settledNanoUsd: 9, reservedNanoUsd: 4 });
  reserve(ledger, "key", 1, Date.UTC(2027, 1, 1));
  assert.deepEqual(ledger.spending("key", "2026-11"), { settledNanoUsd: 0, reservedNanoUsd: 0 });
  ledger.end(open, 4);
  assert.deepEqual(ledger.spending("key", "2027-02"), { settledNanoUsd: 0, reservedNanoUsd: 1 });
});

test("a clock that is years ahead deletes no month: sums are counted, not dated", () => {
  const ledger = new SpendLedger();
  ledger.end(reserve(ledger, "key", 9), 9);
  reserve(ledger, "key", 1, Date.UTC(2036, 1, 1));
  assert.equal(ledger.spending("key", "2026-11").settledNanoUsd, 9);
});

test("an estimate that is not an amount is a bug and changes nothing", () => {
  const ledger = new SpendLedger();
  reserve(ledger, "key", 10);
  for (const amount of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => ledger.check([spend("key", amount)], NOVEMBER_MS, 0), RangeError);
  }
  assert.deepEqual(ledger.spending("key", "2026-11"), { settledNanoUsd: 0, reservedNanoUsd: 10 });
});

test("a reservation ends whatever its cost is: a fraction is rounded up, what is not an amount counts as the estimate", () => {
  for (const [cost, settledNanoUsd] of [
    [-1, 10],
    [0.5, 1],
    [Number.NaN, 10],
    [Number.POSITIVE_INFINITY, 10],
    [2 ** 53, 10],
    [2 ** 53 - 1, 2 ** 53 - 1],
  ] as const) {
    const ledger = new SpendLedger();
    ledger.end(reserve(ledger, "key", 10), cost);
    assert.deepEqual(ledger.spending("key", "2026-11"), { settledNanoUsd, reservedNanoUsd: 0 }, `${cost}`);
  }
});

test("a sum stays exact to the nano-dollar far above nine million dollars", () => {
  const ledger = new SpendLedger();
  const most = Number.MAX_SAFE_INTEGER;
  for (let call = 0; call < 1000; call += 1) ledger.end(reserve(ledger, "key", most), most);
  const open = reserve(ledger, "key", most);
  ledger.end(reserve(ledger, "key", 1), 1);
  assert.equal(ledger.settled("key", "2026-11").toJSON(), `${BigInt(most) * 1000n + 1n}`);
  assert.ok(ledger.check([spend("key", 1, most)], NOVEMBER_MS, 0) !== undefined);
  ledger.end(open, 0);
  assert.equal(ledger.spending("key", "2026-11").reservedNanoUsd, 0);
});

test("a reservation that the ledger did not make is a bug", () => {
  const foreign: Reservation = { callId: "x", month: "2026-11", entries: [] };
  assert.throws(() => new SpendLedger().end(foreign, 1), TypeError);
});
