/** What waits for the end of a turn of the loop: in which order it is done, and that one task's bug is its own. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { finishInBatch, flushInBatch, processInBatch } from "../../src/base/batching.ts";

const turn = (): Promise<void> => new Promise((over) => setImmediate(over));

test("work comes first, then what is written, then the rest", async () => {
  const done: string[] = [];
  finishInBatch(() => done.push("log"));
  flushInBatch(() => done.push("write"));
  processInBatch(() => done.push("work"));
  assert.deepEqual(done, []);
  await turn();
  assert.deepEqual(done, ["work", "write", "log"]);
});

test("what work writes and leaves to the end is done in the same turn", async () => {
  const done: string[] = [];
  processInBatch(() => {
    finishInBatch(() => done.push("log"));
    flushInBatch(() => done.push("write"));
  });
  await turn();
  assert.deepEqual(done, ["write", "log"]);
});

test("writes go out in their order, after 64 pieces of work at most", async () => {
  const done: number[] = [];
  const worked: number[] = [];
  let workedAtFirstWrite = 0;
  for (let n = 0; n < 150; n++) {
    processInBatch(() => {
      worked.push(n);
      flushInBatch(() => {
        if (done.length === 0) workedAtFirstWrite = worked.length;
        done.push(n);
      });
    });
  }
  await turn();
  assert.equal(workedAtFirstWrite, 64);
  assert.deepEqual(
    done,
    Array.from({ length: 150 }, (_, n) => n),
  );
});

test("a task that throws is told as an uncaught exception and takes no other with it", async () => {
  const done: string[] = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  try {
    const told = once(process, "uncaughtException");
    processInBatch(() => {
      throw new Error("a bug");
    });
    processInBatch(() => done.push("work"));
    flushInBatch(() => done.push("write"));
    finishInBatch(() => done.push("log"));
    const [thrown] = await told;
    assert.match(String(thrown), /a bug/);
    assert.deepEqual(done, ["work", "write", "log"]);
  } finally {
    for (const listener of listeners) process.on("uncaughtException", listener);
  }
});
