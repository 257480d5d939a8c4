/** A wire format spoken over real HTTP: what becomes an answer, what a failure, and which failures move on. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openai } from "../../providers/openai.ts";
import { createHttp1Client } from "../../src/net/http1/client.ts";
import {
  isFailure,
  type Provider,
  type ProviderFailure,
  type WireFormat,
} from "../../src/provider-kit/index.ts";
import {
  cutAnswer,
  type FakeUpstream,
  fakeUpstream,
  garbageAnswer,
  handPlayedStream,
  hangUpAnswer,
  jsonAnswer,
  openAiAnswer,
  openAiEvents,
  sseAnswer,
  stallAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { wireProvider } from "../../src/upstream/wire.ts";
import { callAt, hostWith, keepingSink, requestFor } from "./stand-ins.ts";

const REQUEST = requestFor("gpt-4o");
const KEY = "sk-test-0123456789abcdef";

interface Bench {
  readonly clock: VirtualClock;
  readonly upstream: FakeUpstream;
  readonly provider: Provider;
}

async function bench(t: TestContext): Promise<Bench> {
  const clock = virtualClock();
  const upstream = await fakeUpstream();
  const client = createHttp1Client({ clock });
  t.after(async () => {
    await upstream.close();
    await client.close();
  });
  // openai's setup gives a WireFormat, always.
  const format = (await openai.setup({}, hostWith(clock))) as WireFormat;
  const credential = { name: "main", apiKey: KEY, baseUrl: upstream.url };
  const settings = {
    timeoutMs: 60_000,
    firstByteTimeoutMs: 30_000,
    idleTimeoutMs: 60_000,
    connectionsMax: 100,
  };
  return { clock, upstream, provider: wireProvider(format, credential, client, settings) };
}

async function failed(provider: Provider, clock: VirtualClock): Promise<Partial<ProviderFailure>> {
  const result = await provider.complete(REQUEST, callAt(clock));
  assert.ok(isFailure(result), "it should have failed");
  return said(result);
}

/** What a failure says, without its cause. */
function said(failed: ProviderFailure | undefined): Partial<ProviderFailure> {
  assert.ok(failed !== undefined, "it should have failed");
  const { status, reason, retryable, accepted } = failed;
  return { status, reason, retryable, accepted };
}

function streaming(provider: Provider, clock: VirtualClock) {
  const sink = keepingSink();
  return { sink, control: provider.stream(REQUEST, callAt(clock, { stream: true }), sink) };
}

test("a whole answer is decoded, and the request carries credential and trace", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  upstream.answer(jsonAnswer(openAiAnswer("It is.")));
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const result = await provider.complete(REQUEST, callAt(clock, { headers: { traceparent } }));
  assert.ok(!isFailure(result));
  assert.deepEqual([result.content, result.finishReason, result.usage?.totalTokens], ["It is.", "stop", 15]);
  const [request] = upstream.requests;
  assert.equal(request?.path, "/chat/completions");
  assert.equal(request?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(request?.headers.traceparent, traceparent);
});

test("a trace header that is none is not carried through", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  upstream.answer(jsonAnswer(openAiAnswer("It is.")));
  await provider.complete(REQUEST, callAt(clock, { headers: { traceparent: "anything else" } }));
  assert.equal(upstream.requests[0]?.headers.traceparent, undefined);
});

test("an answer in many reads is put together", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const content = "\u{1f375}".repeat(200);
  upstream.answer(cutAnswer(JSON.stringify(openAiAnswer(content)), 301));
  const result = await provider.complete(REQUEST, callAt(clock));
  assert.equal(isFailure(result) ? result.reason : result.content, content);
});

test("statuses that another target may better move on, others do not", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const moves: [status: number, retryable: boolean][] = [
    [300, false],
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [422, false],
    [429, true],
    [500, true],
    [503, true],
    [529, true],
  ];
  for (const [status] of moves) upstream.answer(statusAnswer(status, { error: { message: "not today" } }));
  for (const [status, retryable] of moves) {
    assert.deepEqual(await failed(provider, clock), {
      status,
      reason: "not today",
      retryable,
      accepted: false,
    });
  }
});

