/** The mock provider: the same calls give the same answers, in the time that its options say and no other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mock } from "../../providers/mock.ts";
import { type ChatResult, isPromise } from "../../src/plugin/index.ts";
import { isFailure, type Provider, type ProviderFailure } from "../../src/provider-kit/index.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { callAt, hostWith, keepingSink, requestFor } from "./stand-ins.ts";

const REQUEST = requestFor("any-model");

type Options = Parameters<typeof mock.setup>[0];

function provider(options: Options, clock: VirtualClock = virtualClock()): Provider {
  // The mock is a Provider, always.
  return mock.setup(options, hostWith(clock)) as Provider;
}

/** Asks once; with no latency the mock answers within the call. */
function ask(asked: Provider, request = REQUEST): ChatResult | ProviderFailure {
  const result = asked.complete(request, callAt(virtualClock()));
  assert.ok(!isPromise(result));
  return result;
}

function content(asked: Provider, request = REQUEST): string {
  const result = ask(asked, request);
  assert.ok(!isFailure(result));
  return result.content;
}

test("the reply is a template of the last user message and the model, filled in one pass", () => {
  const messages = [
    { role: "user", content: "first" },
    { role: "assistant", content: "second" },
    { role: "user", content: "{{model}} $& third" },
    { role: "assistant", content: "fourth" },
  ] as const;
  const asked = provider({ reply: "{{ model }}: {{input}}/{{input}} {{other}}" });
  const third = "{{model}} $& third";
  assert.equal(content(asked, requestFor("m-1", { messages })), `m-1: ${third}/${third} {{other}}`);
});

test("without options it answers at once with something to read", () => {
  const result = ask(provider({}));
  assert.ok(!isFailure(result));
  assert.match(result.content, /Is the kettle on\?/);
  assert.deepEqual([result.id, result.model, result.finishReason], ["mock-1", "any-model", "stop"]);
  assert.deepEqual(result.usage, {
    promptTokens: Math.ceil("Is the kettle on?".length / 4),
    completionTokens: Math.ceil(result.content.length / 4),
    totalTokens: Math.ceil("Is the kettle on?".length / 4) + Math.ceil(result.content.length / 4),
  });
});

test("the usage of its options is what it reports", () => {
  const result = ask(provider({ usage: { prompt_tokens: 7, completion_tokens: 5 } }));
  assert.ok(!isFailure(result));
  assert.deepEqual(result.usage, { promptTokens: 7, completionTokens: 5, totalTokens: 12 });
});

test("failures come in their order, and the last entry holds from then on", () => {
  const asked = provider({ fail: [500, "timeout", 400, "unreachable", "cut", "ok"] });
  const outcomes = Array.from({ length: 8 }, () => {
    const result = ask(asked);
    return isFailure(result) ? [result.status, result.reason, result.retryable] : "ok";
  });
  assert.deepEqual(outcomes, [
    [500, "scripted failure", true],
    [undefined, "timed out after 0 ms", true],
    [400, "scripted failure", false],
    [undefined, "unreachable", true],
    [200, "the answer broke off", true],
    "ok",
    "ok",
    "ok",
  ]);
});

test("latency is the clock's, and a canceled call waits no longer", async () => {
  const clock = virtualClock();
  const asked = provider({ reply: "late", latency_ms: 250 }, clock);
  const first = asked.complete(REQUEST, callAt(clock));
  assert.ok(isPromise(first));
  clock.advance(249);
  assert.equal(clock.pendingTimers(), 1);
  clock.advance(1);
  const result = await first;
  assert.equal(isFailure(result) ? result.reason : result.content, "late");

  const x = callAt(clock);
  const second = asked.complete(REQUEST, x);
  x.cancel("client_gone");
  assert.equal(clock.pendingTimers(), 0);
  const givenUp = await second;
  assert.equal(isFailure(givenUp) && !givenUp.retryable, true);
});

test("a stream is the words of the reply in one batch, within the call", () => {
  const sink = keepingSink();
  provider({ reply: "The kettle  is on." }).stream(REQUEST, callAt(virtualClock()), sink);
  assert.deepEqual(
    sink.batches.map((batch) => batch.map(({ text }) => text)),
    [["The", " kettle", "  is", " on.", ""]],
  );
  assert.equal(sink.finish()?.finishReason, "stop");
  assert.equal(sink.finish()?.usage?.completionTokens, 5);
});

test("with a pause between chunks each comes by itself, in its time", async () => {
  const clock = virtualClock();
  const sink = keepingSink();
  provider({ reply: "one two three", latency_ms: 100, chunk_ms: 10 }, clock).stream(
    REQUEST,
    callAt(clock),
    sink,
  );
  const seen = [99, 1, 10, 9, 1].map((ms) => {
    clock.advance(ms);
    return sink.text();
  });
  assert.deepEqual(seen, ["", "one", "one two", "one two", "one two three"]);
  assert.equal(await sink.over, undefined);
  assert.equal(clock.pendingTimers(), 0);
});

test("the number of chunks can be chosen, and no character is cut in two", () => {
  const pieces = (reply: string, chunks: number): string[] => {
    const sink = keepingSink();
    provider({ reply, chunks }).stream(REQUEST, callAt(virtualClock()), sink);
    return sink.batches
      .flat()
      .slice(0, -1)
      .map(({ text }) => text);
  };
  assert.deepEqual(pieces("abcdefghij", 4), ["ab", "cde", "fg", "hij"]);
  assert.deepEqual(pieces("\u{1f375}\u{1f375}", 2), ["\u{1f375}", "\u{1f375}"]);
  assert.deepEqual(pieces("ab", 5), ["a", "b"]);
  assert.deepEqual(pieces("", 3), [""]);
  assert.equal(pieces("x".repeat(777), 50).length, 50);
});

test("a cut stream breaks off half-way", async () => {
  const sink = keepingSink();
  provider({ reply: "one two three four", fail: ["cut"] }).stream(REQUEST, callAt(virtualClock()), sink);
  assert.equal((await sink.over)?.reason, "the answer broke off");
  assert.equal(sink.text(), "one two");
  assert.equal(sink.finish(), undefined);
});

test("a paused stream stands still, a cancelled one ends without a word", async () => {
  const clock = virtualClock();
  const sink = keepingSink();
  const asked = provider({ reply: "one two three", chunk_ms: 10 }, clock);
  const control = asked.stream(REQUEST, callAt(clock), sink);
  control.pause();
  clock.advance(1_000);
  assert.equal(sink.text(), "one");
  control.resume();
  assert.equal(sink.text(), "one two");
  control.cancel();
  clock.advance(1_000);
  assert.equal(sink.text(), "one two");
  assert.equal(clock.pendingTimers(), 0);
});
