/** What plugins keep between calls: time to live, atomic sums, and bounds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SliceTable } from "../../src/state/slice-table.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

test("what is set is found until its time is over, by its own plugin", () => {
  const clock = virtualClock();
  const table = new SliceTable(clock);
  const slice = table.slice("a");
  assert.equal(slice.set("k", { deep: [1, "two", null] }, 10), true);
  assert.deepEqual(slice.get("k"), { deep: [1, "two", null] });
  assert.deepEqual(table.slice("a").get("k"), { deep: [1, "two", null] });
  assert.equal(table.slice("b").get("k"), undefined);
  clock.advance(9_999);
  assert.notEqual(slice.get("k"), undefined);
  clock.advance(1);
  assert.equal(slice.get("k"), undefined);
  assert.equal(slice.delete("k"), false);
});

test("what comes back is a copy", () => {
  const slice = new SliceTable(virtualClock()).slice("a");
  const value = { list: [1] };
  slice.set("k", value, 10);
  value.list.push(2);
  assert.deepEqual(slice.get("k"), { list: [1] });
});

test("a sum grows from 0 and lasts from its first addition", () => {
  const clock = virtualClock();
  const slice = new SliceTable(clock).slice("a");
  assert.equal(slice.increment("n", 2, 10), 2);
  clock.advance(6_000);
  assert.equal(slice.increment("n", 3, 10), 5);
  clock.advance(4_000);
  assert.equal(slice.increment("n", 1, 10), 1);
  slice.set("text", "x", 10);
  assert.equal(slice.increment("text", 1, 10), 1);
  assert.equal(slice.increment("n", Number.NaN, 10), undefined);
});

test("keys, values, times and entries have limits", () => {
  const slice = new SliceTable(virtualClock()).slice("a");
  assert.equal(slice.set("k".repeat(257), 1, 10), false);
  assert.equal(slice.set("k", "x".repeat(65_535), 10), false);
  assert.equal(slice.set("k", "x".repeat(65_534), 10), true);
  assert.equal(slice.set("k", 1, 0), false);
  assert.equal(slice.set("k", undefined as never, 10), false); // As JavaScript may.
  for (let n = 0; n < 10_000; n++) slice.set(`n${n}`, n, 10);
  assert.equal(slice.get("k"), undefined);
  assert.equal(slice.get("n0"), 0);
  slice.set("one more", 1, 10);
  assert.equal(slice.get("n0"), undefined);
});
