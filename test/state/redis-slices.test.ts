/** What plugins keep between calls, in Redis: as in memory, and shared by all replicas. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { SLICE_ENTRIES_MAX, type StoreSlice } from "../../src/plugin/host.ts";
import { SliceTable } from "../../src/state/slice-table.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { openStore, redisTests } from "./redis-server.ts";

const RUNS = { seed: 20261103, numRuns: 60 };

const key = fc.constantFrom("a", "b", "c", "k".repeat(257));
const ttl = fc.constantFrom(0, 1, 2.5, 60);
const step = fc.oneof(
  fc.record({ does: fc.constant("get" as const), key }),
  fc.record({ does: fc.constant("delete" as const), key }),
  fc.record({
    does: fc.constant("set" as const),
    key,
    ttl,
    value: fc.oneof(fc.constantFrom(7, "7", null, true, "x".repeat(70_000)), fc.jsonValue()),
  }),
  fc.record({
    does: fc.constant("increment" as const),
    key,
    ttl,
    by: fc.constantFrom(1, -3, 0.1, 1e308, Number.NaN),
  }),
  fc.record({ does: fc.constant("wait" as const), ms: fc.constantFrom(1, 999, 1000, 2500, 60_000) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const redis = redisTests();

redis.test("a slice in redis answers as one in memory does", async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      run += 1;
      const clock = virtualClock();
      const store = await openStore({
        url: redis.server.url,
        keyPrefix: `slices-${run}`,
        serverTimeMs: () => clock.nowMs(),
      });
      const [ours, expected] = [store.slice?.("plugin:x"), new SliceTable(clock).slice("plugin:x")];
      assert.ok(ours);
      for (const each of steps) {
        if (each.does === "wait") clock.advance(each.ms);
        else assert.deepEqual(await taken(ours, each), await taken(expected, each));
      }
      await store.close();
    }),
    RUNS,
  );
});

redis.test(
  "all replicas share a slice, namespaces share nothing, and counting at once loses nothing",
  async () => {
    const options = { url: redis.server.url, keyPrefix: "shared" };
    const [one, other] = [await openStore(options), await openStore(options)];
    const [here, there] = [one.slice?.("n"), other.slice?.("n")];
    assert.ok(here && there);
    await Promise.all(Array.from({ length: 50 }, (_, n) => [here, there][n % 2]?.increment("count", 1, 60)));
    assert.equal(await here.get("count"), 50);
    assert.equal(await one.slice?.("m").get("count"), undefined);
    await Promise.all([one.close(), other.close()]);
    assert.equal(await here.get("count"), undefined);
    assert.equal(await here.set("count", 1, 60), false);
  },
);

redis.test("beyond its bound the entry written longest ago goes", async () => {
  let nowMs = 1;
  const store = await openStore({ url: redis.server.url, keyPrefix: "bound", serverTimeMs: () => nowMs++ });
  const slice = store.slice?.("n");
  assert.ok(slice);
  await Promise.all(Array.from({ length: SLICE_ENTRIES_MAX }, (_, n) => slice.set(`${n}`, n, 1e6)));
  await slice.set("0", "again", 1e6);
  await slice.set("one more", 1, 1e6);
  assert.deepEqual(await Promise.all(["0", "1", "2", "one more"].map((name) => slice.get(name))), [
    "again",
    undefined,
    2,
    1,
  ]);
  await store.close();
});

function taken(slice: StoreSlice, step: Exclude<Step, { does: "wait" }>): unknown {
  if (step.does === "get") return slice.get(step.key);
  if (step.does === "delete") return slice.delete(step.key);
  // fast-check's JSON values are JSON values under another name.
  if (step.does === "set") return slice.set(step.key, step.value as string, step.ttl);
  return slice.increment(step.key, step.by, step.ttl);
}
