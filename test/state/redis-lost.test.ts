/** What the redis store does when its server is lost, silent, full or back again, and when only an answer is lost. */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import type { Reservation } from "../../src/plugin/store.ts";
import type { RedisStoreOptions } from "../../src/state/redis/redis.ts";
import { rate, spend } from "../../src/testing/store-claims.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { type CuttingProxy, cuttingProxy } from "./redis-proxy.ts";
import { ask, auditRecord, listeningLog, listeningMetrics, openStore, redisTests } from "./redis-server.ts";

const UNAVAILABLE = { admitted: false, refused: "unavailable", retryAfterSeconds: 1, spentNanoUsd: 0 };
const TTL_MS = 600_000;

type Log = ReturnType<typeof listeningLog>;

const redis = redisTests({ isDurable: true });
let runs = 0;

async function withStore(
  options: Partial<RedisStoreOptions>,
  body: (store: StateStore, log: Log) => Promise<void>,
): Promise<void> {
  runs += 1;
  const log = listeningLog();
  const store = await openStore({ url: redis.server.url, keyPrefix: `lost-${runs}`, log, ...options });
  try {
    await body(store, log);
  } finally {
    await store.close();
  }
}

/** As `withStore`, with something between the store and its server that can lose answers. */
async function throughProxy(
  options: Partial<RedisStoreOptions>,
  body: (store: StateStore, log: Log, proxy: CuttingProxy) => Promise<void>,
): Promise<void> {
  const proxy = await cuttingProxy(redis.server.socketPath);
  try {
    await withStore({ url: proxy.url, ...options }, (store, log) => body(store, log, proxy));
  } finally {
    await proxy.close();
  }
}

redis.test("a server that goes and comes back costs refusals, and loses no spend", () =>
  withStore({}, async (store, log) => {
    const [settled, released] = [await reserved(store), await reserved(store)];
    const lost = log.next("is lost");
    await redis.server.kill();
    await lost;
    assert.deepEqual(await store.admit("call", [rate("r", 5)]), UNAVAILABLE);
    assert.equal(await store.sessions.open("owner", undefined, TTL_MS), "unavailable");
    assert.equal((await store.health()).ok, false);
    assert.match(
      (await store.health()).detail,
      /^redis: (connection (closed|refused|reset)|no such socket)$/,
    );
    store.settle(settled, 33);
    store.release(released);
    const back = log.next("redis is back");
    await redis.server.start();
    await back;
    assert.deepEqual(await spendingOf(store), { settledNanoUsd: 33, reservedNanoUsd: 0 });
    assert.equal((await store.health()).ok, true);
    assert.equal((await store.admit("call", [rate("r", 5)])).admitted, true);
    assert.deepEqual(
      log.lines.map(({ level }) => level),
      ["error", "warn"],
    );
  }),
);

redis.test("a server that is killed under load decides nothing twice and forgets nothing", () =>
  withStore({}, async (store, log) => {
    let settledNanoUsd = 0;
    const back = log.next("redis is back");
    const calls = Array.from({ length: 400 }, async (_, call) => {
      for (let turns = 0; turns < call % 20; turns += 1) await store.spending("other", "2026-01");
      const answer = await store.admit(`${call}`, [spend("sum", 50)]);
      if (call === 100) await redis.server.kill().then(() => redis.server.start());
      if (!answer.admitted || answer.reservation === undefined) return;
      settledNanoUsd += call;
      store.settle(answer.reservation, call);
    });
    await Promise.all(calls);
    await back;
    assert.ok(settledNanoUsd > 0);
    assert.deepEqual(await spendingOf(store), { settledNanoUsd, reservedNanoUsd: 0 });
  }),
);

redis.test("an admission whose answer was lost is refused, and holds nothing", () =>
  throughProxy({}, async (store, log, proxy) => {
    const back = log.next("redis is back");
    cutOnce(proxy);
    assert.deepEqual(await store.admit("call", [spend("sum", 50)]), UNAVAILABLE);
    await back;
    assert.deepEqual(await spendingOf(store), { settledNanoUsd: 0, reservedNanoUsd: 0 });
  }),
);

redis.test("a cost whose answer was lost is sent again, and counts once", () =>
  throughProxy({}, async (store, log, proxy) => {
    const reservation = await reserved(store);
    const back = log.next("redis is back");
    cutOnce(proxy);
    store.settle(reservation, 12);
    await back;
    assert.deepEqual(await spendingOf(store), { settledNanoUsd: 12, reservedNanoUsd: 0 });
  }),
);

