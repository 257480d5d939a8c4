/** Counters and histograms: what was added is what a scrape reads, each combination of labels apart. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CounterFamily,
  GaugeFamily,
  HistogramFamily,
  SERIES_MAX,
} from "../../src/telemetry/metric-family.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";

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

test("a gauge shows what it was given last", async () => {
  const family = new GaugeFamily("open", "Open", ["model"]);
  family.series("m")(1);
  family.series("m")(0);
  assert.deepEqual((await family.get()).values, [{ labels: { model: "m" }, value: 0 }]);
});

test("series beyond the limit are counted together, and none is lost", async () => {
  const family = new CounterFamily("calls_total", "Calls", ["id"]);
  for (let n = 0; n < SERIES_MAX + 5; n++) family.series(String(n))(1);
  const { values } = await family.get();
  assert.equal(values.length, SERIES_MAX + 1);
  assert.deepEqual(values.at(-1), { labels: { id: "other" }, value: 5 });
});

test("a scrape reads what was told to it, waits for what must be asked for, and shows labels in their order", async () => {
  const metrics = createMetrics();
  metrics.gauges("sums_usd", "Sums", ["of", "name"], async () => [
    [1.5, "endpoint", "ask"],
    [2, "token", 'w"eb'],
  ]);
  metrics.gauge("open_calls", "Open calls", () => 3);
  metrics.gauge("circuit_open", "Open circuits", ["model"]).series("m")(1);
  const text = await metrics.text();
  metrics.close();
  for (const line of [
    'sums_usd{of="endpoint",name="ask"} 1.5',
    'sums_usd{of="token",name="w\\"eb"} 2',
    "# TYPE open_calls gauge",
    "open_calls 3",
    'circuit_open{model="m"} 1',
  ]) {
    assert.ok(text.split("\n").includes(line), line);
  }
});

test("a counter of money is exact to the nano-dollar, however many amounts it sums and however large it grows", async () => {
  const metrics = createMetrics();
  try {
    const add = metrics.counter("cost_usd_total", "Cost", ["project"]).series("p");
    metrics.counter("lost_usd_total", "Lost", []).series()(0.25);
    metrics.counter("named_usd_total", "Named", ["name"]).series('w"e\\b')(2);
    const text = await metrics.text();
    for (const line of [
      "# TYPE lost_usd_total counter",
      "lost_usd_total 0.25",
      'named_usd_total{name="w\\"e\\\\b"} 2',
    ])
      assert.ok(text.split("\n").includes(line), text);
    // As plain numbers 0.1 ten times is 0.9999999999999999.
    for (let n = 0; n < 10; n++) add(100_000_000 / 1e9);
    assert.match(await metrics.text(), /^cost_usd_total\{project="p"\} 1$/m);
    for (let n = 0; n < 3; n++) add(1 / 1e9);
    assert.match(await metrics.text(), /^cost_usd_total\{project="p"\} 1\.000000003$/m);
    // Beyond 2^53 nano-dollars, where a number can no longer tell a nano-dollar.
    for (let n = 0; n < 20; n++) add(1_000_000);
    assert.match(await metrics.text(), /^cost_usd_total\{project="p"\} 20000001\.000000003$/m);
    for (const amount of [Number.NaN, -1, Number.POSITIVE_INFINITY]) add(amount);
    assert.match(await metrics.text(), /^cost_usd_total\{project="p"\} 20000001\.000000003$/m);
  } finally {
    metrics.close();
  }
});

test("the series of a family are visited with their labels and values, money in USD", () => {
  const metrics = createMetrics();
  metrics.counter("sluice_seen_total", "Seen.", ["by"]).series("a")(2);
  metrics.counter("sluice_seen_total", "Seen.", ["by"]).series("b")(3);
  metrics.counter("sluice_paid_usd_total", "Paid.", ["by"]).series("a")(0.25);
  metrics.histogram("sluice_took_seconds", "Took.", [], [1]).series()(7);
  const visited = (name: string): unknown[] => {
    const found: unknown[] = [];
    metrics.each(name, (labels, value) => found.push([labels["by"], value]));
    return found;
  };
  assert.deepEqual(visited("sluice_seen_total"), [
    ["a", 2],
    ["b", 3],
  ]);
  assert.deepEqual(visited("sluice_paid_usd_total"), [["a", 0.25]]);
  assert.deepEqual(visited("sluice_took_seconds"), [[undefined, 1]]);
  assert.deepEqual(visited("sluice_unknown"), []);
  metrics.close();
});
