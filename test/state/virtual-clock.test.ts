/** The clock that the other tests turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

test("it stands still until it is turned, and both its faces move together", () => {
  const clock = virtualClock(1000);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [1000, 0]);
  clock.advance(2.5);
  assert.deepEqual([clock.nowMs(), clock.monotonicMs()], [1002, 2.5]);
});

test("timers run in the order they are due, each at its own time, equal ones as they were set", () => {
  const clock = virtualClock(0);
  const ran: string[] = [];
  const note = (name: string) => () => ran.push(`${name} at ${clock.nowMs()}`);
  clock.after(30, note("late"));
  clock.after(10, note("early"));
  clock.after(10, note("early too"));
  clock.after(31, note("never"));
  clock.advance(30);
  assert.deepEqual(ran, ["early at 10", "early too at 10", "late at 30"]);
  assert.equal(clock.pendingTimers(), 1);
});

test("a timer set by a timer runs in the same turn when it is due in it", () => {
  const clock = virtualClock(0);
  const ranAtMs: number[] = [];
  const tick = (): void => {
    ranAtMs.push(clock.nowMs());
    clock.after(10, tick);
  };
  clock.after(10, tick);
  clock.advance(35);
  assert.deepEqual(ranAtMs, [10, 20, 30]);
});

test("a cancelled timer does not run, also when another timer cancels it", () => {
  const clock = virtualClock();
  let ran = 0;
  const first = clock.after(1, () => second.cancel());
  const second = clock.after(1, () => {
    ran += 1;
  });
  clock.advance(1);
  first.cancel();
  assert.deepEqual([ran, clock.pendingTimers()], [0, 0]);
});

test("a timer without delay runs at the next turn, not when it is set", () => {
  const clock = virtualClock();
  let ran = 0;
  clock.after(0, () => {
    ran += 1;
  });
  assert.equal(ran, 0);
  clock.advance(0);
  assert.equal(ran, 1);
});

test("time does not go back, and a timer that sets itself again without delay is caught", () => {
  const clock = virtualClock();
  assert.throws(() => clock.advance(-1), RangeError);
  assert.throws(() => clock.advance(Number.NaN), RangeError);
  const again = (): void => {
    clock.after(0, again);
  };
  again();
  assert.throws(() => clock.advance(0), /timers ran in one advance/);
});
