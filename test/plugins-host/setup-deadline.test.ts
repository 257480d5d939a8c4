/** The deadline of `setup`: what is late is refused, and closed when it comes after all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SETUP_TIMEOUT_MS, withSetupDeadline } from "../../src/plugins-host/instances.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

test("an instance that arrives after the deadline is closed, and a failing close harms nothing", async () => {
  const clock = virtualClock();
  const closed: string[] = [];
  const deliver: ((value: string) => void)[] = [];
  const made = ["polite", "rude"].map((name) =>
    withSetupDeadline(clock, new Promise<string>((resolve) => deliver.push(() => resolve(name))), (value) => {
      closed.push(value);
      if (value === "rude") throw new Error("no");
    }),
  );
  const outcomes = Promise.allSettled(made);
  clock.advance(SETUP_TIMEOUT_MS);
  for (const { status } of await outcomes) assert.equal(status, "rejected");
  for (const settle of deliver) settle("");
  await new Promise(setImmediate);
  assert.deepEqual(closed, ["polite", "rude"]);
  assert.equal(clock.pendingTimers(), 0);
});

test("what is made at once stays synchronous, and what is in time keeps no timer", async () => {
  const clock = virtualClock();
  assert.equal(
    withSetupDeadline(clock, 7, () => {}),
    7,
  );
  assert.equal(await withSetupDeadline(clock, Promise.resolve(8), () => {}), 8);
  await assert.rejects(
    async () => withSetupDeadline(clock, Promise.reject(new Error("down")), () => {}),
    /down/,
  );
  assert.equal(clock.pendingTimers(), 0);
});