redis.test("however often answers are lost, each cost counts once", () =>
  throughProxy({}, async (store, log, proxy) => {
    let answers = 0;
    proxy.fate = () => ((answers += 1) % 3 === 0 ? "cut" : "pass");
    let settledNanoUsd = 0;
    for (let round = 0; round < 12; round += 1) {
      if (!(await store.health()).ok) await log.next("redis is back");
      const calls = Array.from({ length: 20 }, (_, call) => store.admit(`${call}`, [spend("sum", 50)]));
      for (const answer of await Promise.all(calls)) {
        if (!answer.admitted || answer.reservation === undefined) continue;
        settledNanoUsd += 7;
        store.settle(answer.reservation, 7);
      }
    }
    proxy.fate = () => "pass";
    if (!(await store.health()).ok) await log.next("redis is back");
    assert.ok(settledNanoUsd > 0);
    // Ends that were cut off just now are sent again before the question.
    await store.admit("last", [spend("another", 1)]);
    assert.deepEqual(await spendingOf(store), { settledNanoUsd, reservedNanoUsd: 0 });
  }),
);

redis.test("where calls may pass a lost server, what they cost is added when it is back", () =>
  throughProxy({ onUnavailable: "allow" }, async (store, log, proxy) => {
    const back = log.next("redis is back");
    cutOnce(proxy);
    const unheard = await reserved(store);
    const unasked = await reserved(store);
    store.settle(unheard, 5);
    store.settle(unasked, 6);
    const session = await store.sessions.open("owner", undefined, TTL_MS);
    assert.equal(typeof session, "object", "a new conversation is held for its call");
    assert.equal(await store.sessions.open("owner", "no-such-id", TTL_MS), "unavailable");
    await back;
    assert.deepEqual(await spendingOf(store), { settledNanoUsd: 11, reservedNanoUsd: 0 });
  }),
);

redis.test("where calls may pass a lost server, a cost whose answer was lost counts once", () =>
  throughProxy({ onUnavailable: "allow" }, async (store, log, proxy) => {
    const first = log.next("redis is back");
    cutOnce(proxy);
    const unheard = await reserved(store);
    await first;
    const second = log.next("redis is back");
    cutOnce(proxy);
    store.settle(unheard, 5);
    await second;
    assert.deepEqual(await spendingOf(store), { settledNanoUsd: 5, reservedNanoUsd: 0 });
  }),
);

redis.test("a server that says nothing is lost, and found again", () =>
  throughProxy({ silenceMs: 200 }, async (store, log, proxy) => {
    const back = log.next("redis is back");
    let isSwallowed = false;
    proxy.fate = () => {
      if (isSwallowed) return "pass";
      isSwallowed = true;
      return "swallow";
    };
    assert.deepEqual(await store.admit("call", [spend("sum", 50)]), UNAVAILABLE);
    await back;
    assert.equal(log.lines[0]?.fields["reason"], "timed out");
    assert.equal((await store.admit("call", [spend("sum", 50)])).admitted, true);
  }),
);

redis.test(
  "a full server is a lost one until it has room, and what was spent meanwhile is not forgotten",
  () => {
    const clock = virtualClock();
    return withStore({ clock }, async (store, log) => {
      const reservation = await reserved(store);
      await ask(redis.server, "CONFIG", "SET", "maxmemory", "1");
      try {
        assert.deepEqual(await store.admit("call", [spend("sum", 50)]), UNAVAILABLE);
        assert.deepEqual(await store.health(), { ok: false, serving: false, detail: "redis: answers OOM" });
        store.settle(reservation, 9);
      } finally {
        await ask(redis.server, "CONFIG", "SET", "maxmemory", "0");
      }
      const back = log.next("redis is back");
      await store.spending("sum", "2026-01");
      await back;
      clock.advance(1000);
      assert.deepEqual(await spendingOf(store), { settledNanoUsd: 9, reservedNanoUsd: 0 });
    });
  },
);

redis.test("a server that became a replica is left, and taken again when it is none any more", () =>
  withStore({}, async (store, log) => {
    await ask(redis.server, "REPLICAOF", "127.0.0.1", "1");
    const back = log.next("redis is back");
    try {
      assert.deepEqual(await store.admit("call", [spend("sum", 50)]), UNAVAILABLE);
    } finally {
      await ask(redis.server, "REPLICAOF", "NO", "ONE");
    }
    await back;
    assert.equal((await store.admit("call", [spend("sum", 50)])).admitted, true);
  }),
);

