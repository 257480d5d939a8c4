/** The event-loop delay that metrics and the admin API show. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LoopDelay, RESOLUTION_MS } from "../../src/telemetry/loop-delay.ts";

test("the delay is what exceeds the sampling interval, since the last time it was taken", () => {
  let milliseconds = Number.NaN;
  let resets = 0;
  const loop = new LoopDelay({
    enable: () => true,
    disable: () => true,
    percentile: (percent) => (percent === 99 ? milliseconds * 1e6 : 0),
    reset: () => void resets++,
  });
  assert.equal(loop.takeP99Ms(), 0, "nothing was measured yet");
  milliseconds = RESOLUTION_MS - 0.1;
  assert.equal(loop.takeP99Ms(), 0);
  milliseconds = RESOLUTION_MS + 70;
  assert.equal(loop.takeP99Ms(), 70);
  assert.equal(resets, 3);
});

test("Node's own histogram shows a loop that was blocked", async () => {
  const loop = new LoopDelay();
  await new Promise((resolve) => setTimeout(resolve, 2 * RESOLUTION_MS));
  const untilMs = performance.now() + 4 * RESOLUTION_MS;
  while (performance.now() < untilMs);
  await new Promise((resolve) => setTimeout(resolve, 2 * RESOLUTION_MS));
  assert.ok(loop.takeP99Ms() >= 2 * RESOLUTION_MS);
  loop.close();
});
