/** Stage `call`: which targets are asked, in which order, what the client is told, and how streams are handed on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../../plugins/call/index.ts";
import type { Call } from "../../src/pipeline/call.ts";
import type { ProviderRequest } from "../../src/plugin/chat.ts";
import { textChunk } from "../../src/plugin/chat.ts";
import type { Answer, AnswerStream } from "../../src/plugin/contract.ts";
import {
  type ChatChunk,
  type ChatResult,
  type GatewayError,
  type Hooks,
  isGatewayError,
  isPromise,
  type Target,
} from "../../src/plugin/index.ts";
import {
  failure,
  type Provider,
  type ProviderFailure,
  type ProviderSink,
} from "../../src/provider-kit/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { callAt, hostWith } from "../providers/stand-ins.ts";

const clock = virtualClock();
// The plugin's setup is synchronous.
const { call: run } = call.setup({}, hostWith(clock)) as Required<Hooks>;

const GOOD: ChatResult = { id: "id-1", model: "m-1", content: "Tea.", finishReason: "stop" };

function lost(about: Partial<ProviderFailure>): ProviderFailure {
  return failure({ status: undefined, reason: "unreachable", retryable: true, accepted: false, ...about });
}

const BUSY = lost({ status: 503, reason: "overloaded" });
const SLOW = lost({ reason: "timed out after 30000 ms" });
const WRONG = lost({ status: 400, reason: "no such field", retryable: false });

/** Plays its answers in turn, at once or as promises, and notes what it was asked. */
function scripted(answers: readonly (ChatResult | ProviderFailure)[], late = false) {
  const asked: ProviderRequest[] = [];
  const client: Provider = {
    complete(request) {
      const answer = answers[asked.push(request) - 1] ?? assert.fail("asked once too often");
      return late ? Promise.resolve(answer) : answer;
    },
    stream: () => assert.fail("not asked for a stream"),
  };
  return { client, asked };
}

/** A provider whose streams the test plays by hand. */
function played() {
  const opened: ProviderSink[] = [];
  const did: string[] = [];
  const client: Provider = {
    complete: () => assert.fail("asked for a stream"),
    stream(_request, _x, sink) {
      opened.push(sink);
      return {
        pause: () => void did.push("pause"),
        resume: () => void did.push("resume"),
        cancel: () => void did.push("cancel"),
      };
    },
  };
  const sink = (): ProviderSink => opened.at(-1) ?? assert.fail("not asked yet");
  return { client, did, sink };
}

function target(client: Provider, about: Partial<Target> = {}): Target {
  const model = about.model ?? "m-1";
  return {
    provider: "alpha",
    label: "Alpha",
    model,
    credential: "main",
    enabled: true,
    active: true,
    client,
    settings: { model, temperature: 0.5, topP: undefined, maxOutputTokens: 10, responseSchema: undefined },
    ...about,
  };
}

function refusal(answer: Answer): GatewayError {
  assert.ok(isGatewayError(answer), "it should have refused");
  return answer;
}

const outcomes = (x: Call): unknown[] =>
  x.attempts.map(({ model, outcome, status }) => [model, outcome, status]);

test("the first target that answers is the last one asked, with the endpoint's settings", () => {
  const primary = scripted([GOOD]);
  const x = callAt(clock);
  const answer = run(x, [target(primary.client), target(scripted([]).client)]);
  assert.equal(answer, GOOD);
  assert.deepEqual(primary.asked, [
    {
      model: "m-1",
      messages: x.messages,
      temperature: 0.5,
      topP: undefined,
      maxOutputTokens: 10,
      responseSchema: undefined,
      options: undefined,
    },
  ]);
  assert.deepEqual(x.attempts, [
    {
      ...{ provider: "alpha", model: "m-1", credential: "main", outcome: "ok", status: 200 },
      ...{ startedAtMs: clock.nowMs(), durationMs: 0 },
    },
  ]);
});

