/** Stores whose machine has its date set forward and back: windows, conversations and months do not follow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateStore } from "../../src/plugin/index.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "../../src/testing/store-claims.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../spec/verifies.ts";
import { countingRandom } from "./counting-random.ts";
import { openFileStore } from "./file-kit.ts";
import { memoryDisk } from "./memory-files.ts";

const DAY_MS = 24 * HOUR_MS;
const NOVEMBER = "2026-11";

/** Both drivers, each on a clock of its own. */
async function onEach(
  run: (store: StateStore, clock: VirtualClock, driver: string) => Promise<void>,
): Promise<void> {
  const options = { random: countingRandom(), maxSessions: 9 };
  const inMemory = virtualClock(Date.UTC(2026, 10, 20));
  await run(memoryStore({ ...options, clock: inMemory }), inMemory, "memory");
  const onFile = virtualClock(Date.UTC(2026, 10, 20));
  const store = await openFileStore({ directory: "state", files: memoryDisk(), clock: onFile });
  await run(store, onFile, "file");
  await store.close();
}

async function isAdmitted(store: StateStore, claims: Parameters<StateStore["admit"]>[1]): Promise<boolean> {
  return (await store.admit("call", claims)).admitted;
}

verifies(
  "state.clock.windows",
  "a date set back or forward neither shuts a window nor opens it",
  async () => {
    await onEach(async (store, clock, driver) => {
      const claims = [rate("minute", 2)];
      assert.ok(await isAdmitted(store, claims));
      clock.step(-HOUR_MS);
      assert.ok(await isAdmitted(store, claims), driver);
      clock.advance(30_000);
      clock.step(3 * HOUR_MS);
      const refused = await store.admit("call", claims);
      assert.ok(!refused.admitted, driver);
      assert.equal(refused.retryAfterSeconds, 30, driver);
      clock.step(-2 * HOUR_MS);
      clock.advance(30_000);
      assert.ok(await isAdmitted(store, claims), driver);
    });
  },
);

verifies(
  "state.clock.months",
  "a date set 40 days forward and back opens no second budget, and shuts none",
  async () => {
    await onEach(async (store, clock, driver) => {
      const claims = [spend("budget", 10, 20)];
      const first = await store.admit("call", claims);
      assert.ok(first.admitted && first.reservation !== undefined);
      await store.settle(first.reservation, 10);
      clock.step(40 * DAY_MS);
      assert.ok(await isAdmitted(store, claims), "what is left of it");
      assert.ok(!(await isAdmitted(store, claims)), `${driver}: a second budget`);
      clock.advance(MINUTE_MS);
      clock.step(-40 * DAY_MS);
      const later = await store.admit("call", [spend("other", 1, 20)]);
      assert.ok(later.admitted && later.reservation?.month === NOVEMBER, driver);
      assert.equal((await store.spending("budget", NOVEMBER)).settledNanoUsd, 10, driver);
    });
  },
);

test("a conversation lives as long as it was told to, whatever the date is set to", async () => {
  await onEach(async (store, clock, driver) => {
    const session = await store.sessions.open("owner/", undefined, MINUTE_MS);
    assert.ok(typeof session === "object");
    await session.save([{ role: "user", content: "hello" }]);
    session.close();
    clock.step(DAY_MS);
    clock.advance(MINUTE_MS - 1);
    assert.equal(await store.sessions.historyCharacters("owner/", session.id), 5, driver);
    clock.step(-2 * DAY_MS);
    clock.advance(2);
    assert.equal(await store.sessions.historyCharacters("owner/", session.id), 0, driver);
  });
});

test("a restart while the date is 40 days ahead opens no second budget either", async () => {
  const clock = virtualClock(Date.UTC(2026, 10, 20));
  const disk = memoryDisk();
  const store = await openFileStore({ directory: "state", files: disk, clock });
  const claims = [spend("budget", 10, 20)];
  assert.ok(await isAdmitted(store, claims));
  clock.step(40 * DAY_MS);
  assert.ok(await isAdmitted(store, claims));
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1000);
  const next = await openFileStore({ directory: "state", files: disk.kill(), clock });
  const later = await next.admit("call", claims);
  assert.ok(later.admitted && later.reservation?.month === NOVEMBER);
});
