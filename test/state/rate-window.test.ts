/** One window by itself: its growth, and what it does above the limits that it keeps exactly. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RATE_RUNS_MAX, RateWindow } from "../../src/state/rate-window.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/testing/store-claims.ts";

test("a window that grows while it wraps around keeps every call", () => {
  const window = new RateWindow("key", 10);
  const admissions: number[] = [];
  for (let nowMs = 0; nowMs < 500; nowMs += 1) {
    // A limit that rises makes the ring grow at many different positions of its head.
    const limit = 1 + Math.floor(nowMs / 50);
    const counted = admissions.filter((time) => time > nowMs - 10).length;
    const free = window.waitMs(nowMs, limit) === 0;
    assert.equal(free, counted < limit, `at ${nowMs} ms`);
    if (!free) continue;
    window.add(nowMs, limit);
    admissions.push(nowMs);
  }
});

test("calls of one millisecond count one by one", () => {
  const window = new RateWindow("key", MINUTE_MS);
  for (let call = 0; call < 1000; call += 1) window.add(7, 1000);
  assert.equal(window.waitMs(7, 1001), 0);
  assert.equal(window.waitMs(7, 1000), MINUTE_MS);
  assert.equal(window.waitMs(7 + MINUTE_MS, 1), 0);
});

test("a limit above the exact ones admits its whole burst, and rounds by less than a step", () => {
  const limit = RATE_RUNS_MAX + 1;
  const window = new RateWindow("key", HOUR_MS);
  for (let call = 0; call < limit; call += 1) window.add(1000, limit);
  const waitMs = window.waitMs(1000, limit);
  const stepMs = Math.ceil(HOUR_MS / RATE_RUNS_MAX);
  assert.ok(waitMs >= HOUR_MS && waitMs < HOUR_MS + stepMs);
  assert.equal(window.waitMs(1000 + waitMs - 1, limit), 1);
  assert.equal(window.waitMs(1000 + waitMs, limit), 0);
});

test("a limit above the exact ones is exact where a window has no more milliseconds than runs", () => {
  const limit = RATE_RUNS_MAX * 2;
  const window = new RateWindow("key", MINUTE_MS);
  for (let call = 0; call < limit; call += 1) window.add(1234, limit);
  assert.equal(window.waitMs(1234, limit), MINUTE_MS);
});

test("a limit lowered below the rounded ones stays safe with the times rounded before", () => {
  const window = new RateWindow("key", HOUR_MS);
  window.add(1000, RATE_RUNS_MAX * 2);
  const idleAtMs = window.idleAtMs;
  window.add(1001, 5);
  assert.equal(window.idleAtMs, idleAtMs);
  assert.equal(window.waitMs(1001, 5), 0);
  assert.ok(window.waitMs(1000 + HOUR_MS, 2) > 0 && window.waitMs(1100 + HOUR_MS, 1) === 0);
});

test("a limit of none admits none, and says to come back after a window", () => {
  assert.equal(new RateWindow("key", MINUTE_MS).waitMs(5, 0), MINUTE_MS);
});
