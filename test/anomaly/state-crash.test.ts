/** kill -9 on a real process with real files, a dozen times; `npm run crash` does it 500 times. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crashAndLook } from "./crash.ts";

test("after each of a dozen kills all that was answered is there, and nothing is counted twice", async () => {
  assert.ok((await crashAndLook(12, 7)) > 100);
});
