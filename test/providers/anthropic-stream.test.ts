/** Anthropic's streams without a wire: blocks that open and close, and texts that are read without reading the rest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { anthropic } from "../../providers/anthropic.ts";
import type { ChatChunk } from "../../src/plugin/index.ts";
import { PlainEvents } from "../../src/provider-kit/index.ts";
import { args, blockStart, blockStop, boil, delta, end, say, start } from "./anthropic-events.ts";
import { brief, countingHost, formatOf, streamOf } from "./chat-format.ts";

const format = await formatOf(anthropic.setup({}, countingHost()));

/** Chunks but those that only count: before the end they say what an answer that is aborted has cost. */
function told(chunks: readonly ChatChunk[]): ChatChunk[] {
  return chunks.filter(({ usage, finishReason }) => usage === undefined || finishReason !== undefined);
}

/** Texts of the arguments that a stream tells, in pieces as they came. */
function argumentsIn(events: readonly object[]): string[] {
  const { chunks } = streamOf(format, events);
  return chunks.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.arguments));
}

test("a stream is its text deltas; message_stop completes it, and what is unknown is passed over", () => {
  const events = [
    start(),
    { type: "ping" },
    blockStart(0, { type: "thinking", thinking: "", signature: "" }),
    delta(0, { type: "thinking_delta", thinking: "Water" }),
    delta(0, { type: "signature_delta", signature: "c2ln" }),
    blockStop(0),
    blockStart(1, { type: "text", text: "" }),
    say("Hot ", 1),
    delta(1, { type: "brand_new_delta", text: "?" }),
    { type: "brand_new", text: "?" },
    say("tea", 1),
    say(".", 1),
    blockStop(1),
  ];
  const [stopped, over] = end("end_turn");
  assert.equal(streamOf(format, [...events, stopped]).complete, false);
  const { chunks, complete } = streamOf(format, [...events, stopped, over, say("late"), over]);
  assert.equal(complete, true);
  assert.deepEqual(told(chunks).map(brief), [
    ["Hot ", undefined, undefined, false],
    ["tea", undefined, undefined, false],
    [".", undefined, undefined, false],
    ["", "stop", "end_turn", false],
  ]);
});

test("the usage so far is told with the start and after each thought, and costs no content", () => {
  const thought = (index: number, thinking: string): object[] => [
    blockStart(index, { type: "thinking", thinking: "" }),
    delta(index, { type: "thinking_delta", thinking }),
    blockStop(index),
  ];
  const usage = { input_tokens: 7, cache_read_input_tokens: 90, output_tokens: 1 };
  const events = [
    start({ usage }),
    ...thought(0, "x".repeat(40)),
    ...thought(1, "y".repeat(21)),
    say("Tea."),
  ];
  const { chunks } = streamOf(format, events);
  const counts = chunks.flatMap(({ usage: so }) =>
    so === undefined ? [] : [[so.promptTokens, so.completionTokens, so.reasoningTokens]],
  );
  // 40 characters are 10 tokens, 61 are 16.
  assert.deepEqual(counts, [
    [97, 1, 0],
    [97, 10, 10],
    [97, 16, 16],
  ]);
  assert.deepEqual(told(chunks).map(brief), [["Tea.", undefined, undefined, false]]);
  assert.equal(streamOf(format, [start({ usage: undefined }), say("Tea.")]).chunks.length, 1);
});

test("events are told apart by name where they say no type", () => {
  const decoder = format.decoder();
  const names = ["message_start", "content_block_delta", "message_delta", "message_stop"];
  const events = [start(), say("Tea."), ...end("end_turn")];
  const chunks: ChatChunk[] = [];
  events.forEach((event, n) => {
    const { type: _, ...rest } = { type: "", ...event };
    decoder.event(names[n] ?? "", JSON.stringify(rest), chunks);
  });
  assert.deepEqual([decoder.id, decoder.model, decoder.complete], ["msg_1", "claude-tea-1", true]);
  assert.deepEqual(
    told(chunks).map(({ text }) => text),
    ["Tea.", ""],
  );
});

test("texts are read right whatever they hold and however their events are padded", () => {
  const texts = ["a", "", '"}}\\', "é\u2028🫖", '"},"x":{"y":"', "}  }", "b", "\u0007probe", "c"];
  const padded = texts.map((text, n) => {
    const event = JSON.stringify(say(text));
    return `${event.slice(0, -1)}${" ".repeat((n * 7) % 5)}}`;
  });
  const { chunks } = streamOf(format, [start(), ...padded, ...end("end_turn")]);
  assert.deepEqual(
    told(chunks)
      .slice(0, -1)
      .map(({ text }) => text),
    texts.filter((text) => text !== ""),
  );
});

test("once a text was read, those of the same shape are read without the rest, however padded", () => {
  const plain = new PlainEvents();
  const first = '{"say":{"text":"a"}}';
  assert.equal(plain.textOf(first), undefined);
  plain.learn(first, "a", (event) => JSON.parse(event).say.text);
  for (const event of [first, '{"say":{"text":"a"}   }']) assert.equal(plain.textOf(event), "a");
  for (const event of ['{"say": {"text":"a"}}', '{"say":{"text":"a"}}}}', '{"say":{"text":7}}', "{}", ""]) {
    assert.equal(plain.textOf(event), undefined, event);
  }
});

