/** Many deadlines on one timer: each is met at its own moment, however they move. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Dated, Deadlines } from "../../src/net/deadlines.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

class Item implements Dated {
  watchIndex = 0;
  atMs: number;
  expiredAtMs: number | undefined;
  readonly #deadlines: Deadlines;

  constructor(deadlines: Deadlines, atMs: number) {
    this.#deadlines = deadlines;
    this.atMs = atMs;
    deadlines.add(this);
  }

  dueMs(): number {
    return this.atMs;
  }

  expire(): void {
    this.expiredAtMs = this.#deadlines.clock.monotonicMs();
    this.#deadlines.delete(this);
  }
}

test("each expires at its own time, on one timer", () => {
  const clock = virtualClock();
  const deadlines = new Deadlines(clock);
  const items = [500, 100, 300, 100, Number.POSITIVE_INFINITY].map((ms) => new Item(deadlines, ms));
  assert.equal(clock.pendingTimers(), 1);
  clock.advance(1_000);
  assert.deepEqual(
    items.map((item) => item.expiredAtMs),
    [500, 100, 300, 100, undefined],
  );
  assert.equal(clock.pendingTimers(), 0);
});

test("without anything to watch there is no timer", () => {
  const clock = virtualClock();
  const deadlines = new Deadlines(clock);
  const item = new Item(deadlines, 500);
  deadlines.delete(item);
  assert.equal(clock.pendingTimers(), 0);
});

test("a time further away than any timer can wait is still met", () => {
  const clock = virtualClock();
  const item = new Item(new Deadlines(clock), 2 ** 33);
  clock.advance(2 ** 33 - 1);
  assert.equal(item.expiredAtMs, undefined);
  clock.advance(1);
  assert.equal(item.expiredAtMs, 2 ** 33);
});

const step = fc.record({
  what: fc.constantFrom("add", "later", "earlier", "drop"),
  item: fc.nat({ max: 20 }),
  byMs: fc.integer({ min: 1, max: 50 }),
  passMs: fc.nat({ max: 30 }),
});

test("whatever is added, moved and dropped, nothing expires early, late or twice", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const clock = virtualClock();
      const deadlines = new Deadlines(clock);
      const live: Item[] = [];
      const all: Item[] = [];
      for (const { what, item, byMs, passMs } of steps) {
        const chosen = live[item];
        const nowMs = clock.monotonicMs();
        if (what === "add") {
          const added = new Item(deadlines, nowMs + byMs);
          live.push(added);
          all.push(added);
        } else if (chosen !== undefined) {
          if (what === "later") chosen.atMs += byMs;
          else if (what === "earlier")
            deadlines.noLaterThan((chosen.atMs = Math.max(nowMs, chosen.atMs - byMs)));
          else deadlines.delete(chosen);
          if (what === "drop") live.splice(item, 1);
        }
        clock.advance(passMs);
        for (const gone of live.filter((each) => each.atMs <= clock.monotonicMs())) {
          assert.equal(gone.expiredAtMs, gone.atMs);
          live.splice(live.indexOf(gone), 1);
        }
        for (const each of live) assert.equal(each.expiredAtMs, undefined);
        assert.ok(clock.pendingTimers() <= 1);
      }
      clock.advance(10_000);
      for (const each of live) assert.equal(each.expiredAtMs, each.atMs);
      assert.equal(clock.pendingTimers(), 0);
    }),
  );
});
