/** Reservations of calls whose process is gone, slow or cut off, and the months they were made in, in Redis. */
import assert from "node:assert/strict";
import { monthOf, nextMonthMs } from "../../src/base/month.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import { LEASE_MS, type Reservation } from "../../src/plugin/store.ts";
import { spend } from "../../src/testing/store-claims.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { openStore, redisTests } from "./redis-server.ts";

const ESTIMATE = 400;
/** As `spend` makes it. */
const INPUT = 100;

const redis = redisTests();
let runs = 0;

/** Two replicas on one clock. */
async function replicas(): Promise<{
  clock: VirtualClock;
  one: StateStore;
  other: StateStore;
  month: string;
}> {
  runs += 1;
  const clock = virtualClock();
  const options = {
    clock,
    url: redis.server.url,
    keyPrefix: `leases-${runs}`,
    serverTimeMs: () => clock.nowMs(),
  };
  const [one, other] = [await openStore(options), await openStore(options)];
  return { clock, one, other, month: monthOf(clock.nowMs()) };
}

async function closeAll(...stores: readonly StateStore[]): Promise<void> {
  await Promise.all(stores.map((store) => store.close()));
}

redis.test(
  "a reservation that is not renewed is settled at its input estimate by the next admission",
  async () => {
    const { clock, one, other, month } = await replicas();
    await reserved(one);
    clock.advance(LEASE_MS - 1);
    await reserved(other);
    assert.deepEqual(await other.spending("sum", month), {
      settledNanoUsd: 0,
      reservedNanoUsd: 2 * ESTIMATE,
    });
    clock.advance(1);
    await reserved(other);
    const left = { settledNanoUsd: INPUT, reservedNanoUsd: 2 * ESTIMATE };
    assert.deepEqual(await other.spending("sum", month), left);
    await closeAll(one, other);
  },
);

redis.test("a reservation that is renewed stands, however long its call takes", async () => {
  const { clock, one, other, month } = await replicas();
  const long = await reserved(one);
  for (let beat = 0; beat < 10; beat += 1) {
    clock.advance(LEASE_MS / 3);
    one.renew([long]);
    await one.spending("sum", month);
  }
  await other.admit("sweeps", [spend("another", 1)]);
  assert.equal((await other.spending("sum", month)).reservedNanoUsd, ESTIMATE);
  await closeAll(one, other);
});

redis.test("the end of a call whose lease had expired corrects what was settled for it, once", async () => {
  const { clock, one, other, month } = await replicas();
  const [settled, released] = [await reserved(one), await reserved(one)];
  clock.advance(LEASE_MS);
  await other.admit("sweeps", [spend("another", 1)]);
  assert.equal((await other.spending("sum", month)).settledNanoUsd, 2 * INPUT);
  one.settle(settled, 250);
  one.release(released);
  assert.deepEqual(await one.spending("sum", month), { settledNanoUsd: 250, reservedNanoUsd: 0 });
  await closeAll(one, other);
});

redis.test("a call that renews an expired lease holds its estimate again", async () => {
  const { clock, one, other, month } = await replicas();
  const late = await reserved(one);
  clock.advance(LEASE_MS);
  await other.admit("sweeps", [spend("another", 1)]);
  one.renew([late]);
  assert.deepEqual(await one.spending("sum", month), { settledNanoUsd: 0, reservedNanoUsd: ESTIMATE });
  one.settle(late, 7);
  assert.deepEqual(await one.spending("sum", month), { settledNanoUsd: 7, reservedNanoUsd: 0 });
  await closeAll(one, other);
});

redis.test("expired leases are found without calls: every process checks from time to time", async () => {
  const { clock, one, other, month } = await replicas();
  await reserved(one);
  for (let half = 0; half < 2; half += 1) {
    clock.advance(LEASE_MS / 2);
    await other.spending("sum", month);
  }
  assert.deepEqual(await other.spending("sum", month), { settledNanoUsd: INPUT, reservedNanoUsd: 0 });
  await closeAll(one, other);
});

redis.test("every month of forty years begins and ends at its moment", async () => {
  const { clock, one, other } = await replicas();
  for (let month = 0; month < 480; month += 1) {
    clock.advance(nextMonthMs(clock.nowMs()) - 1 - clock.nowMs());
    for (const ms of [0, 1]) {
      clock.advance(ms);
      assert.equal((await reserved(one)).month, monthOf(clock.nowMs()));
    }
  }
  await closeAll(one, other);
});

redis.test("a server whose time is set back does not reopen a month", async () => {
  let nowMs = Date.UTC(2026, 5, 1);
  const store = await openStore({ url: redis.server.url, keyPrefix: "step-back", serverTimeMs: () => nowMs });
  assert.equal((await reserved(store)).month, "2026-06");
  nowMs -= 3_600_000;
  assert.equal((await reserved(store)).month, "2026-06");
  assert.deepEqual(await store.sums(), [
    { key: "sum", month: "2026-06", settledNanoUsd: 0, reservedNanoUsd: 2 * ESTIMATE },
  ]);
  await store.close();
});

redis.test("amounts are exact to the nano-dollar up to 9 million dollars", async () => {
  const { one, other, month } = await replicas();
  const most = Number.MAX_SAFE_INTEGER;
  const answer = await one.admit("dear", [spend("sum", most - 2)]);
  assert.ok(answer.admitted && answer.reservation !== undefined);
  one.settle(answer.reservation, most - 2);
  assert.equal((await one.spending("sum", month)).settledNanoUsd, most - 2);
  assert.ok((await other.admit("fits", [spend("sum", 2, most)])).admitted);
  const refused = await other.admit("one more", [spend("sum", 1)]);
  assert.deepEqual(refused, { admitted: false, refused: 0, retryAfterSeconds: 0, spentNanoUsd: most });
  await closeAll(one, other);
});

async function reserved(store: StateStore): Promise<Reservation> {
  const answer = await store.admit("call", [spend("sum", ESTIMATE)]);
  assert.ok(answer.admitted && answer.reservation !== undefined);
  return answer.reservation;
}
