/** Counters and histograms: what was added is what a scrape reads, each combination of labels apart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CounterFamily, HistogramFamily } from "../../src/record/metric-family.ts";

test("equal labels are one series, and labels that only look alike when joined are two", async () => {
  const family = new CounterFamily("calls_total", "Calls", ["project", "endpoint"]);
  family.series("a", "b\0c")(1);
  family.series("a\0b", "c")(2);
  family.series("a", "b\0c")(4);
  const { values } = await family.get();
  assert.deepEqual(values, [
    { labels: { project: "a", endpoint: "b\0c" }, value: 5 },
    { labels: { project: "a\0b", endpoint: "c" }, value: 2 },
  ]);
});

test("a series is given out again, not made anew", () => {
  const family = new CounterFamily("calls_total", "Calls", ["status"]);
  assert.equal(family.series("200"), family.series("200"));
  assert.notEqual(family.series("200"), family.series("502"));
});

test("a histogram counts a value into its bucket and all above, a bound into its own", async () => {
  const family = new HistogramFamily("seconds", "Seconds", ["stage"], [1, 10]);
  for (const value of [0.5, 1, 2, 11]) family.series("call")(value);
  const { values } = await family.get();
  assert.deepEqual(
    values.map(({ metricName, labels, value }) => [metricName, labels["le"], value]),
    [
      ["seconds_bucket", 1, 2],
      ["seconds_bucket", 10, 3],
      ["seconds_bucket", "+Inf", 4],
      ["seconds_sum", undefined, 14.5],
      ["seconds_count", undefined, 4],
    ],
  );
});
