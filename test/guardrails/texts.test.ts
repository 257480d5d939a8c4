/** What of a call guardrails are shown, and where their edits go: parts, results of tools, arguments of tool calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import pii from "../../plugins/pii/index.ts";
import { guardrailHooks } from "../../src/guardrails/guardrail.ts";
import { readJsonText } from "../../src/guardrails/json-text.ts";
import type { ChatResult, Guardrail, Hooks, Message } from "../../src/plugin/index.ts";
import { isGatewayError } from "../../src/plugin/index.ts";
import { testExchange, testHost } from "../../src/testing/test-host.ts";
import { growth } from "../plugins/guardrail-kit.ts";

function hooksOf(guardrail: Guardrail): Hooks {
  const { clock, log } = testHost();
  const use = {
    on: ["input", "output"],
    on_error: "block",
    timeout_ms: 1000,
    shadow: false,
    isolate: false,
  } as const;
  return guardrailHooks({ name: "guard", guardrail, use, clock, log });
}

// It is set up without a promise.
const masking = hooksOf(pii.setup({ mode: "mask" }, testHost()) as Guardrail);
const call = (json: string) => ({ id: "call_1", name: "send", arguments: json });

test("every text of every message is judged: parts, results of tools, arguments", async () => {
  const received: readonly Message[] = [
    {
      role: "user",
      content: [
        { type: "text", text: "I am ada@mail.example.org" },
        { type: "image", url: "https://example.org/a.png" },
        { type: "text", text: "at 203.0.113.77" },
      ],
    },
    { role: "assistant", content: "", toolCalls: [call("{}"), call('{"to":"bob@mail.example.org"}')] },
    { role: "tool", toolCallId: "call_1", content: "sent to bob@mail.example.org" },
  ];
  const x = testExchange({ received });
  assert.equal(await masking.request?.(x), undefined);
  assert.deepEqual(x.messages, [
    {
      role: "user",
      content: [
        { type: "text", text: "I am [EMAIL]" },
        { type: "image", url: "https://example.org/a.png" },
        { type: "text", text: "at [IP_ADDRESS]" },
      ],
    },
    { role: "assistant", content: "", toolCalls: [call("{}"), call('{"to":"[EMAIL]"}')] },
    { role: "tool", toolCallId: "call_1", content: "sent to [EMAIL]" },
  ]);
  assert.deepEqual(x.received, received, "what the client sent stays as it was");
});

test("an answer's tool calls are judged with its text", async () => {
  const result: ChatResult = {
    id: "1",
    model: "m",
    content: "Writing to ada@mail.example.org.",
    toolCalls: [call('{"a":[1,"203.0.113.77"]}'), call("{}")],
    finishReason: "tool_calls",
  };
  const guarded = await masking.response?.(testExchange(), result);
  assert.ok(guarded !== undefined && !isGatewayError(guarded));
  assert.equal(guarded.content, "Writing to [EMAIL].");
  assert.deepEqual(guarded.toolCalls, [call('{"a":[1,"[IP_ADDRESS]"]}'), call("{}")]);
  const plain = { ...result, content: "Writing.", toolCalls: [call("{}")] };
  assert.equal(await masking.response?.(testExchange(), plain), plain);
});

test("an asynchronous guardrail sees the same texts in the same order", async () => {
  const texts: string[] = [];
  const slow = hooksOf({
    async judge(text) {
      texts.push(text);
      return undefined;
    },
  });
  const received: readonly Message[] = [
    { role: "assistant", content: "one", toolCalls: [call('{"two":3}'), call("four")] },
    { role: "tool", content: [{ type: "text", text: "five" }] },
  ];
  await slow.request?.(testExchange({ received }));
  assert.deepEqual(texts, ["one", "two: 3\n", "four", "five"]);
});

test("arguments are judged as what they say, not as they are escaped", () => {
  assert.equal(
    readJsonText('{"a":"l\\u00e9 \\"x\\"\\n","b":[true,null,-1.5e3,{"c":""}]}').text,
    'a: lé "x"\n\nb: -1.5e3\nc: \n',
  );
  assert.equal(readJsonText("not json").text, "not json");
  assert.equal(readJsonText('"\\\\"').text, "\\\n");
});

test("reading arguments takes time in proportion to their length", () => {
  for (const unit of ["\\\\", '\\"', "a", "1"]) {
    assert.ok(growth(unit, (text) => readJsonText(`["${text}"]`).text) < 6, unit);
  }
  for (const unit of ["1,", '"a",', '{"a":1},']) {
    assert.ok(growth(unit, (text) => readJsonText(`[${text}0]`).text) < 6, unit);
  }
});

test("edits keep arguments JSON of the same shape, whatever they cover", () => {
  let editedTexts = 0;
  fc.assert(
    fc.property(fc.json(), fc.array(fc.nat(400), { maxLength: 8 }), (json, places) => {
      const read = readJsonText(json);
      const ends = [...new Set(places.map((place) => place % (read.text.length + 1)))].sort((a, b) => a - b);
      const edits = ends.flatMap((start, n) =>
        n % 2 === 0 && ends[n + 1] !== undefined ? [{ start, end: ends[n + 1] ?? start, text: "#" }] : [],
      );
      const after = JSON.parse(read.withEdits(edits));
      assert.deepEqual(shapeOf(after), shapeOf(JSON.parse(json)));
      if (read.withEdits(edits) === json) return;
      assert.ok(edits.length > 0);
      editedTexts++;
    }),
    { numRuns: 500 },
  );
  assert.ok(editedTexts >= 200, `only ${editedTexts} of 500 texts were edited`);
});

/** Nesting and lengths: keys may be edited (and then meet), values become texts. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  return typeof value === "object" && value !== null ? "map" : "leaf";
}
