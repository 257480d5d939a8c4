/** Two seconds of the reload storm; `npm run storm` has thirty, and looks at memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { storm } from "./storm.ts";

test("ten reloads a second, every third one broken, fail no call and leave no generation behind", async () => {
  const { calls, streams, failures, reloads, applied, refused, ...left } = await storm(2);
  assert.deepEqual(failures, []);
  assert.deepEqual([reloads, applied, refused], [20, 14, 6]);
  assert.ok(calls >= 6 && streams >= 4, "there was a load");
  const { generations, instances, generationsLeft, instancesLeft } = left;
  assert.deepEqual([generations, instances], [1, 1], "one configuration is in use");
  assert.deepEqual([generationsLeft, instancesLeft], [0, 0], "and none after the stop");
});
