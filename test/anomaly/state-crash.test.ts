/** kill -9 on a real process with real files, eight times; `npm run crash` does it 500 times. */
import assert from "node:assert/strict";
import { verifies } from "../spec/verifies.ts";
import { crashAndLook } from "./crash.ts";

verifies(
  "state.file.crash",
  "after each of eight kills all that was answered is there, and nothing is counted twice",
  async () => {
    assert.ok((await crashAndLook(8, 7)) > 100);
  },
);