test("an event that only begins like a text is not taken for one", () => {
  const head = JSON.stringify(say("x")).slice(0, -5);
  const events = [
    start(),
    say("a"),
    say("b"),
    `${head}"c","type":"brand_new_delta"}}`,
    `${head}"d","more":1} }`,
    say("e"),
    say("f", 1),
    `${head}"g"}, "error":{"message":"too hot"}}`,
  ];
  const { chunks, failed } = streamOf(format, events);
  assert.deepEqual(
    told(chunks).map(({ text }) => text),
    ["a", "b", "d", "e", "f"],
  );
  assert.equal(failed?.reason, "too hot");
});

test("usage is the last that was told; a count that is left out or null still holds", () => {
  const cached = { input_tokens: 7, cache_read_input_tokens: 90, cache_creation_input_tokens: 3 };
  const usageAfter = (started: object, ended: object): unknown => {
    const events = [start({ usage: started }), say("Tea."), ...end("end_turn", ended)];
    const { promptTokens, completionTokens, cachedPromptTokens, cacheWriteTokens } =
      streamOf(format, events).chunks.at(-1)?.usage ?? assert.fail();
    return [promptTokens, completionTokens, cachedPromptTokens, cacheWriteTokens];
  };
  assert.deepEqual(usageAfter({ ...cached, output_tokens: 1 }, { output_tokens: 5 }), [100, 5, 90, 3]);
  assert.deepEqual(usageAfter(cached, { input_tokens: null, output_tokens: 5 }), [100, 5, 90, 3]);
  assert.deepEqual(usageAfter(cached, { input_tokens: 8, output_tokens: 5 }), [101, 5, 90, 3]);
  const { chunks } = streamOf(format, [start({ usage: undefined }), { type: "message_stop" }]);
  assert.equal(chunks.at(-1)?.usage, undefined);
});

test("a second start, doubled or spliced in by a proxy between blocks, changes neither id nor usage nor the count of calls", () => {
  const other = start({ id: "msg_2", model: "claude-tea-2", usage: { input_tokens: 0, output_tokens: 0 } });
  const decoder = format.decoder();
  const first = [blockStart(0, boil("toolu_1")), start(), blockStop(0)];
  const events = [start(), start(), ...first, other, blockStart(0, boil("toolu_2"))];
  const chunks: ChatChunk[] = [];
  for (const event of [...events, ...end("tool_use")]) decoder.event("", JSON.stringify(event), chunks);
  assert.deepEqual([decoder.id, decoder.model], ["msg_1", "claude-tea-1"]);
  assert.equal(chunks.at(-1)?.usage?.promptTokens, 7);
  const calls = chunks.flatMap(({ toolCalls = [] }) => toolCalls);
  assert.deepEqual(
    calls.map(({ index, id, arguments: text }) => [index, id, text]),
    [
      [0, "toolu_1", ""],
      [0, undefined, "{}"],
      [1, "toolu_2", ""],
      [1, undefined, "{}"],
    ],
  );
});

test("a stream that another answer is spliced into inside a tool call fails: the arguments are cut off", () => {
  const other = start({ id: "msg_2" });
  const begun = [start(), blockStart(0, boil("toolu_1")), args(0, '{"value":"Spark')];
  const second = [blockStart(0, boil("toolu_2")), args(0, "{}"), blockStop(0), ...end("tool_use")];
  const reasonOf = (events: readonly object[]) => streamOf(format, events).failed?.reason;
  assert.equal(reasonOf([...begun, other, ...second]), "another answer began inside a tool call");
  assert.equal(reasonOf([...begun, ...second]), "a tool call began inside another one");
  assert.equal(reasonOf([...begun, start(), args(0, '"}'), blockStop(0), ...end("tool_use")]), undefined);
});

test("arguments come in parts, between texts, and are numbered by calls alone", () => {
  const { chunks } = streamOf(format, [
    start(),
    say("At once."),
    blockStart(1, boil("toolu_1")),
    args(1, ""),
    args(1, '{"lit'),
    args(1, 'res":1}'),
    blockStop(1),
    args(1, "late"),
    args(9, "of nobody"),
    blockStart(2, boil("toolu_2")),
    args(2, "{}"),
    ...end("tool_use"),
  ]);
  const later = { id: undefined, name: undefined };
  assert.deepEqual(
    chunks.flatMap(({ toolCalls = [] }) => toolCalls),
    [
      { index: 0, id: "toolu_1", name: "boil", arguments: "" },
      { index: 0, ...later, arguments: '{"lit' },
      { index: 0, ...later, arguments: 'res":1}' },
      { index: 1, id: "toolu_2", name: "boil", arguments: "" },
      { index: 1, ...later, arguments: "{}" },
    ],
  );
  assert.equal(chunks.at(-1)?.finishReason, "tool_calls");
});

test("a tool that wants no arguments has an empty object of them, however its block ends", () => {
  const empty = ["", "{}"];
  const begun = [start(), blockStart(0, boil())];
  assert.deepEqual(argumentsIn([...begun, blockStop(0), ...end("tool_use")]), empty);
  assert.deepEqual(argumentsIn([...begun, args(0, ""), blockStop(0), ...end("tool_use")]), empty);
  assert.deepEqual(argumentsIn([...begun, ...end("tool_use")]), empty);
  const told = [start(), blockStart(0, boil("toolu_1", { litres: 1 })), blockStop(0), ...end("tool_use")];
  assert.deepEqual(argumentsIn(told), ["", '{"litres":1}'], "told at once");
});

test("an answer that asks for endless tools is not believed", () => {
  const many = Array.from({ length: 257 }, (_, n) => blockStart(n, boil(`toolu_${n}`)));
  assert.equal(streamOf(format, [start(), ...many]).failed?.reason, "the answer asks for too many tools");
});