redis.test("a server that has forgotten its scripts is told them again", () =>
  withStore({}, async (store) => {
    await ask(redis.server, "SCRIPT", "FLUSH");
    assert.equal((await store.admit("call", [spend("sum", 50)])).admitted, true);
  }),
);

redis.test("who waits for a conversation when the server is lost is told so", () =>
  withStore({}, async (store, log) => {
    const session = await store.sessions.open("owner", undefined, TTL_MS);
    assert.ok(typeof session === "object");
    const waiting = store.sessions.open("owner", session.id, TTL_MS);
    await store.sessions.historyCharacters("owner", session.id);
    const back = log.next("redis is back");
    await redis.server.kill();
    assert.equal(await waiting, "unavailable");
    session.close();
    await redis.server.start();
    await back;
    assert.equal(await store.sessions.open("owner", session.id, TTL_MS), "missing");
  }),
);

redis.test("what was revoked stays revoked, and audit records wait, while the server is lost", () =>
  throughProxy({}, async (store, log, proxy) => {
    const override = { key: "token:1", value: false, replaced: true, actor: "ops", setAtMs: 1 };
    assert.equal(await store.overrides.set(override), true);
    assert.deepEqual(await store.overrides.list(), [override]);
    const back = log.next("redis is back");
    cutOnce(proxy);
    await store.audit.append([auditRecord(1)]);
    await store.audit.append([auditRecord(2)]);
    assert.deepEqual(await store.overrides.list(), [override]);
    assert.equal(await store.overrides.set({ ...override, key: "token:2" }), false);
    await back;
    assert.deepEqual(await store.audit.query({ limit: 9 }), [auditRecord(2), auditRecord(1)]);
  }),
);

redis.test("a list of overrides that could not be read is told of when the server is back", () =>
  throughProxy({}, async (store, _log, proxy) => {
    const override = { key: "token:1", value: false, replaced: true, actor: "ops", setAtMs: 1 };
    assert.equal(await store.overrides.set(override), true);
    const read = new Promise((resolve) => {
      store.overrides.watch(async () => {
        const listed = await store.overrides.list();
        if (listed !== "unavailable") resolve(listed);
      });
    });
    cutOnce(proxy);
    await store.audit.append([auditRecord(1)]);
    assert.equal(await store.overrides.list(), "unavailable");
    assert.deepEqual(await read, [override]);
  }),
);

redis.test("a server that is not there when the gateway starts is waited for", async () => {
  await redis.server.kill();
  await withStore({}, async (store, log) => {
    assert.match(log.lines[0]?.message ?? "", /^redis is lost/);
    assert.deepEqual(await store.admit("call", [rate("r", 1)]), UNAVAILABLE);
    const back = log.next("redis is back");
    await redis.server.start();
    await back;
    assert.equal((await store.admit("call", [rate("r", 1)])).admitted, true);
  });
});

redis.test("a user and a password are sent, and shown nowhere", async () => {
  await ask(redis.server, "ACL", "SETUSER", "gateway", "on", ">s3cret:w0rd", "~*", "&*", "+@all");
  const proxy = await cuttingProxy(redis.server.socketPath);
  const shown = (login: string): Promise<unknown> =>
    new Promise((resolve) => {
      void withStore({ url: `redis://${login}@${proxy.address}/1` }, async (store, log) => {
        resolve({ health: await store.health(), lines: log.lines });
      });
    });
  const [right, wrong] = [await shown("gateway:s3cret%3Aw0rd"), await shown("gateway:wr0ng-w0rd")];
  await proxy.close();
  assert.deepEqual(right, {
    health: { ok: true, detail: `redis: ${proxy.address}, database 1` },
    lines: [],
  });
  assert.match(JSON.stringify(wrong), /"redis: answers WRONGPASS"/);
  assert.doesNotMatch(JSON.stringify(wrong), /w0rd/);
});

redis.test("a listener that was cut off hears of changes again", async () => {
  await withStore({ keyPrefix: "listener" }, async (store) => {
    await ask(redis.server, "CLIENT", "KILL", "TYPE", "pubsub");
    const channel = "{listener}:overrides";
    while (!(await ask(redis.server, "PUBSUB", "NUMSUB", channel)).endsWith(":1\r\n"));
    const heard = new Promise<void>((resolve) => store.overrides.watch(resolve));
    await ask(redis.server, "PUBLISH", channel, "7");
    await heard;
  });
});

