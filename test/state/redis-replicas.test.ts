/** Several replicas on one Redis: what they promise together. Each store has connections of its own, as a process has. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Message, OpenSession, StateStore } from "../../src/plugin/index.ts";
import { LEASE_MS, SESSION_WAITERS_MAX } from "../../src/plugin/store.ts";
import type { RedisStoreOptions } from "../../src/state/redis/redis.ts";
import { SESSION_LEASE_MS } from "../../src/state/redis/session-scripts.ts";
import { MINUTE_MS, rate, spend } from "../../src/testing/store-claims.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { fullestSpan } from "./naive-store.ts";
import { ask, auditRecord, openStore, redisTests } from "./redis-server.ts";

const TTL_MS = 600_000;

const redis = redisTests();
let runs = 0;

async function replicas(
  body: (stores: readonly StateStore[], prefix: string) => Promise<void>,
  options: Partial<RedisStoreOptions> = {},
): Promise<void> {
  runs += 1;
  const keyPrefix = `replicas-${runs}`;
  const open = (): Promise<StateStore> => openStore({ url: redis.server.url, keyPrefix, ...options });
  const stores = [await open(), await open(), await open()];
  try {
    await body(stores, keyPrefix);
  } finally {
    await Promise.all(stores.map((store) => store.close()));
  }
}

redis.test("of 600 simultaneous calls on a budget for 37 exactly 37 are admitted", () =>
  replicas(async (stores) => {
    const claims = [spend("endpoint", 10), spend("token", 10, 375)];
    const answers = await Promise.all(
      Array.from({ length: 600 }, (_, call) => one(stores, call).admit(`${call}`, claims)),
    );
    assert.equal(answers.filter(({ admitted }) => admitted).length, 37);
  }),
);

redis.test(
  "of 600 simultaneous calls exactly as many as a limit allows are admitted, by the server's time",
  () =>
    replicas(async (stores) => {
      const answers = await Promise.all(
        Array.from({ length: 600 }, (_, call) => one(stores, call).admit(`${call}`, [rate("endpoint", 50)])),
      );
      assert.equal(answers.filter(({ admitted }) => admitted).length, 50);
    }),
);

redis.test(
  "every minute, wherever it starts, admits as many as its limit, and a call is refused only when it did",
  async () => {
    const clock = virtualClock();
    await replicas(
      async (stores) => {
        const times: number[] = [];
        for (let burst = 0; burst < 120; burst += 1) {
          await pass(stores, clock, (burst * 7919) % 9973);
          const calls = Array.from({ length: (burst * 31) % 12 }, (_, call) =>
            one(stores, call).admit("call", [rate("endpoint", 20)]),
          );
          const answers = await Promise.all(calls);
          const room = 20 - times.filter((time) => time > clock.nowMs() - MINUTE_MS).length;
          const passed = answers.filter(({ admitted }) => admitted).length;
          assert.equal(passed, Math.min(calls.length, room));
          for (let call = 0; call < passed; call += 1) times.push(clock.nowMs());
        }
        assert.equal(fullestSpan(times, MINUTE_MS), 20);
      },
      { clock, serverTimeMs: () => clock.nowMs() },
    );
  },
);

redis.test("what a replica killed midway held is free when its leases have run out", async () => {
  const clock = virtualClock();
  const startMs = clock.nowMs();
  await replicas(
    async ([store], prefix) => {
      assert.ok(store);
      const program = fileURLToPath(new URL("redis-process.ts", import.meta.url));
      const flags = ["--conditions=sluice-source", "--import", "tsx", program, redis.server.url, prefix];
      const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
      const [line] = await once(child.stdout, "data");
      child.kill("SIGKILL");
      await once(child, "exit");
      const { session } = JSON.parse(String(line));

      assert.equal((await store.admit("early", [spend("sum", 1, 500)])).admitted, false);
      const waiting = store.sessions.open("owner", session, TTL_MS);
      await store.sessions.historyCharacters("owner", session);
      clock.advance(LEASE_MS + 1);
      // 5 calls at 100 nano-dollars each, whose input estimates of 25 stay.
      assert.equal((await store.admit("late", [spend("sum", 375, 500)])).admitted, true);
      // The one that waits asks again by itself, and has the conversation then.
      clock.advance(SESSION_LEASE_MS);
      const answer = await waiting;
      assert.ok(typeof answer === "object");
      assert.deepEqual(answer.history, [{ role: "user", content: "held" }]);
    },
    { clock, serverTimeMs: () => Date.now() + clock.nowMs() - startMs },
  );
});

redis.test("an override that one replica sets is heard by all, once each, without asking", () =>
  replicas(async (stores) => {
    const heard = stores.map((store) => {
      let times = 0;
      const first = new Promise<void>((resolve) => {
        store.overrides.watch(() => {
          times += 1;
          resolve();
        });
      });
      return { first, times: () => times };
    });
    const override = { key: "k", value: 1, replaced: null, actor: "ops", setAtMs: 0 };
    assert.equal(await stores[0]?.overrides.set(override), true);
    await Promise.all(heard.map(({ first }) => first));
    for (const store of stores) assert.deepEqual(await store.overrides.list(), [override]);
    assert.deepEqual(
      heard.map(({ times }) => times()),
      [1, 1, 1],
    );
  }),
);

redis.test("an override whose message was lost is heard within a second", async () => {
  const clock = virtualClock();
  await replicas(
    async ([store], prefix) => {
      const heard = new Promise<void>((resolve) => store?.overrides.watch(resolve));
      await ask(redis.server, "INCR", `{${prefix}}:overrides:version`);
      clock.advance(1000);
      await heard;
    },
    { clock },
  );
});

redis.test("audit records of all replicas are one log, which each can page through", () =>
  replicas(async (stores) => {
    for (let n = 0; n < 9; n += 1) await one(stores, n).audit.append([auditRecord(n)]);
    const found = await one(stores, 1).audit.query({ limit: 4, before: auditRecord(6).id });
    assert.deepEqual(
      found.map(({ target }) => target),
      ["5", "4", "3", "2"],
    );
  }),
);

redis.test("more audit records than may wait at once are all stored", () =>
  replicas(async (stores) => {
    const records = Array.from({ length: 2500 }, (_, n) => ({ ...auditRecord(0), id: `${n}` }));
    await one(stores, 0).audit.append(records);
    const last = await one(stores, 1).audit.query({ limit: 2, before: "2" });
    assert.deepEqual(last, [records[1], records[0]]);
  }),
);

redis.test("a conversation has one holder over all replicas, and those who wait have it in their order", () =>
  replicas(async (stores) => {
    const id = await stored(one(stores, 0));
    const order: number[] = [];
    const use = async (call: number): Promise<void> => {
      const session = await opened(one(stores, call), id);
      order.push(call);
      await session.save([...session.history, turn(call)]);
      session.close();
    };
    const uses: Promise<void>[] = [];
    for (let call = 0; call < 7; call += 1) {
      uses.push(use(call));
      // So that the order in which they come is that of the server.
      await one(stores, call).sessions.historyCharacters("owner", id);
    }
    await Promise.all(uses);
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6]);
    const { history } = await opened(one(stores, 1), id);
    assert.deepEqual(history.slice(1), order.map(turn));
  }),
);

redis.test(
  "a limited number of calls may wait over all replicas together, and one that leaves frees its place",
  () =>
    replicas(async (stores) => {
      const holder = await opened(one(stores, 0), await stored(one(stores, 0)));
      const caller = new AbortController();
      const leaving = one(stores, 2).sessions.open("owner", holder.id, TTL_MS, caller);
      const waiting = Array.from({ length: SESSION_WAITERS_MAX - 1 }, (_, call) =>
        opened(one(stores, call), holder.id),
      );
      for (const store of stores) await store.sessions.historyCharacters("owner", holder.id);
      assert.equal(await one(stores, 1).sessions.open("owner", holder.id, TTL_MS), "busy");
      caller.abort();
      assert.equal(await leaving, "busy");
      await one(stores, 2).sessions.historyCharacters("owner", holder.id);
      const last = opened(one(stores, 1), holder.id);
      holder.close();
      await Promise.all([...waiting, last].map((session) => session.then((held) => held.close())));
    }),
);

redis.test("beyond its bound the conversations used least recently go, and none that is held", async () => {
  const clock = virtualClock();
  await replicas(
    async (stores) => {
      const held = await opened(one(stores, 0), await stored(one(stores, 0)));
      const ids: string[] = [];
      for (let n = 0; n < 6; n += 1) {
        clock.advance(1);
        ids.push(await stored(one(stores, n)));
      }
      const characters = await Promise.all(
        [held.id, ...ids].map((id) => one(stores, 1).sessions.historyCharacters("owner", id)),
      );
      assert.deepEqual(
        characters.map((count) => count > 0),
        [true, false, false, false, true, true, true],
      );
    },
    { maxSessions: 4, serverTimeMs: () => clock.nowMs() },
  );
});

/** Lets time pass in steps: what the stores ask on their own is answered before the server's time goes on. */
async function pass(stores: readonly StateStore[], clock: VirtualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    clock.advance(Math.min(500, left));
    await Promise.all(stores.map((store) => store.spending("sum", "2026-05")));
  }
}

function one(stores: readonly StateStore[], call: number): StateStore {
  const store = stores[call % stores.length];
  assert.ok(store);
  return store;
}

function turn(call: number): Message {
  return { role: "user", content: `turn ${call}` };
}

async function opened(store: StateStore, id?: string): Promise<OpenSession> {
  const session = await store.sessions.open("owner", id, TTL_MS);
  assert.ok(typeof session === "object", `the conversation is ${String(session)}`);
  return session;
}

async function stored(store: StateStore): Promise<string> {
  const session = await opened(store);
  await session.save([{ role: "user", content: "begin" }]);
  session.close();
  await store.sessions.historyCharacters("owner", session.id);
  return session.id;
}