test("a 200 that is not the provider's JSON moves on and counts as accepted", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const bodies = ["<html>hello</html>", "", "[]", "{}", '{"choices":[]}', '{"error":{"message":"oh"}}'];
  for (const body of bodies) upstream.answer(jsonAnswer(body));
  for (const body of bodies) {
    const { status, retryable, accepted } = await failed(provider, clock);
    assert.deepEqual([status, retryable, accepted], [200, true, true], body);
  }
});

test("network failures and time-outs move on", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  upstream.answer(hangUpAnswer(), garbageAnswer(), stallAnswer());
  const gone = { status: undefined, retryable: true, accepted: false };
  assert.deepEqual(await failed(provider, clock), { ...gone, reason: "unreachable" });
  assert.deepEqual(await failed(provider, clock), { ...gone, reason: "answered with malformed HTTP" });
  const late = failed(provider, clock);
  await upstream.received(3);
  clock.advance(60_000);
  assert.deepEqual(await late, { ...gone, reason: "timed out after 60000 ms" });
});

test("a body that breaks off shows the status that had come", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const broken = handPlayedStream();
  upstream.answer(broken.answer);
  const result = failed(provider, clock);
  await broken.write('{"id":');
  await broken.hangUp();
  const reason = "connection lost before the answer was complete";
  assert.deepEqual(await result, { status: 200, reason, retryable: true, accepted: true });
});

test("a stream that falls silent is a time-out of a call that was accepted", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const silent = handPlayedStream();
  upstream.answer(silent.answer);
  const { sink } = streaming(provider, clock);
  const came = sink.nextBatch();
  await silent.send(openAiEvents("Tea.")[1]);
  await came;
  clock.advance(59_999);
  assert.equal(clock.pendingTimers(), 1);
  clock.advance(1);
  const expected = { status: undefined, reason: "timed out after 60000 ms", retryable: true, accepted: true };
  assert.deepEqual(said(await sink.over), expected);
});

test("the credential is taken out of what a provider says", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  upstream.answer(statusAnswer(401, { error: { message: `Bad key ${KEY}\nsecond line` } }));
  assert.equal((await failed(provider, clock)).reason, "Bad key [redacted]");
  const padding = "x".repeat(190);
  upstream.answer(statusAnswer(401, { error: { message: `${padding} ${KEY}` } }));
  assert.doesNotMatch((await failed(provider, clock)).reason ?? "", /sk-test/);
});

test("a canceled call settles without failover, and its connection ends", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const x = callAt(clock);
  const result = provider.complete(REQUEST, x);
  await stream.opened;
  x.cancel("client_gone");
  await stream.closed;
  const settled = await result;
  assert.ok(isFailure(settled));
  assert.equal(settled.retryable, false);
  assert.equal(clock.pendingTimers(), 0);
});

test("a stream comes out in order, in one batch per network read, and ends once", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  upstream.answer(sseAnswer(openAiEvents("It ", "is.")));
  const { sink } = streaming(provider, clock);
  assert.equal(await sink.over, undefined);
  assert.deepEqual(sink.begun, [{ id: "chatcmpl-fake", model: "fake-1" }]);
  assert.equal(sink.text(), "It is.");
  assert.equal(sink.finish()?.finishReason, "stop");
  assert.ok(sink.batches.length <= 2, `${sink.batches.length} batches`);
  assert.equal(sink.batches.flat().at(-1)?.usage?.promptTokens, 10);
});

test("a stream is the same at every cut", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const whole = openAiEvents("na\u00efve ", "\u{1f375}").map((event) => {
    return `data: ${typeof event === "string" ? event : JSON.stringify(event)}\r\n\r\n`;
  });
  for (const bytesPerWrite of [1, 2, 3, 5, 7, 64, 1000]) {
    upstream.answer(cutAnswer(whole.join(""), bytesPerWrite));
    const { sink } = streaming(provider, clock);
    assert.equal(await sink.over, undefined);
    assert.deepEqual([sink.text(), sink.finish()?.finishReason], ["na\u00efve \u{1f375}", "stop"]);
  }
});

