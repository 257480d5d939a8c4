/** Rates and totals from counters, sampled as the overload monitor asks for it. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { Traffic } from "../../src/telemetry/traffic.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

function open(t: TestContext, startMs: number) {
  const clock = virtualClock(startMs);
  const metrics = createMetrics();
  const traffic = new Traffic({ clock, metrics });
  t.after(() => {
    traffic.close();
    metrics.close();
  });
  const calls = metrics.counter("sluice_calls_total", "Calls.", ["project", "endpoint", "status"]);
  return { clock, traffic, call: (status: number) => calls.series("p", "e", String(status))(1) };
}

test("steady traffic has its rate, however often it is looked at", (t) => {
  const { clock, traffic, call } = open(t, Date.UTC(2026, 4, 14));
  for (let second = 0; second < 300; second++) {
    for (let n = 0; n < 4; n++) call(n === 0 ? 502 : 200);
    clock.advance(1000);
    traffic.sample(false);
    const { callsPerSecond, errorsPerSecond } = traffic.view();
    assert.deepEqual([callsPerSecond, errorsPerSecond], [4, 1], `after ${second + 1} s`);
  }
  assert.equal(traffic.view().today.calls, 1200);
});

test("calls after a long time without any are spread over the window, not over that time", (t) => {
  const { clock, traffic, call } = open(t, Date.UTC(2026, 4, 14));
  clock.advance(3_600_000);
  for (let n = 0; n < 30; n++) call(429);
  clock.advance(500);
  traffic.sample(true);
  const { callsPerSecond, refusalsPerSecond, windowSeconds } = traffic.view();
  assert.deepEqual([callsPerSecond, refusalsPerSecond, windowSeconds], [0.5, 0.5, 60]);
  clock.advance(61_000);
  assert.equal(traffic.view().callsPerSecond, 0);
});

test("totals of a day and of a month begin at their first moment in UTC", (t) => {
  const { clock, traffic, call } = open(t, Date.UTC(2026, 4, 31, 23, 0));
  call(200);
  traffic.sample(true);
  clock.advance(2 * 3_600_000);
  call(200);
  call(200);
  traffic.sample(true);
  const { today, month } = traffic.view();
  assert.deepEqual([today.calls, month.calls], [2, 2]);
  assert.deepEqual([today.sinceMs, month.sinceMs], [Date.UTC(2026, 5, 1), Date.UTC(2026, 5, 1)]);
  clock.advance(24 * 3_600_000);
  const next = traffic.view();
  assert.deepEqual([next.today.calls, next.month.calls], [0, 2]);
});
