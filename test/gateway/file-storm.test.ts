/** A few swaps of the storm of changing files; `npm run storm` has the whole of it, with git checkouts and plugins. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { configMapStorm } from "./file-storm.ts";

test("a ConfigMap that is swapped ten times a second mixes no answer, fails no call and delays no revocation", async () => {
  const { calls, mixed, revocations, failures } = await configMapStorm({ seconds: 2 });
  assert.deepEqual(failures, []);
  assert.equal(mixed, 0);
  assert.ok(calls > 0 && revocations > 0, "there was a load");
});
