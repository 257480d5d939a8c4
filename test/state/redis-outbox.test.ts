/** The outbox of the redis store: order, bound, and what is lost is sent first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Outbox } from "../../src/state/redis/outbox.ts";

test("what was lost is sent again before what came later", () => {
  const outbox = new Outbox<number>(10);
  for (const thing of [1, 2, 3, 4, 5]) outbox.push(thing);
  const [first, second] = [outbox.take(2), outbox.take(2)];
  outbox.lost(second);
  outbox.lost(first);
  assert.deepEqual(outbox.take(9), [1, 2, 3, 4, 5]);
});

test("it holds no more than its bound, whether sent or not, and has room again when there is an answer", () => {
  const outbox = new Outbox<number>(2);
  assert.deepEqual(
    [1, 2, 3].map((thing) => outbox.push(thing)),
    [true, true, false],
  );
  const batch = outbox.take(1);
  assert.equal(outbox.push(4), false);
  outbox.answered(batch);
  assert.equal(outbox.push(4), true);
  assert.deepEqual([outbox.size, outbox.unsent], [2, 2]);
});
