/** The memory store: the promises of every store, and those that only it makes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isPromise } from "../../src/plugin/index.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";
import { rate, spend } from "../../src/testing/store-claims.ts";
import { storeConformance } from "../../src/testing/store-conformance.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { countingRandom } from "./counting-random.ts";

storeConformance("memory", async (clock) =>
  memoryStore({ clock, random: countingRandom(), maxSessions: 100 }),
);

test("the memory store answers at once, except for a conversation in use", async () => {
  const store = memoryStore({ clock: virtualClock(), random: countingRandom(), maxSessions: 100 });
  const answer = store.admit("call", [rate("r", 1), spend("s", 1)]);
  assert.ok(!isPromise(answer) && answer.admitted && answer.reservation !== undefined);
  assert.equal(store.settle(answer.reservation, 1), undefined);
  const first = store.sessions.open("chat/owner", undefined, 1000);
  assert.ok(!isPromise(first) && typeof first === "object");
  assert.equal(first.save([]), undefined);
  const second = store.sessions.open("chat/owner", first.id, 1000);
  assert.ok(isPromise(second));
  first.close();
  assert.equal(typeof (await second), "object");
});

test("a reservation can be written down as JSON, and has only the documented fields", () => {
  const store = memoryStore({ clock: virtualClock(), random: countingRandom(), maxSessions: 100 });
  const answer = store.admit("call", [spend("s", 3)]);
  assert.ok(!isPromise(answer) && answer.admitted);
  assert.deepEqual(JSON.parse(JSON.stringify(answer.reservation)), {
    callId: "call",
    month: "2026-05",
    entries: [{ key: "s", estimateNanoUsd: 3 }],
  });
});
