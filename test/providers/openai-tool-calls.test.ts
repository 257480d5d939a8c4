/** Tool calls in OpenAI's chat format, in all the ways in which servers of it get them wrong. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolCall } from "../../src/plugin/chat.ts";
import { isFailure, openAiChat } from "../../src/provider-kit/index.ts";
import { answerOf, countingHost, event, formatOf, streamOf } from "./chat-format.ts";

const WATER = '{"ml":250}';

/** An entry of a `tool_calls` list; what is undefined is not there. */
function entry(about: { index?: number; id?: string | null; name?: string; arguments?: unknown }): object {
  const { index, id, name, arguments: text } = about;
  const type = name === undefined ? undefined : "function";
  return { index, id, type, function: { name, arguments: text } };
}

interface Put {
  readonly calls: readonly ToolCall[];
  /** Of each chunk with tool calls: whether it passes as it came. */
  readonly raw: readonly boolean[];
}

/** The calls of a stream whose events have these lists, put together as a client does. */
async function put(lists: readonly (readonly object[])[]): Promise<Put> {
  const format = await formatOf(openAiChat(countingHost()));
  const events = lists.map((tool_calls) => event({ tool_calls }));
  const { chunks } = streamOf(format, [...events, event({}, "tool_calls")]);
  const calls: ToolCall[] = [];
  const told = chunks.filter(({ toolCalls }) => toolCalls !== undefined);
  for (const { index, id, name, arguments: text } of told.flatMap(({ toolCalls = [] }) => toolCalls)) {
    const known = calls[index];
    if (known === undefined) {
      assert.equal(index, calls.length, "calls are numbered from 0, without a gap");
      assert.ok(id !== undefined && name !== undefined, "the first part of a call has its id and name");
      calls.push({ id, name, arguments: text });
    } else {
      assert.deepEqual([id, name], [undefined, undefined], "later parts have arguments only");
      calls[index] = { ...known, arguments: known.arguments + text };
    }
  }
  return { calls, raw: told.map(({ native }) => native !== undefined) };
}

const boil = (id: string, text = WATER): ToolCall => ({ id, name: "boil", arguments: text });
const wait = (id: string, text = "{}"): ToolCall => ({ id, name: "wait", arguments: text });

test("calls as OpenAI streams them are put together, and pass as they came", async () => {
  assert.deepEqual(
    await put([
      [entry({ index: 0, id: "call_a", name: "boil", arguments: "" })],
      [entry({ index: 0, arguments: '{"ml"' })],
      [entry({ index: 0, arguments: ":250}" })],
      [entry({ index: 1, id: "call_b", name: "wait", arguments: "" })],
      [entry({ index: 1, arguments: "{}" })],
    ]),
    { calls: [boil("call_a"), wait("call_b")], raw: [true, true, true, true, true] },
  );
});

test("fragments of several calls may come in one event, and in turns", async () => {
  const { calls, raw } = await put([
    [
      entry({ index: 0, id: "call_a", name: "boil", arguments: "" }),
      entry({ index: 1, id: "call_b", name: "wait", arguments: "" }),
    ],
    [entry({ index: 1, arguments: "{" }), entry({ index: 0, arguments: WATER })],
    [entry({ index: 1, arguments: "}" })],
  ]);
  assert.deepEqual(calls, [boil("call_a"), wait("call_b")]);
  assert.deepEqual(raw, [true, true, true]);
});

test("a call without arguments has empty ones", async () => {
  const { calls, raw } = await put([[entry({ index: 0, id: "call_a", name: "wait", arguments: "" })]]);
  assert.deepEqual([calls, raw], [[wait("call_a")], [true, false]]);
});

test("a call without an id gets one, and does not pass as it came", async () => {
  for (const id of [undefined, "", null]) {
    const first = entry({ index: 0, id, name: "boil", arguments: "" });
    const { calls, raw } = await put([[first], [entry({ index: 0, id, arguments: WATER })]]);
    assert.deepEqual(calls, [boil("call_made1")]);
    assert.equal(raw[0], false);
  }
});

test("two calls of one id get two", async () => {
  const { calls } = await put([
    [entry({ index: 0, id: "call_a", name: "boil", arguments: WATER })],
    [entry({ index: 1, id: "call_a", name: "wait", arguments: "{}" })],
  ]);
  assert.deepEqual(calls, [boil("call_a"), wait("call_made1")]);
});

test("an id and a name that every fragment repeats begin no new call", async () => {
  const fragment = (text: string): object[] => [
    entry({ index: 0, id: "call_a", name: "boil", arguments: text }),
  ];
  const { calls, raw } = await put([fragment(""), fragment('{"ml"'), fragment(":250}")]);
  assert.deepEqual([calls, raw], [[boil("call_a")], [true, false, false]]);
});

