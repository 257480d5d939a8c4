/** Time series of calls: what is counted, how long it is kept, and how it is read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketOf, type CountedCall, quantileMs, REASONS, reasonOf } from "../../src/history/cells.ts";
import { CELLS_MAX, HOUR_MS, MINUTE_MS, type Series, SeriesStore } from "../../src/history/series.ts";
import { reject } from "../../src/plugin/index.ts";

const NOON = Date.UTC(2026, 10, 22, 12);
const DAY_MS = 24 * HOUR_MS;

function done(durationMs: number, costNanoUsd = 0): CountedCall {
  const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
  return { outcome: "done", error: undefined, usage, costNanoUsd, durationMs, firstByteMs: durationMs / 2 };
}

function count(store: SeriesStore, series: Series | undefined, nowMs: number, call = done(100, 7)): void {
  const { error, durationMs, firstByteMs } = call;
  const reason = error === undefined ? -1 : REASONS.indexOf(reasonOf(error, false));
  const firstByte = firstByteMs === undefined ? -1 : bucketOf(firstByteMs);
  store.count([series], call, { nowMs, reason, duration: bucketOf(durationMs), firstByte });
}

const callsAt = (
  store: SeriesStore,
  series: Series,
  range: Parameters<SeriesStore["points"]>[1],
  nowMs: number,
) => store.points(series, range, nowMs).map(({ atMs, totals }) => [atMs, totals.calls]);

test("calls are counted by minute, and read in steps", () => {
  const store = new SeriesStore();
  const series = store.of("endpoint", "p", "a");
  assert.ok(series);
  for (const minute of [0, 0, 1, 7]) count(store, series, NOON + minute * MINUTE_MS);
  const range = { fromMs: NOON - HOUR_MS, toMs: NOON + HOUR_MS };
  const nowMs = NOON + 8 * MINUTE_MS;
  assert.deepEqual(callsAt(store, series, { ...range, stepMs: MINUTE_MS }, nowMs), [
    [NOON, 2],
    [NOON + MINUTE_MS, 1],
    [NOON + 7 * MINUTE_MS, 1],
  ]);
  assert.deepEqual(callsAt(store, series, { ...range, stepMs: 5 * MINUTE_MS }, nowMs), [
    [NOON, 3],
    [NOON + 5 * MINUTE_MS, 1],
  ]);
  const [point] = store.points(series, { ...range, stepMs: HOUR_MS }, nowMs);
  assert.equal(point?.totals.calls, 4);
  assert.equal(point?.totals.cost_nano_usd, 28);
  assert.equal(point?.totals.prompt_tokens, 40);
});

test("minutes are kept for a day and hours for 32, and no call is counted twice where they meet", () => {
  const store = new SeriesStore();
  const series = store.of("all");
  assert.ok(series);
  const hours = 40 * 24;
  for (let hour = 0; hour < hours; hour++) count(store, series, NOON + hour * HOUR_MS + 30 * MINUTE_MS);
  const nowMs = NOON + (hours - 1) * HOUR_MS + 45 * MINUTE_MS;
  const all = { fromMs: 0, toMs: nowMs + DAY_MS };
  for (const stepMs of [MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, DAY_MS]) {
    const total = callsAt(store, series, { ...all, stepMs }, nowMs).reduce(
      (sum, [, calls = 0]) => sum + calls,
      0,
    );
    assert.ok(total >= 32 * 24 && total <= 32 * 24 + 2, `${total} calls of 32 days in steps of ${stepMs} ms`);
  }
  const day = callsAt(store, series, { fromMs: nowMs - DAY_MS / 2, toMs: nowMs, stepMs: MINUTE_MS }, nowMs);
  assert.equal(day.length, 12);
});

test("a refusal is counted under its reason", () => {
  const store = new SeriesStore();
  const series = store.of("all");
  assert.ok(series);
  const refused = { ...done(1), outcome: "refused", usage: undefined, firstByteMs: undefined } as const;
  count(store, series, NOON, { ...refused, error: reject("token_invalid", {}) });
  count(store, series, NOON, { ...refused, outcome: "failed", error: reject("internal", {}) });
  const [point] = store.points(series, { fromMs: NOON, toMs: NOON + 1, stepMs: MINUTE_MS }, NOON);
  assert.deepEqual(
    [point?.totals.reasons.auth, point?.totals.reasons.internal, point?.totals.failed],
    [1, 1, 1],
  );
});

test("a quantile is within its bucket, a factor of 1.42 at most", () => {
  const store = new SeriesStore();
  const series = store.of("all");
  assert.ok(series);
  for (let ms = 1; ms <= 1000; ms++) count(store, series, NOON, done(ms));
  const [point] = store.points(series, { fromMs: NOON, toMs: NOON + 1, stepMs: MINUTE_MS }, NOON);
  for (const share of [0.5, 0.9, 0.99]) {
    const ms = quantileMs(point?.totals.duration ?? [], share) ?? 0;
    assert.ok(ms > (share * 1000) / 1.42 && ms < share * 1000 * 1.42, `${share}: ${ms}`);
  }
  assert.equal(quantileMs([], 0.5), undefined);
});

test("hours are restored as they were kept, and calls go on being counted", () => {
  const [before, after] = [new SeriesStore(), new SeriesStore()];
  const series = before.of("endpoint", "p", "a");
  for (let minute = 0; minute < 90; minute++) count(before, series, NOON + minute * MINUTE_MS);
  for (const [hour, rows] of before.packedHours(0)) after.restore(hour, JSON.parse(JSON.stringify(rows)));
  const restored = after.of("endpoint", "p", "a");
  assert.ok(series && restored);
  const nowMs = NOON + 3 * HOUR_MS;
  count(after, restored, nowMs);
  const hourly = callsAt(after, restored, { fromMs: 0, toMs: nowMs + 1, stepMs: HOUR_MS }, nowMs);
  // The last minute before the restart had not been added to its hour.
  assert.deepEqual(hourly, [
    [NOON, 60],
    [NOON + HOUR_MS, 29],
    [nowMs, 1],
  ]);
});

test("all series together are bounded: the oldest minutes go first", () => {
  const store = new SeriesStore();
  const all = Array.from({ length: 2_000 }, (_, n) => store.of("endpoint", "p", String(n)));
  for (let minute = 0; minute < 80; minute++) {
    const nowMs = NOON + minute * MINUTE_MS;
    const call = done(5);
    store.count(all, call, { nowMs, reason: -1, duration: 0, firstByte: 0 });
  }
  assert.ok(store.cells <= CELLS_MAX + 2 * all.length, `${store.cells} cells`);
  const [series] = all;
  assert.ok(series);
  const nowMs = NOON + 79 * MINUTE_MS;
  const kept = callsAt(store, series, { fromMs: 0, toMs: nowMs + 1, stepMs: MINUTE_MS }, nowMs);
  assert.equal(kept.at(-1)?.[0], nowMs);
  assert.ok(kept.length < 80);
});
