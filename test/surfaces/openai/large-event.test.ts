/** One event of a stream that is as large as tool calls and images can be. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sseAnswer } from "../../../src/testing/fake-upstream.ts";
import { textOf } from "../../spec/kit/event-stream.ts";
import { chunk } from "../../spec/kit/provider.ts";
import { startWrapper } from "./kit.ts";

test("an event of 3 MB reaches the client of the wrapper and of the chat endpoint", async (t) => {
  const g = await startWrapper(t);
  const text = "tide ".repeat(600_000);
  g.provider.answer(sseAnswer([chunk({ content: text }), chunk({}, "stop"), "[DONE]"]));
  const events = await (await g.asStream()).rest();
  assert.equal(events.at(-1), "[DONE]");
  assert.equal(textOf(events).length, text.length);
  g.provider.answer(
    sseAnswer([chunk({ content: "x".repeat(17 * 1024 * 1024) }), chunk({}, "stop"), "[DONE]"]),
  );
  const failed = await g.asStream();
  await failed.rest();
  assert.match(failed.remainder, /an event of the answer is too large/);
});