redis.test("a server that may forget budgets is warned of", async () => {
  await ask(redis.server, "CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru");
  try {
    await withStore({}, async (store, log) => {
      // The store has asked its server before this, and so has its answer.
      await store.spending("sum", "2026-01");
      assert.deepEqual(
        log.lines.map(({ fields }) => fields),
        [{ policy: "allkeys-lru" }],
      );
    });
  } finally {
    await ask(redis.server, "CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
  }
});

redis.test(
  "with allow, costs of any number of calls are kept while redis is away, added up by sum",
  async () => {
    await redis.server.kill();
    const metrics = listeningMetrics();
    const clock = virtualClock(Date.now());
    await withStore({ onUnavailable: "allow", endsBytesMax: 10_000, metrics, clock }, async (store, log) => {
      for (let call = 0; call < 14_000; call += 1) store.settle(await reserved(store), 3);
      assert.equal(metrics.read("sluice_state_ends_waiting"), 1);
      const back = log.next("redis is back");
      await redis.server.start();
      await back;
      await store.admit("last", [spend("another", 1)]);
      assert.deepEqual(await spendingOf(store), { settledNanoUsd: 42_000, reservedNanoUsd: 0 });
      assert.equal(metrics.read("sluice_state_lost_usd_total"), 0);
    });
  },
);

redis.test("with allow, costs beyond the memory for them are counted in dollars, by sum", async () => {
  await redis.server.kill();
  const metrics = listeningMetrics();
  const clock = virtualClock(Date.now());
  await withStore({ onUnavailable: "allow", endsBytesMax: 1000, metrics, clock }, async (store, log) => {
    for (let call = 0; call < 100; call += 1) {
      const answer = await store.admit("call", [spend(`sum-${call}`, 50)]);
      assert.ok(answer.admitted && answer.reservation !== undefined);
      store.settle(answer.reservation, 1_000_000_000);
    }
    clock.advance(10_000);
    const kept = metrics.read("sluice_state_ends_waiting");
    assert.ok(kept > 10 && kept < 30, `${kept} kept`);
    assert.equal(metrics.read("sluice_state_lost_usd_total"), 100 - kept);
    const lines = log.lines.filter(({ message }) => message.startsWith("costs of calls were lost"));
    assert.equal(lines.length, 2);
    assert.equal(
      lines.reduce((usd, { fields }) => usd + Number(fields["usd"]), 0),
      100 - kept,
    );
    await redis.server.start();
  });
});

redis.test(
  "a turn that a lost server did not store is counted, logged, and refused or let pass as configured",
  async () => {
    for (const onUnavailable of ["deny", "allow"] as const) {
      const metrics = listeningMetrics();
      await withStore({ onUnavailable, metrics }, async (store, log) => {
        const session = await store.sessions.open("owner", undefined, TTL_MS);
        assert.ok(typeof session === "object");
        const lost = log.next("is lost");
        await redis.server.kill();
        await lost;
        assert.ok(!session.isUnsaved);
        await session.save([{ role: "user", content: "Hello" }]);
        assert.equal(session.isUnsaved, onUnavailable === "deny");
        assert.equal(metrics.read("sluice_state_lost_session_turns_total"), 1);
        const { fields } = log.lines.find(({ message }) => message.startsWith("turns of sessions")) ?? {};
        assert.deepEqual(fields, { turns: 1 });
        await redis.server.start();
      });
    }
  },
);

redis.test("an address that is none is said at once, without its secrets", async () => {
  for (const url of ["http://localhost", "redis//:pw@host", "redis://:pw@host/first", "unix://"]) {
    await assert.rejects(openStore({ url }), (error: Error) => {
      assert.match(error.message, /state\.url/);
      assert.doesNotMatch(error.message, /pw/);
      return true;
    });
  }
});

/** The next answer to a script is lost with its connection; what comes after it passes. */
function cutOnce(proxy: CuttingProxy): void {
  proxy.fate = () => {
    proxy.fate = () => "pass";
    return "cut";
  };
}

async function reserved(store: StateStore): Promise<Reservation> {
  const answer = await store.admit("call", [spend("sum", 50)]);
  assert.ok(answer.admitted && answer.reservation !== undefined);
  return answer.reservation;
}

function spendingOf(store: StateStore) {
  return store.spending("sum", monthOf(Date.now()));
}