test("failures that move on do so in order, at once or as promises", async () => {
  for (const late of [false, true]) {
    const x = callAt(clock);
    const answer = run(x, [
      target(scripted([BUSY], late).client),
      target(scripted([SLOW], late).client, { model: "m-2" }),
      target(scripted([GOOD], late).client, { model: "m-3" }),
    ]);
    assert.equal(isPromise(answer), late);
    assert.equal(await answer, GOOD);
    assert.deepEqual(outcomes(x), [
      ["m-1", "503: overloaded", 503],
      ["m-2", "timed out after 30000 ms", undefined],
      ["m-3", "ok", 200],
    ]);
  }
});

test("a failure that does not move on is answered at once", async () => {
  const answer = refusal(
    await run(callAt(clock), [target(scripted([WRONG]).client), target(scripted([]).client)]),
  );
  assert.deepEqual([answer.status, answer.message], [502, "Provider call failed: Alpha 400: no such field"]);
  assert.equal(answer.extras.detail, undefined);
});

test("each kind of failure has its words", async () => {
  const rows: [failed: ProviderFailure, message: string][] = [
    [BUSY, "Provider call failed: Alpha 503: overloaded"],
    [SLOW, "Provider call failed: Alpha timed out after 30000 ms"],
    [lost({}), "Provider call failed: Alpha unreachable"],
  ];
  for (const [failed, message] of rows) {
    assert.equal(refusal(await run(callAt(clock), [target(scripted([failed]).client)])).message, message);
  }
});

test("when all fail the last one is told, and the detail lists every attempt", async () => {
  const x = callAt(clock);
  const answer = await run(x, [
    target(scripted([BUSY]).client),
    target(scripted([lost({ accepted: true, status: 200, reason: "the answer is not JSON" })]).client, {
      model: "m-2",
    }),
    target(scripted([SLOW]).client, { model: "m-3", label: "Beta" }),
  ]);
  assert.equal(refusal(answer).message, "Provider call failed: Beta timed out after 30000 ms");
  assert.equal(
    refusal(answer).extras.detail,
    "m-1: Alpha 503: overloaded; m-2: Alpha 200: the answer is not JSON; m-3: Beta timed out after 30000 ms",
  );
  assert.deepEqual(
    x.attempts.map(({ status }) => status),
    [503, 200, undefined],
  );
});

test("disabled providers are skipped; when none is left the primary's name is told", async () => {
  const off = target(scripted([]).client, { enabled: false });
  const x = callAt(clock);
  assert.equal(await run(x, [off, target(scripted([GOOD]).client), off]), GOOD);
  assert.equal(x.attempts.length, 1);

  const failed = refusal(await run(callAt(clock), [target(scripted([BUSY]).client), off]));
  assert.equal(failed.message, "Provider call failed: Alpha 503: overloaded");

  for (const stream of [false, true]) {
    const none = refusal(await run(callAt(clock, { stream }), [off, { ...off, provider: "beta" }]));
    assert.deepEqual([none.status, none.message], [503, "Provider 'alpha' is disabled in this gateway."]);
  }
});

test("an inactive credential counts as a failed try", async () => {
  const idle = target(scripted([]).client, { active: false });
  const x = callAt(clock);
  assert.equal(await run(x, [idle, target(scripted([GOOD]).client, { model: "m-2" })]), GOOD);
  assert.deepEqual(outcomes(x), [
    ["m-1", "credential is inactive", undefined],
    ["m-2", "ok", 200],
  ]);
  for (const stream of [false, true]) {
    const alone = refusal(await run(callAt(clock, { stream }), [idle]));
    assert.deepEqual(
      [alone.status, alone.message],
      [502, "Provider call failed: Alpha credential is inactive"],
    );
  }
});

test("an answer without an id or model gets one", async () => {
  const answer = await run(callAt(clock), [target(scripted([{ ...GOOD, id: "", model: "" }]).client)]);
  assert.ok(!isGatewayError(answer) && !("kind" in answer));
  assert.deepEqual([answer.id, answer.model], ["chatcmpl-22222222-2222-4222-8222-222222222222", "m-1"]);
});