test("the end marker ends a stream whose connection stays open", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const { sink } = streaming(provider, clock);
  for (const event of openAiEvents("It is.")) await stream.send(event);
  assert.equal(await sink.over, undefined);
  await stream.send({ error: { message: "noise after the end" } });
  await stream.end();
  assert.equal(sink.text(), "It is.");
});

test("a stream that ends without the completion signal is a failure, marker or not", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const [role, text] = openAiEvents("It is.");
  for (const events of [[role, text], [role, text, "[DONE]"], []]) {
    upstream.answer(sseAnswer(events));
    const { sink } = streaming(provider, clock);
    const reason = events.length > 0 ? "the answer broke off" : "an empty answer came in place of a stream";
    const expected = { status: 200, reason, retryable: true, accepted: true };
    assert.deepEqual(said(await sink.over), expected);
  }
});

test("a connection lost after the completion signal is an end, before it a failure", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  for (const complete of [true, false]) {
    const stream = handPlayedStream();
    upstream.answer(stream.answer);
    const { sink } = streaming(provider, clock);
    const events = openAiEvents("It is.").slice(0, complete ? 3 : 2);
    for (const event of events) {
      const came = sink.nextBatch();
      await stream.send(event);
      await came;
    }
    await stream.hangUp();
    assert.equal((await sink.over) === undefined, complete);
    assert.equal(sink.text(), "It is.");
  }
});

test("an error within a stream comes after the text before it, and ends the connection", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const { sink } = streaming(provider, clock);
  const [role, text] = openAiEvents("It ");
  for (const event of [role, text]) await stream.send(event);
  await stream.send({ error: { message: `overloaded (${KEY})`, type: "server_error" } });
  const expected = { status: 200, reason: "overloaded ([redacted])", retryable: true, accepted: true };
  assert.deepEqual(said(await sink.over), expected);
  assert.equal(sink.text(), "It ");
  await stream.closed;
});

test("events that are not JSON, or too large, fail the stream", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  upstream.answer(sseAnswer(["{"]), sseAnswer(["x".repeat(16 * 1024 * 1024 + 1)]));
  for (const reason of ["an event of the answer is not JSON", "an event of the answer is too large"]) {
    const { sink } = streaming(provider, clock);
    assert.deepEqual(said(await sink.over), { status: 200, reason, retryable: true, accepted: true });
  }
});

test("an error status instead of a stream is read as one", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  upstream.answer(statusAnswer(429, { error: { message: "slow down" } }, { "retry-after": "7" }));
  const { sink } = streaming(provider, clock);
  const result = await sink.over;
  assert.deepEqual(said(result), { status: 429, reason: "slow down", retryable: true, accepted: false });
  assert.equal(result?.retryAfterSeconds, 7);
  assert.deepEqual(sink.begun, []);
});

test("a cancelled stream says nothing more and lets its connection go", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const { sink, control } = streaming(provider, clock);
  void sink.over.then(() => assert.fail("a cancelled stream has no end"));
  const [role] = openAiEvents();
  const came = sink.nextBatch();
  await stream.send(role);
  await came;
  control.cancel();
  await stream.closed;
  control.resume();
  assert.equal(sink.batches.length, 1);
  assert.equal(clock.pendingTimers(), 0);
});

test("a paused stream holds the provider back and loses nothing", async (t) => {
  const { provider, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const { sink, control } = streaming(provider, clock);
  const piece = "x".repeat(10_000);
  const events = openAiEvents(...Array.from({ length: 2_000 }, () => piece));
  const first = sink.nextBatch();
  await stream.send(events[0]);
  await first;
  control.pause();
  // More than the sockets between the two can hold: what is not read stays with the sender.
  const sent = Promise.all(events.slice(1).map((event) => stream.send(event)));
  const blocked = await Promise.race([sent.then(() => false), turns(200).then(() => true)]);
  assert.equal(blocked, true);
  assert.ok(sink.text().length < 1_000_000, "read on while paused");
  control.resume();
  await sent;
  await stream.end();
  assert.equal(await sink.over, undefined);
  assert.equal(sink.text().length, 2_000 * 10_000);
});

/** Waits for a number of turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((turn) => setImmediate(turn));
}