test("numbers that begin at 1, leave gaps, or are missing are put right", async () => {
  for (const [one, two] of [
    [1, 2],
    [3, 7],
    [undefined, undefined],
  ] as const) {
    const { calls, raw } = await put([
      [entry({ index: one, id: "call_a", name: "boil", arguments: "" })],
      [entry({ index: one, arguments: WATER })],
      [entry({ index: two, id: "call_b", name: "wait", arguments: "{}" })],
    ]);
    assert.deepEqual(calls, [boil("call_a"), wait("call_b")], `${one}`);
    assert.equal(raw.includes(true), false);
  }
});

test("a number used again is another call when id, name or list say so", async () => {
  const a = entry({ index: 0, id: "call_a", name: "boil", arguments: WATER });
  const b = entry({ index: 0, id: "call_b", name: "wait", arguments: "{}" });
  for (const lists of [[[a, b]], [[a], [b]]]) {
    assert.deepEqual((await put(lists)).calls, [boil("call_a"), wait("call_b")]);
  }
  const nameless = [
    entry({ index: 0, name: "boil", arguments: WATER }),
    entry({ index: 0, name: "wait", arguments: "{}" }),
  ];
  for (const lists of [[nameless], nameless.map((one) => [one])]) {
    assert.deepEqual((await put(lists)).calls, [boil("call_made1"), wait("call_made2")]);
  }
  const twice = entry({ index: 0, name: "wait", arguments: "{}" });
  assert.equal((await put([[twice, twice]])).calls.length, 2);
});

test("fragments find their call by its id where its number has gone to another", async () => {
  const { calls } = await put([
    [entry({ index: 0, id: "call_a", name: "boil", arguments: '{"ml"' })],
    [entry({ index: 0, id: "call_b", name: "wait", arguments: "{}" })],
    [entry({ index: 0, id: "call_a", arguments: ":250}" })],
    [entry({ id: "call_b", arguments: " " })],
  ]);
  assert.deepEqual(calls, [boil("call_a"), wait("call_b", "{} ")]);
});

test("a name that comes after arguments is waited for", async () => {
  const { calls, raw } = await put([
    [entry({ index: 0, id: "call_a", arguments: '{"ml"' })],
    [entry({ index: 0, name: "boil", arguments: ":250" })],
    [entry({ index: 0, arguments: "}" })],
  ]);
  assert.deepEqual([calls, raw], [[boil("call_a")], [false, true]]);
});

test("a call that never has a name is none, and an answer of nothing else is an error", async () => {
  const format = await formatOf(openAiChat(countingHost()));
  const { chunks } = streamOf(format, [
    event({ tool_calls: [entry({ index: 0, id: "call_a", arguments: "{}" })] }),
    event({}, "tool_calls"),
  ]);
  assert.deepEqual(
    chunks.map(({ toolCalls, finishReason }) => [toolCalls, finishReason]),
    [[undefined, "error"]],
  );
});

test("arguments that are an object become its JSON", async () => {
  const { calls, raw } = await put([
    [entry({ index: 0, id: "call_a", name: "boil", arguments: { ml: 250 } })],
    [entry({ index: 1, id: "call_b", name: "wait", arguments: null })],
  ]);
  assert.deepEqual(calls, [boil("call_a"), wait("call_b")]);
  assert.deepEqual(raw, [false, false, false]);
});

test("a whole answer's calls are put right like a stream's", async () => {
  const format = await formatOf(openAiChat(countingHost()));
  const message = {
    content: null,
    tool_calls: [
      { id: "call_a", type: "function", function: { name: "boil", arguments: WATER } },
      { id: "call_a", type: "function", function: { name: "wait", arguments: "" } },
      { function: { name: "boil", arguments: { ml: 250 } } },
      { id: "call_d", function: {} },
      null,
    ],
  };
  assert.deepEqual(answerOf(format, { message, finish_reason: "stop" }).toolCalls, [
    boil("call_a"),
    wait("call_made1"),
    boil("call_made2"),
  ]);
  const older = { content: null, function_call: { name: "boil", arguments: WATER } };
  assert.deepEqual(answerOf(format, { message: older, finish_reason: "function_call" }).toolCalls, [
    boil("call_made3"),
  ]);
});

test("what comes for a call after its end is left out", async () => {
  const format = await formatOf(openAiChat(countingHost()));
  const { chunks } = streamOf(format, [
    event({ tool_calls: [entry({ index: 0, id: "call_a", name: "wait", arguments: "" })] }),
    event({}, "tool_calls"),
    event({ tool_calls: [entry({ index: 0, arguments: "{}" })] }),
  ]);
  const text = chunks.flatMap(({ toolCalls = [] }) => toolCalls.map((delta) => delta.arguments)).join("");
  assert.equal(text, "{}");
});

test("more calls than anybody asks for are a failure", async () => {
  const format = await formatOf(openAiChat(countingHost()));
  const tool_calls = Array.from({ length: 257 }, (_, index) =>
    entry({ index, id: `call_${index}`, name: "wait", arguments: "{}" }),
  );
  const whole = format.decode(JSON.stringify({ id: "a", choices: [{ message: { tool_calls } }] }));
  assert.ok(isFailure(whole));
  assert.equal(whole.reason, "the answer asks for too many tools");
  assert.equal(streamOf(format, [event({ tool_calls })]).failed?.reason, whole.reason);
});