test("a call that has ended asks no other target", async () => {
  const x = callAt(clock);
  const answer = run(x, [target(scripted([BUSY], true).client), target(scripted([]).client)]);
  x.end();
  assert.equal(refusal(await answer).code, "provider_failed");
});

/** Runs a streamed call and keeps its answer, if there is one yet. */
function streaming(...targets: readonly Target[]) {
  const x = callAt(clock, { stream: true });
  const seen: { answer?: Answer } = {};
  const answer = run(x, targets);
  if (isPromise(answer)) void answer.then((settled) => (seen.answer = settled));
  else seen.answer = answer;
  return {
    x,
    /** undefined while the stream has not opened. */
    async answer(): Promise<Answer | undefined> {
      await Promise.resolve();
      return seen.answer;
    },
    async stream(): Promise<AnswerStream> {
      await Promise.resolve();
      const { answer } = seen;
      assert.ok(answer !== undefined && !isGatewayError(answer) && "kind" in answer, "it should be a stream");
      return answer;
    },
  };
}

/** Attaches and keeps what comes, in order. */
function attached(stream: AnswerStream): unknown[] {
  const came: unknown[] = [];
  stream.attach({
    batch: (chunks) => void came.push(chunks.map(({ text }) => text)),
    end: () => void came.push("end"),
    fail: (error) => void came.push(error.message),
  });
  return came;
}

const DONE: ChatChunk = { ...textChunk(""), finishReason: "stop" };

test("a stream is held until its first content, then handed on from its beginning", async () => {
  const provider = played();
  const called = streaming(target(provider.client));
  provider.sink().begin("id-1", "m-1-large");
  provider.sink().batch([textChunk("")]);
  assert.equal(await called.answer(), undefined);
  provider.sink().batch([textChunk("It ")]);
  provider.sink().batch([textChunk("is ")]);
  const stream = await called.stream();
  assert.deepEqual([stream.id, stream.model, stream.provider], ["id-1", "m-1-large", "alpha"]);
  const came = attached(stream);
  provider.sink().batch([textChunk("on."), DONE]);
  provider.sink().end();
  assert.deepEqual(came, [["", "It ", "is "], ["on.", ""], "end"]);
  assert.deepEqual(outcomes(called.x), [["m-1", "ok", 200]]);
});

test("once attached, a batch is passed on as the same object", async () => {
  const provider = played();
  const called = streaming(target(provider.client));
  provider.sink().batch([textChunk("a")]);
  const batches: (readonly ChatChunk[])[] = [];
  (await called.stream()).attach({ batch: (chunks) => void batches.push(chunks), end() {}, fail() {} });
  const batch = [textChunk("b")];
  provider.sink().batch(batch);
  assert.equal(batches[1], batch);
});

test("a stream that came all at once is handed on all at once", async () => {
  const client: Provider = {
    complete: () => assert.fail("asked for a stream"),
    stream(_request, _x, sink) {
      sink.begin("", "");
      sink.batch([textChunk("All."), DONE]);
      sink.end();
      return { pause() {}, resume() {}, cancel() {} };
    },
  };
  const answer = run(callAt(clock, { stream: true }), [target(client)]);
  assert.ok(!isPromise(answer) && !isGatewayError(answer) && "kind" in answer);
  assert.deepEqual([answer.id, answer.model], ["chatcmpl-22222222-2222-4222-8222-222222222222", "m-1"]);
  assert.deepEqual(attached(answer), [["All.", ""], "end"]);
});

test("a finish without text is content: no other target is asked", async () => {
  const provider = played();
  const called = streaming(target(provider.client), target(scripted([]).client));
  provider.sink().begin("id-1", "m-1");
  provider.sink().batch([DONE]);
  provider.sink().end();
  assert.deepEqual(attached(await called.stream()), [[""], "end"]);
});

