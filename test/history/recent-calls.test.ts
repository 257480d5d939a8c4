/** The ring of recent calls: which ones it keeps, and how they are read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Kept, RecentCalls } from "../../src/history/recent-calls.ts";

const call = (sequence: number, projectUuid: string): Kept => ({
  sequence,
  projectUuid,
  requestId: `r${sequence}`,
});
const sequences = (calls: RecentCalls<Kept>, before?: number): number[] =>
  [...calls.newestFirst(before)].map(({ sequence }) => sequence);

test("each project keeps its last calls, whatever the others do", () => {
  const calls = new RecentCalls<Kept>({ keep: 3 });
  calls.add(call(1, "quiet"));
  for (let n = 2; n <= 100; n++) calls.add(call(n, "busy"));
  assert.deepEqual(sequences(calls), [100, 99, 98, 1]);
  assert.equal(calls.find("r1")?.projectUuid, "quiet");
  assert.equal(calls.find("r50"), undefined);
});

test("a page begins where the one before ended", () => {
  const calls = new RecentCalls<Kept>({ keep: 10 });
  for (let n = 1; n <= 6; n++) calls.add(call(n, "p"));
  assert.deepEqual(sequences(calls, 4), [3, 2, 1]);
});

test("with keep 0 nothing is kept, and who watches still sees each call", () => {
  const calls = new RecentCalls<Kept>({ keep: 0 });
  const seen: number[] = [];
  const stop = calls.watch(({ sequence }) => seen.push(sequence));
  calls.add(call(1, "p"));
  stop();
  calls.add(call(2, "p"));
  assert.deepEqual([seen, sequences(calls), calls.size], [[1], [], 0]);
});

test("whatever comes, it holds the newest of each project and of all: as a plain list would", () => {
  const projects = fc.constantFrom("a", "b", "c", "d");
  const steps = fc.array(fc.oneof({ weight: 20, arbitrary: projects }, fc.integer({ min: 0, max: 6 })), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 12 }), (all, max) => {
      let keep = 4;
      const calls = new RecentCalls<Kept>({ keep, max });
      let model: Kept[] = [];
      const bound = (): void => {
        const counts = new Map<string, number>();
        model = model
          .toReversed()
          .filter(({ projectUuid }) => {
            const count = (counts.get(projectUuid) ?? 0) + 1;
            counts.set(projectUuid, count);
            return count <= keep;
          })
          .toReversed();
      };
      for (const [n, step] of all.entries()) {
        if (typeof step === "number") calls.keep((keep = step));
        else {
          calls.add(call(n, step));
          if (keep > 0) model.push(call(n, step));
        }
        bound();
        if (model.length > max) model.shift();
      }
      assert.deepEqual(sequences(calls), model.map(({ sequence }) => sequence).reverse());
      assert.equal(calls.size, model.length);
    }),
  );
});
