/** Renames that something comes between: a crash at any byte, a server that is away, or that has lost its data. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateStore } from "../../src/plugin/index.ts";
import { isPromise } from "../../src/plugin/index.ts";
import type { Rename } from "../../src/plugin/store.ts";
import { MINUTE_MS, rate, spend } from "../../src/testing/store-claims.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { until } from "../spec/kit/client.ts";
import { openFileStore, settled } from "./file-kit.ts";
import { overrideOf } from "./life.ts";
import { diskError, type MemoryDisk, memoryDisk } from "./memory-files.ts";
import { ask, openStore, redisTests } from "./redis-server.ts";

const MAY = "2026-05";
const TTL_MS = 600_000;
const JOURNAL = "state/journal-00000001.jsonl";
const RENAMES: readonly Rename[] = [
  { kind: "rate", windowMs: MINUTE_MS, from: "rate:p/old", to: "rate:p/new" },
  { kind: "spend", from: "spend:p/old", to: "spend:p/new" },
  { kind: "sessions", from: "p/old", to: "p/new" },
  { kind: "override", from: "endpoint:p/old", to: "endpoint:p/new" },
];

function openOn(files: MemoryDisk): Promise<StateStore> {
  return openFileStore({ files, directory: "state" });
}

function admitted(store: StateStore, name: string): ReturnType<typeof Object> {
  const answer = store.admit("call", [rate(`rate:p/${name}`, 9), spend(`spend:p/${name}`, 400)]);
  assert.ok(!isPromise(answer) && answer.admitted && answer.reservation);
  return answer.reservation;
}

/** A store that has something of everything under the old name, a call under way included. Answers a conversation. */
function begin(store: StateStore): string {
  store.settle(admitted(store, "old"), 70);
  admitted(store, "old");
  const session = store.sessions.open("chat/p/old/7", undefined, TTL_MS);
  assert.ok(!isPromise(session) && typeof session === "object");
  session.save([{ role: "user", content: "Hello" }]);
  session.close();
  store.overrides.set(overrideOf("endpoint:p/old", false));
  return session.id;
}

/** What stands under both names. Answered at once by stores on files. */
function portrait(store: StateStore, sessionId: string): object {
  const sums = store.sums();
  const overrides = store.overrides.list();
  assert.ok(!isPromise(sums) && !isPromise(overrides) && overrides !== "unavailable");
  return {
    sums: sums.map(({ key, settledNanoUsd }) => [key, settledNanoUsd]),
    owner: store.sessions.ownerOf(sessionId),
    overrides: overrides.map(({ key, formerly = [] }) => [key, formerly]),
  };
}

/** The call under way was settled at its input estimate. */
const after = (name: string, formerly: readonly string[]) => ({
  sums: [[`spend:p/${name}`, 170]],
  owner: `chat/p/${name}/7`,
  overrides: [[`endpoint:p/${name}`, formerly]],
});

test("a crash at any byte of a rename leaves it done or not begun, and the next start does it", async () => {
  const disk = memoryDisk();
  const store = await openOn(disk);
  const id = begin(store);
  await settled();
  const before = disk.contents.get(JOURNAL)?.length ?? 0;
  store.rename?.({ begin: RENAMES, end: [] });
  await settled();
  const whole = disk.contents.get(JOURNAL) ?? Buffer.alloc(0);
  assert.ok(before > 0 && whole.length > before);
  const found = new Set<string>();
  for (let bytes = before; bytes <= whole.length; bytes += 1) {
    const cut = new Map(disk.contents).set(JOURNAL, whole.subarray(0, bytes));
    const next = await openOn(memoryDisk(cut));
    found.add(JSON.stringify(portrait(next, id)));
    next.rename?.({ begin: RENAMES, end: [] });
    assert.deepEqual(portrait(next, id), after("new", ["endpoint:p/old"]), `${bytes}`);
    // Both calls count in the window, under either name.
    for (const name of ["new", "old"]) {
      const full = next.admit("probe", [rate(`rate:p/${name}`, 2)]);
      assert.ok(!isPromise(full) && !full.admitted, `${bytes}`);
    }
    await next.close();
  }
  assert.deepEqual(
    [...found].map((text): unknown => JSON.parse(text)),
    [after("old", []), after("new", ["endpoint:p/old"])],
  );
});