test("a stream that fails before its content moves on, and what it said is forgotten", async () => {
  const [first, second] = [played(), played()];
  const called = streaming(target(first.client), target(second.client, { model: "m-2", provider: "beta" }));
  first.sink().begin("id-1", "m-1");
  first.sink().batch([textChunk("")]);
  first.sink().fail(lost({ status: 200, accepted: true, reason: "overloaded" }));
  assert.equal(await called.answer(), undefined);
  second.sink().begin("id-2", "m-2");
  second.sink().batch([textChunk("Tea.")]);
  const stream = await called.stream();
  assert.deepEqual([stream.id, stream.provider], ["id-2", "beta"]);
  assert.deepEqual(attached(stream), [["Tea."]]);
  assert.deepEqual(outcomes(called.x).at(0), ["m-1", "200: overloaded", 200]);
});

test("a stream that fails before its content for good refuses the call", async () => {
  const [first, second] = [played(), played()];
  const called = streaming(
    target(first.client),
    target(second.client, { model: "m-2" }),
    target(first.client),
  );
  first.sink().fail(BUSY);
  second.sink().fail(WRONG);
  const answer = refusal((await called.answer()) ?? assert.fail("no answer"));
  assert.equal(answer.message, "Provider call failed: Alpha 400: no such field");
  assert.equal(answer.extras.detail, "m-1: Alpha 503: overloaded; m-2: Alpha 400: no such field");
});

test("a stream that fails after its content fails, attached or not yet", async () => {
  for (const attachFirst of [true, false]) {
    const provider = played();
    const called = streaming(target(provider.client), target(scripted([]).client));
    provider.sink().batch([textChunk("It ")]);
    const stream = await called.stream();
    const failed = lost({ accepted: true, reason: "timed out after 30000 ms" });
    if (!attachFirst) provider.sink().fail(failed);
    const came = attached(stream);
    if (attachFirst) provider.sink().fail(failed);
    assert.deepEqual(came, [["It "], "Provider call failed: Alpha timed out after 30000 ms"]);
    assert.deepEqual(outcomes(called.x), [["m-1", "timed out after 30000 ms", 200]]);
  }
});

test("what comes before anyone is attached is bounded: the provider is held back", async () => {
  const provider = played();
  const called = streaming(target(provider.client));
  provider.sink().batch([textChunk("a")]);
  const stream = await called.stream();
  provider.sink().batch(Array.from({ length: 256 }, () => textChunk("b")));
  assert.deepEqual(provider.did, ["pause"]);
  attached(stream);
  assert.deepEqual(provider.did, ["pause", "resume"]);
});

test("pause, resume and cancel reach the provider, and after cancel nothing comes", async () => {
  const provider = played();
  const called = streaming(target(provider.client));
  provider.sink().batch([textChunk("a")]);
  const stream = await called.stream();
  const came = attached(stream);
  stream.pause();
  stream.resume();
  stream.cancel();
  stream.cancel();
  provider.sink().batch([textChunk("b")]);
  provider.sink().end();
  assert.deepEqual(provider.did, ["pause", "resume", "cancel"]);
  assert.deepEqual(came, [["a"]]);
  assert.deepEqual(outcomes(called.x), [["m-1", "cancelled", 200]]);
});

test("cancel after the end is harmless", async () => {
  const provider = played();
  const called = streaming(target(provider.client));
  provider.sink().batch([textChunk("a"), DONE]);
  provider.sink().end();
  const stream = await called.stream();
  attached(stream);
  stream.cancel();
  assert.deepEqual(provider.did, []);
  assert.deepEqual(outcomes(called.x), [["m-1", "ok", 200]]);
});

test("a call canceled before the first content cancels the provider and asks no other target", async () => {
  const provider = played();
  const called = streaming(target(provider.client), target(scripted([]).client));
  called.x.cancel("client_gone");
  assert.deepEqual(provider.did, ["cancel"]);
  provider.sink().fail(BUSY);
  assert.equal(await called.answer(), undefined);
  assert.deepEqual(outcomes(called.x), [["m-1", "cancelled", undefined]]);
});
