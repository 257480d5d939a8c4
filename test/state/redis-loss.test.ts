/** What the redis store does when its server has lost data, wholly or in part, and what its clock's steps change. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monthOf } from "../../src/base/month.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import type { Override, Reservation } from "../../src/plugin/store.ts";
import type { RedisStoreOptions } from "../../src/state/redis/redis.ts";
import { rate, spend } from "../../src/testing/store-claims.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { ask, listeningLog, openStore, redisTests } from "./redis-server.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const UNAVAILABLE = { admitted: false, refused: "unavailable", retryAfterSeconds: 1, spentNanoUsd: 0 };

const redis = redisTests({ isDurable: true });
let runs = 0;

interface Opened {
  readonly store: StateStore;
  readonly log: ReturnType<typeof listeningLog>;
  readonly clock: VirtualClock;
  /** Another process on the same data. */
  another(more?: Partial<RedisStoreOptions>): Promise<Opened>;
}

/** One process; those made by `another` are closed with it. */
async function withStore(
  options: Partial<RedisStoreOptions>,
  body: (opened: Opened) => Promise<void>,
): Promise<void> {
  runs += 1;
  const stores: StateStore[] = [];
  const keyPrefix = `loss-${runs}`;
  const open = async (more: Partial<RedisStoreOptions>): Promise<Opened> => {
    const log = listeningLog();
    const clock = virtualClock(Date.now());
    const all = { url: redis.server.url, keyPrefix, log, clock, ...options, ...more };
    const store = await openStore(all);
    stores.push(store);
    return { store, log, clock, another: (other = {}) => open(other) };
  };
  try {
    await body(await open({}));
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

function confirm(): Promise<string> {
  return ask(redis.server, "HDEL", `{loss-${runs}}:meta`, "lost");
}

redis.test("a server that was emptied is refused to all replicas until an operator confirms", () =>
  withStore({}, async ({ store, log, another }) => {
    const other = await another();
    await settled(store, 7);
    await settled(other.store, 5);
    await ask(redis.server, "FLUSHALL");
    const lost = log.next("redis has lost its data");
    assert.deepEqual(await store.admit("call", [spend("sum", 50)]), UNAVAILABLE);
    assert.deepEqual(await other.store.admit("call", [rate("r", 5)]), UNAVAILABLE);
    assert.match((await lost).message, /refused until `sluice state confirm`/);
    assert.deepEqual(await store.health(), {
      ok: false,
      detail: "redis: data was lost; confirm with `sluice state confirm`",
    });
    const fresh = await another();
    assert.deepEqual(await fresh.store.admit("call", [rate("r", 5)]), UNAVAILABLE);
    await confirm();
    for (const { store: each } of [{ store }, other, fresh])
      assert.equal((await each.admit("call", [rate("r", 5)])).admitted, true);
  }),
);

redis.test("health and log say that a loss of data was confirmed, within a second", () =>
  withStore({}, async ({ store, log, clock }) => {
    await settled(store, 7);
    await ask(redis.server, "FLUSHALL");
    await store.admit("call", [spend("sum", 50)]);
    await confirm();
    const confirmed = log.next("was confirmed");
    clock.advance(1000);
    await confirmed;
    assert.equal((await store.health()).ok, true);
  }),
);

redis.test("an emptied server is noticed without calls", () =>
  withStore({}, async ({ store, log, clock }) => {
    await settled(store, 7);
    const lost = log.next("redis has lost its data");
    await ask(redis.server, "FLUSHALL");
    clock.advance(1000);
    await lost;
    assert.equal((await store.health()).ok, false);
  }),
);

redis.test("with allow, an emptied server is used at once and an error is logged", () =>
  withStore({ onDataLoss: "allow" }, async ({ store, log }) => {
    await settled(store, 7);
    await ask(redis.server, "FLUSHALL");
    const lost = log.next("redis has lost its data");
    assert.equal((await store.admit("call", [spend("sum", 50)])).admitted, true);
    assert.equal((await lost).level, "error");
    assert.equal((await store.health()).ok, true);
  }),
);

redis.test("a server that was rewound by one write of money is refused", () =>
  withStore({}, async ({ store, log }) => {
    await settled(store, 7);
    const meta = `{loss-${runs}}:meta`;
    // As an older replica: the last write is missing.
    await ask(redis.server, "HINCRBY", meta, "seq", "-1");
    const lost = log.next("redis has lost its last writes");
    assert.deepEqual(await store.admit("call", [spend("sum", 50)]), UNAVAILABLE);
    await lost;
    await confirm();
    assert.equal((await store.admit("call", [spend("sum", 50)])).admitted, true);
  }),
);

redis.test(
  "what was revoked is put back at once on a server that lost it, with deny and with allow",
  async () => {
    for (const onDataLoss of ["deny", "allow"] as const) {
      await withStore({ onDataLoss }, async ({ store, another }) => {
        const override = { key: "token:1", value: false, replaced: true, actor: "ops", setAtMs: 1 };
        const later = { ...override, key: "token:2" };
        assert.equal(await store.overrides.set(override), true);
        assert.deepEqual(await store.overrides.list(), [override]);
        assert.equal(await store.overrides.set(later), true);
        await ask(redis.server, "FLUSHALL");
        await store.admit("call", [spend("sum", 50)]);
        assert.deepEqual(await listed(store), [override, later]);
        // The server has them again: a process that begins now reads them there.
        const fresh = await another({ onDataLoss: "allow" });
        assert.deepEqual(await listed(fresh.store), [override, later]);
      });
    }
  },
);

redis.test(
  "a process that begins on a server that lost data does not know what was revoked until it is confirmed",
  () =>
    withStore({}, async ({ store, another }) => {
      await settled(store, 7);
      await ask(redis.server, "FLUSHALL");
      await store.admit("call", [spend("sum", 50)]);
      const fresh = await another();
      assert.equal(await fresh.store.overrides.list(), "unavailable");
      const told = new Promise<void>((resolve) => fresh.store.overrides.watch(resolve));
      await confirm();
      fresh.clock.advance(1000);
      await told;
      assert.deepEqual(await fresh.store.overrides.list(), []);
    }),
);

redis.test(
  "calls under way when the server is emptied cost what they cost, and hold their estimates meanwhile",
  () =>
    withStore({ onDataLoss: "allow" }, async ({ store }) => {
      const open = [];
      for (let call = 0; call < 10; call += 1) open.push(await reserved(store));
      await ask(redis.server, "FLUSHALL");
      await store.admit("another", [spend("another", 1)]);
      assert.deepEqual(await spendingOf(store), { settledNanoUsd: 0, reservedNanoUsd: 500 });
      for (const reservation of open) store.settle(reservation, 100);
      assert.deepEqual(await spendingOf(store), { settledNanoUsd: 1000, reservedNanoUsd: 0 });
    }),
);

redis.test("with deny, calls under way when the server is emptied are settled before anyone confirms", () =>
  withStore({}, async ({ store }) => {
    const open = [];
    for (let call = 0; call < 10; call += 1) open.push(await reserved(store));
    await ask(redis.server, "FLUSHALL");
    for (const reservation of open) store.settle(reservation, 100);
    await spendingOf(store);
    assert.deepEqual(await spendingOf(store), { settledNanoUsd: 1000, reservedNanoUsd: 0 });
  }),
);

redis.test("costs that cannot be told when the process ends are told by the next one, once", async () => {
  const directory = mkdtempSync(join(tmpdir(), "sluice-spill-"));
  try {
    await withStore({ directory }, async ({ store, log, another }) => {
      const open = [];
      for (let call = 0; call < 16; call += 1) open.push(await reserved(store));
      const lost = log.next("is lost");
      await redis.server.kill();
      await lost;
      for (const reservation of open) store.settle(reservation, 100_000_000);
      await store.close();
      assert.equal(readdirSync(directory).length, 1);
      await redis.server.start();
      for (let start = 0; start < 2; start += 1) {
        const next = await another();
        await next.store.admit("first", [spend("another", 1)]);
        assert.deepEqual(await spendingOf(next.store), {
          settledNanoUsd: 1_600_000_000,
          reservedNanoUsd: 0,
        });
        assert.deepEqual(readdirSync(directory), []);
      }
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

redis.test("without a folder, costs that cannot be told when the process ends are logged in dollars", () =>
  withStore({}, async ({ store, log }) => {
    const open = await reserved(store);
    const lost = log.next("is lost");
    await redis.server.kill();
    await lost;
    store.settle(open, 1_600_000_000);
    await store.close();
    const { fields } =
      (await log.lines.find(({ message }) => message.startsWith("costs of calls were lost"))) ?? {};
    assert.deepEqual(fields, { ends: 1, usd: 1.6, usd_by_sum: { sum: 1.6 } });
    await redis.server.start();
  }),
);

redis.test(
  "a server's clock that steps 40 days ahead and back opens no second budget and forgets none",
  async () => {
    let stepMs = 0;
    const clock = virtualClock(Date.UTC(2026, 10, 3));
    await withStore({ clock, serverTimeMs: () => clock.nowMs() + stepMs }, async ({ store, log }) => {
      await settled(store, 7);
      for (const step of [40 * DAY_MS, 0]) {
        stepMs = step;
        const stepped = log.next("clock of the redis server was set");
        assert.equal((await reserved(store)).month, "2026-11");
        clock.advance(1000);
        await stepped;
      }
      assert.deepEqual(await store.sums(), [
        { key: "sum", month: "2026-11", settledNanoUsd: 7, reservedNanoUsd: 100 },
      ]);
    });
  },
);

redis.test(
  "a month that both clocks say has begun begins, and only the oldest of more than three months goes",
  async () => {
    const clock = virtualClock(Date.UTC(2026, 7, 3));
    await withStore({ clock, serverTimeMs: () => clock.nowMs() }, async ({ store }) => {
      const months: string[] = [];
      for (const days of [0, 31, 30, 365]) {
        clock.advance(days * DAY_MS);
        const reservation = await reserved(store);
        months.push(reservation.month);
        store.settle(reservation, 7);
      }
      assert.deepEqual(months, ["2026-08", "2026-09", "2026-10", "2027-10"]);
      const kept = await store.sums();
      assert.deepEqual(kept.map(({ month }) => month).sort(), ["2026-09", "2026-10", "2027-10"]);
    });
  },
);

redis.test(
  "a rate window and an open reservation survive a step of the server's clock, ahead and back",
  async () => {
    for (const step of [2 * HOUR_MS, -HOUR_MS]) {
      let stepMs = 0;
      const clock = virtualClock();
      await withStore({ clock, serverTimeMs: () => clock.nowMs() + stepMs }, async ({ store }) => {
        const open = await reserved(store);
        for (let call = 0; call < 5; call += 1)
          assert.equal((await store.admit("call", [rate("r", 5)])).admitted, true);
        clock.advance(1000);
        await store.spending("sum", "2026-05");
        stepMs = step;
        const refused = await store.admit("call", [rate("r", 5)]);
        assert.deepEqual(refused, { admitted: false, refused: 0, retryAfterSeconds: 59, spentNanoUsd: 0 });
        store.renew([open]);
        assert.deepEqual(await store.spending("sum", monthOf(clock.nowMs())), {
          settledNanoUsd: 0,
          reservedNanoUsd: 50,
        });
        stepMs = 0;
        clock.advance(59_000);
        await store.spending("sum", "2026-05");
        assert.equal((await store.admit("call", [rate("r", 5)])).admitted, true);
      });
    }
  },
);

redis.test("a reservation ends whatever its cost is said to be", () =>
  withStore({}, async ({ store }) => {
    for (const cost of [Number.NaN, -1, 2 ** 60, 2.5]) store.settle(await reserved(store), cost);
    assert.deepEqual(await spendingOf(store), { settledNanoUsd: 3 * 50 + 3, reservedNanoUsd: 0 });
  }),
);

redis.test("windows in which nothing counts any more are removed", async () => {
  const clock = virtualClock();
  await withStore({ clock, serverTimeMs: () => clock.nowMs() }, async ({ store }) => {
    await store.admit("call", [rate("idle", 5)]);
    const window = `{loss-${runs}}:window:60000:idle`;
    assert.match(await ask(redis.server, "EXISTS", window), /1/);
    for (let half = 0; half < 3; half += 1) {
      clock.advance(30_000);
      await store.spending("sum", "2026-05");
    }
    assert.match(await ask(redis.server, "EXISTS", window), /0/);
    assert.match(await ask(redis.server, "SCARD", `{loss-${runs}}:windows`), /0/);
  });
});

/** By key: Redis keeps no order. */
async function listed(store: StateStore): Promise<readonly Override[]> {
  const found = await store.overrides.list();
  assert.ok(found !== "unavailable");
  return [...found].sort((a, b) => a.key.localeCompare(b.key));
}

async function reserved(store: StateStore): Promise<Reservation> {
  const answer = await store.admit("call", [spend("sum", 50)]);
  assert.ok(answer.admitted && answer.reservation !== undefined);
  return answer.reservation;
}

async function settled(store: StateStore, costNanoUsd: number): Promise<void> {
  store.settle(await reserved(store), costNanoUsd);
  await spendingOf(store);
}

function spendingOf(store: StateStore) {
  return store.spending("sum", monthOf(Date.now()));
}
