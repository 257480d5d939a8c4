/** Pieces of bodies: whole until they are written, and held no longer. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import { handOver } from "../../../src/surfaces/proxy/upload.ts";

/** Takes pieces when the test says so. */
function reluctant() {
  const pending: (() => void)[] = [];
  const taken: string[] = [];
  const to = new Writable({
    highWaterMark: 10_000,
    write(part: Buffer, _encoding, done) {
      pending.push(() => {
        taken.push(part.toString());
        done();
      });
    },
  });
  const take = async (): Promise<void> => {
    pending.shift()?.();
    await new Promise(setImmediate);
  };
  return { to, taken, take };
}

test("a piece is whole until it is written, and empty afterwards", async () => {
  const { to, taken, take } = reluctant();
  const [one, two] = [Buffer.alloc(8_000, "1"), Buffer.alloc(8_000, "2")];
  assert.equal(handOver(one, to), true);
  assert.equal(handOver(two, to), false);
  await take();
  assert.deepEqual([one.length, two.length], [0, 8_000]);
  await take();
  assert.equal(two.length, 0);
  assert.deepEqual(taken, ["1".repeat(8_000), "2".repeat(8_000)]);
});

test("a piece of a larger buffer is left alone, and so is a small one", async () => {
  const { to, take } = reluctant();
  const whole = Buffer.alloc(16_000, "x");
  const small = Buffer.alloc(100, "x");
  handOver(whole.subarray(0, 8_000), to);
  handOver(small, to);
  await take();
  await take();
  assert.deepEqual([whole.length, small.length], [16_000, 100]);
});

test("a piece that could not be written is left to the collector", async () => {
  const part = Buffer.alloc(8_000, "x");
  const to = new Writable({ write: (_part, _encoding, done) => done(new Error("gone")) });
  to.on("error", () => {});
  handOver(part, to);
  await new Promise(setImmediate);
  assert.equal(part.length, 8_000);
});