test("a rename is in snapshots as well as in journals, with calls under way", async () => {
  const clock = virtualClock();
  const disk = memoryDisk();
  const open = (files: MemoryDisk) =>
    openFileStore({ files, directory: "state", clock, snapshotIntervalSeconds: 1 });
  const store = await open(disk);
  const id = begin(store);
  store.rename?.({ begin: RENAMES, end: [] });
  for (let round = 0; round < 3; round += 1) {
    clock.advance(1000);
    await settled();
    store.audit.append([]);
  }
  assert.ok([...disk.contents.keys()].some((name) => name.includes("snapshot-")));
  const next = await open(disk.kill());
  assert.deepEqual(portrait(next, id), after("new", ["endpoint:p/old"]));
  // What begins under the old name still counts under the new one.
  next.settle(admitted(next, "old"), 30);
  assert.deepEqual(await next.spending("spend:p/new", MAY), { settledNanoUsd: 200, reservedNanoUsd: 0 });
  await next.close();
});

test("a rename on a full disk is done, and written as soon as the disk has room", async () => {
  const clock = virtualClock();
  const disk = memoryDisk();
  const store = await openFileStore({ files: disk, directory: "state", clock });
  const id = begin(store);
  await settled();
  disk.weather = () => {
    throw diskError("ENOSPC");
  };
  assert.equal((await store.rename?.({ begin: RENAMES, end: [] }))?.length, RENAMES.length);
  await settled();
  disk.weather = () => {};
  clock.advance(60_000);
  await settled();
  assert.equal((await store.health()).ok, true);
  const next = await openFileStore({ files: disk.kill(), directory: "state", clock });
  assert.deepEqual(portrait(next, id), after("new", ["endpoint:p/old"]));
  await next.close();
});

test("a store that is stopped while it takes its first snapshot keeps conversations and windows", async () => {
  const disk = memoryDisk();
  const first = await openOn(disk);
  const id = begin(first);
  await first.close();
  // Its start takes a snapshot of what it found.
  await (await openOn(disk)).close();
  const next = await openOn(disk);
  assert.equal(next.sessions.ownerOf(id), "chat/p/old/7");
  const full = next.admit("probe", [rate("rate:p/old", 2)]);
  assert.ok(!isPromise(full) && !full.admitted);
  await next.close();
});

const redis = redisTests({ isDurable: true });

redis.test("a rename that Redis could not be asked is done before anything is admitted", async () => {
  const open = () => openStore({ url: redis.server.url, keyPrefix: "away", silenceMs: 200 });
  const [store, other] = [await open(), await open()];
  const claims = (name: string) => [rate(`rate:p/${name}`, 2), spend(`spend:p/${name}`, 10, 100)];
  for (let call = 0; call < 2; call += 1) assert.ok((await other.admit(`c${call}`, claims("old"))).admitted);
  await redis.server.kill();
  await until(async () => !(await store.health()).ok, "the loss is noticed");
  assert.equal(await store.rename?.({ begin: RENAMES, end: [] }), undefined);
  await redis.server.start();
  await until(async () => (await store.health()).ok, "the server is back");
  // Nobody has asked for the rename again.
  const answer = await store.admit("late", claims("new"));
  assert.deepEqual([answer.admitted, !answer.admitted && answer.refused], [false, 0]);
  assert.equal((await store.rename?.({ begin: [], end: [] }))?.length, RENAMES.length);
  await Promise.all([store.close(), other.close()]);
});

redis.test("a rename that Redis has lost with its data stands again, and calls pass under it", async () => {
  const open = () => openStore({ url: redis.server.url, keyPrefix: "lost", onDataLoss: "allow" });
  const [store, behind] = [await open(), await open()];
  await store.rename?.({ begin: RENAMES, end: [] });
  await ask(redis.server, "FLUSHALL");
  const first = await store.admit("one", [spend("spend:p/new", 10, 15)]);
  assert.ok(first.admitted && first.reservation !== undefined);
  const refused = await behind.admit("two", [spend("spend:p/old", 10, 15)]);
  assert.deepEqual([refused.admitted, !refused.admitted && refused.spentNanoUsd], [false, 10]);
  await store.release(first.reservation);
  await Promise.all([store.close(), behind.close()]);
});

redis.test("every conversation gets its new owner written, however many there are", async () => {
  const store = await openStore({ url: redis.server.url, keyPrefix: "owners", maxSessions: 1000 });
  const ids: string[] = [];
  for (let n = 0; n < 300; n += 1) {
    const session = await store.sessions.open(`chat/p/${n % 2 === 0 ? "old" : "other"}/7`, undefined, TTL_MS);
    assert.ok(typeof session === "object");
    await session.save([{ role: "user", content: "Hello" }]);
    session.close();
    ids.push(session.id);
  }
  await store.rename?.({ begin: RENAMES, end: [] });
  await store.rename?.({ begin: [], end: RENAMES });
  for (const [n, id] of ids.entries())
    assert.equal(await store.sessions.ownerOf(id), `chat/p/${n % 2 === 0 ? "new" : "other"}/7`);
  await store.close();
});
