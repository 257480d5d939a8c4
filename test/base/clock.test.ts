/** The system's clock when the machine's date is stepped, and the month that money counts in meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK_BEHIND_MS, CLOCK_STEP_MS, systemClock } from "../../src/base/clock.ts";
import { BudgetMonth, MONTH_CONFIRM_MS } from "../../src/base/month.ts";
import type { Clock } from "../../src/plugin/index.ts";

const NOON_MS = Date.UTC(2026, 10, 15, 12);
const DAY_MS = 86_400_000;

interface Machine {
  readonly clock: Clock;
  readonly steps: number[];
  /** Sets its date. */
  step(ms: number): void;
  run(ms: number): void;
}

function machine(): Machine {
  let [wallMs, monotonicMs] = [NOON_MS, 5000];
  const steps: number[] = [];
  const clock = systemClock({
    wallMs: () => wallMs,
    monotonicMs: () => monotonicMs,
    stepped: (byMs) => void steps.push(byMs),
  });
  return {
    clock,
    steps,
    step: (ms) => void (wallMs += ms),
    run(ms) {
      wallMs += ms;
      monotonicMs += ms;
    },
  };
}

test("set back by less than an hour, the time runs slower until the machine has caught up, and never goes back", () => {
  const { clock, steps, step, run } = machine();
  step(-600_000);
  let beforeMs = clock.nowMs();
  for (let minute = 0; minute < 20; minute += 1) {
    run(60_000);
    assert.ok(clock.nowMs() > beforeMs);
    beforeMs = clock.nowMs();
  }
  assert.equal(clock.nowMs(), NOON_MS + 10 * 60_000);
  assert.deepEqual(steps, []);
});

test("set back by more, the time runs on for a minute, follows then, and the step is told once", () => {
  const { clock, steps, step, run } = machine();
  step(-DAY_MS);
  assert.equal(clock.nowMs(), NOON_MS);
  run(CLOCK_BEHIND_MS - 1);
  assert.equal(clock.nowMs(), NOON_MS + CLOCK_BEHIND_MS - 1);
  run(1);
  assert.equal(clock.nowMs(), NOON_MS - DAY_MS + CLOCK_BEHIND_MS);
  assert.deepEqual(steps, [-DAY_MS]);
});

test("set forward, the time follows at once; a step that is taken back leaves nothing", () => {
  const { clock, steps, step, run } = machine();
  step(CLOCK_STEP_MS + 1);
  assert.equal(clock.nowMs(), NOON_MS + CLOCK_STEP_MS + 1);
  step(-CLOCK_STEP_MS - 1);
  clock.nowMs();
  run(CLOCK_BEHIND_MS);
  assert.equal(clock.nowMs(), NOON_MS + CLOCK_BEHIND_MS);
  assert.deepEqual(steps, [CLOCK_STEP_MS + 1, -CLOCK_STEP_MS - 1]);
});

test("the machine's own clock counts from the machine's start in every process", () => {
  const { monotonicMs } = systemClock();
  const nowMs = Number(process.hrtime.bigint()) / 1e6;
  assert.ok(Math.abs(monotonicMs() - nowMs) < 1000);
});

test("a month ends when the clock reaches the next, however long it was not read", () => {
  const month = new BudgetMonth();
  assert.ok(month.turn(NOON_MS, 0));
  assert.equal(month.current, "2026-11");
  assert.ok(month.turn(NOON_MS + 20 * DAY_MS, 20 * DAY_MS));
  assert.equal(month.current, "2026-12");
});

test("a step into the next month begins it only when the clock stays there, and no month comes again", () => {
  const month = new BudgetMonth();
  month.turn(NOON_MS, 0);
  assert.ok(!month.turn(NOON_MS + 40 * DAY_MS, 1000));
  assert.ok(!month.turn(NOON_MS + 40 * DAY_MS, MONTH_CONFIRM_MS + 999));
  assert.ok(!month.turn(NOON_MS, MONTH_CONFIRM_MS + 1000), "taken back");
  assert.ok(!month.turn(NOON_MS + 40 * DAY_MS, MONTH_CONFIRM_MS + 1000), "and stepped again");
  assert.equal(month.current, "2026-11");
  assert.ok(month.turn(NOON_MS + 40 * DAY_MS, 2 * MONTH_CONFIRM_MS + 1000));
  assert.equal(month.current, "2026-12");
  assert.ok(!month.turn(NOON_MS, 3 * MONTH_CONFIRM_MS));
  assert.equal(month.current, "2026-12");
});
