/** The HTTP client over real sockets: what its callbacks say, and that nothing outlives its limits. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { HttpCall, HttpClient, HttpError, HttpLimits } from "../../src/net/http-client.ts";
import { createHttp1Client, type Http1ClientOptions } from "../../src/net/http1/client.ts";
import {
  cutAnswer,
  type FakeUpstream,
  fakeUpstream,
  garbageAnswer,
  handPlayedStream,
  hangUpAnswer,
  jsonAnswer,
  stallAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";

const LIMITS: HttpLimits = {
  firstByteTimeoutMs: 1_000,
  idleTimeoutMs: 2_000,
  totalTimeoutMs: 10_000,
  bodyBytesMax: 1_000_000,
};

interface Bench {
  readonly clock: VirtualClock;
  readonly upstream: FakeUpstream;
  readonly client: HttpClient;
}

async function bench(t: TestContext, options: Omit<Http1ClientOptions, "clock"> = {}): Promise<Bench> {
  const clock = virtualClock();
  const upstream = await fakeUpstream();
  const client = createHttp1Client({ clock, ...options });
  t.after(async () => {
    await upstream.close();
    await client.close();
  });
  return { clock, upstream, client };
}

interface Heard {
  status: number;
  headers: Record<string, string>;
  body: string;
  error: HttpError | undefined;
}

interface Asked {
  readonly call: HttpCall;
  readonly heard: Heard;
  readonly over: Promise<Heard>;
  /** Resolves when the head or more of the body comes. */
  next(): Promise<void>;
}

function ask(client: HttpClient, url: string, limits = LIMITS): Asked {
  const heard: Heard = { status: 0, headers: {}, body: "", error: undefined };
  let settle: (heard: Heard) => void = () => {};
  let progress: () => void = () => {};
  const over = new Promise<Heard>((resolve) => (settle = resolve));
  const call = client.send(
    { method: "POST", url, headers: { "content-type": "application/json", "x-one": "1" }, body: "{}" },
    {
      onHead(status, headers) {
        heard.status = status;
        heard.headers = headers.record();
        progress();
      },
      onChunk(bytes) {
        heard.body += bytes.toString();
        progress();
      },
      onEnd: () => settle(heard),
      onError(error) {
        heard.error = error;
        settle(heard);
      },
    },
    limits,
  );
  return { call, heard, over, next: () => new Promise((resolve) => (progress = resolve)) };
}

async function failureOf(asked: Asked): Promise<{ kind?: string; reason?: string }> {
  const { error } = await asked.over;
  return { kind: error?.kind, reason: error?.reason };
}

test("a call goes out as given and its answer comes back whole", async (t) => {
  const { client, upstream, clock } = await bench(t);
  upstream.answer(statusAnswer(418, { short: "stout" }, { "X-Pot": "tea" }));
  const heard = await ask(client, `${upstream.url}/pour?cups=2`, { ...LIMITS, traceparent: "00-a-b-01" })
    .over;
  assert.deepEqual([heard.status, heard.body, heard.headers["x-pot"]], [418, '{"short":"stout"}', "tea"]);
  const [request] = upstream.requests;
  assert.deepEqual([request?.method, request?.path, request?.body], ["POST", "/pour?cups=2", "{}"]);
  assert.equal(request?.headers["x-one"], "1");
  assert.equal(request?.headers.traceparent, "00-a-b-01");
  await client.close();
  assert.equal(clock.pendingTimers(), 0);
});

test("calls after one another share one connection", async (t) => {
  const { client, upstream } = await bench(t);
  upstream.answer(jsonAnswer({}));
  for (let i = 0; i < 3; i++) await ask(client, upstream.url).over;
  assert.equal(upstream.connections(), 1);
});

test("no head in time is a time-out that names the limit", async (t) => {
  const { client, upstream, clock } = await bench(t);
  upstream.answer(stallAnswer());
  const asked = ask(client, upstream.url);
  await upstream.received(1);
  clock.advance(999);
  assert.equal(asked.heard.error, undefined);
  clock.advance(1);
  assert.deepEqual(await failureOf(asked), { kind: "timeout", reason: "timed out after 1000 ms" });
  assert.equal(clock.pendingTimers(), 0);
});

test("silence in the body is a time-out, and every byte puts it off", async (t) => {
  const { client, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const asked = ask(client, upstream.url);
  await asked.next();
  for (const text of ["a", "b", "c"]) {
    clock.advance(1_900);
    const came = asked.next();
    await stream.write(text);
    await came;
  }
  clock.advance(1_999);
  assert.equal(asked.heard.error, undefined);
  clock.advance(1);
  assert.deepEqual(await failureOf(asked), { kind: "timeout", reason: "timed out after 2000 ms" });
  await stream.closed;
});

test("the whole call is bounded however lively it is", async (t) => {
  const { client, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const asked = ask(client, upstream.url);
  await asked.next();
  for (let second = 1; second < 10; second++) {
    clock.advance(1_000);
    const came = asked.next();
    await stream.write(".");
    await came;
  }
  clock.advance(1_000);
  assert.deepEqual(await failureOf(asked), { kind: "timeout", reason: "timed out after 10000 ms" });
  assert.equal(asked.heard.body, ".........");
});

test("time on pause is not silence, and nothing is lost by it", async (t) => {
  const { client, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const asked = ask(client, upstream.url);
  await asked.next();
  asked.call.pause();
  await stream.write("kept");
  clock.advance(5_000);
  asked.call.resume();
  clock.advance(1_999);
  await stream.end();
  assert.equal((await asked.over).error, undefined);
  assert.equal(asked.heard.body, "kept");
});

test("a cancelled call takes its connection with it and says nothing more", async (t) => {
  const { client, upstream, clock } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer, jsonAnswer({}));
  const asked = ask(client, upstream.url);
  void asked.over.then(() => assert.fail("a cancelled call has no end"));
  await stream.opened;
  asked.call.cancel();
  await stream.closed;
  assert.equal(clock.pendingTimers(), 0);
  asked.call.cancel();
  asked.call.resume();
  assert.equal((await ask(client, upstream.url).over).status, 200);
});

test("a closed port is unreachable, and so is an invalid address", async (t) => {
  const { client, upstream } = await bench(t);
  const gone = await fakeUpstream();
  await gone.close();
  for (const url of [gone.url, "ftp://127.0.0.1/", "nonsense", "http://no-such-host.invalid/"]) {
    assert.deepEqual(await failureOf(ask(client, url)), { kind: "unreachable", reason: "unreachable" });
  }
  upstream.answer(jsonAnswer({}));
  assert.equal((await ask(client, upstream.url).over).status, 200);
});

test("a connection that breaks is told apart by whether a head had come", async (t) => {
  const { client, upstream } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(hangUpAnswer(), stream.answer);
  assert.deepEqual(await failureOf(ask(client, upstream.url)), { kind: "reset", reason: "unreachable" });
  const asked = ask(client, upstream.url);
  await asked.next();
  await stream.hangUp();
  const reason = "connection lost before the answer was complete";
  assert.deepEqual(await failureOf(asked), { kind: "reset", reason });
});

test("an answer that is not HTTP is a protocol error", async (t) => {
  const { client, upstream } = await bench(t);
  upstream.answer(garbageAnswer());
  const failed = { kind: "protocol", reason: "answered with malformed HTTP" };
  assert.deepEqual(await failureOf(ask(client, upstream.url)), failed);
});

test("a header that cannot be sent is named without its value", async (t) => {
  const { client, upstream } = await bench(t);
  const asked = ask(client, upstream.url, { ...LIMITS, traceparent: "bad\nvalue" });
  const { error } = await asked.over;
  assert.deepEqual(
    [error?.kind, error?.reason],
    ["protocol", "could not be asked: invalid traceparent header"],
  );
});

test("a body beyond its limit ends the call", async (t) => {
  const { client, upstream } = await bench(t);
  upstream.answer(cutAnswer("x".repeat(2_000), 100));
  const asked = ask(client, upstream.url, { ...LIMITS, bodyBytesMax: 1_000 });
  const reason = "the answer exceeds 1000 bytes";
  assert.deepEqual(await failureOf(asked), { kind: "protocol", reason });
  assert.equal(asked.heard.body.length, 1_000);
});

test("calls beyond the connections wait in turn, and beyond that are refused", async (t) => {
  const { client, upstream } = await bench(t, { connectionsPerOrigin: 2 });
  const first = handPlayedStream();
  const second = handPlayedStream();
  upstream.answer(first.answer, second.answer, jsonAnswer("third"), jsonAnswer("fourth"));
  const running = [ask(client, upstream.url), ask(client, upstream.url)];
  const waiting = [ask(client, upstream.url), ask(client, upstream.url)];
  assert.deepEqual(await failureOf(ask(client, upstream.url)), {
    kind: "exhausted",
    reason: "all 2 connections are in use",
  });
  await upstream.received(2);
  assert.equal(upstream.requests.length, 2);
  await Promise.all([first.end(), second.end()]);
  const bodies = await Promise.all(waiting.map(async ({ over }) => (await over).body));
  assert.deepEqual(bodies.sort(), ["fourth", "third"]);
  for (const { over } of running) assert.equal((await over).error, undefined);
});

test("a call with a limit of its own does not wait, and idle connections are no hindrance", async (t) => {
  const { client, upstream } = await bench(t);
  const host = new URL(upstream.url).host;
  const limited = { ...LIMITS, connectionsMax: 1 };
  const first = handPlayedStream();
  upstream.answer(first.answer, jsonAnswer("second"));
  const running = ask(client, upstream.url, limited);
  await first.opened;
  const refused = await failureOf(ask(client, upstream.url, limited));
  assert.deepEqual(refused, { kind: "exhausted", reason: "all 1 connections are in use" });
  assert.deepEqual(client.connections(), [{ host, inUse: 1, idle: 0, exhausted: 1 }]);
  await first.end();
  await running.over;
  assert.deepEqual(client.connections(), [{ host, inUse: 0, idle: 1, exhausted: 1 }]);
  assert.equal((await ask(client, upstream.url, limited).over).body, '"second"'.replaceAll('"', ""));
});

test("a call canceled while it waits is never sent, and another takes its place", async (t) => {
  const { client, upstream } = await bench(t, { connectionsPerOrigin: 1 });
  const stream = handPlayedStream();
  upstream.answer(stream.answer, jsonAnswer("for the last one"));
  const running = ask(client, upstream.url);
  const impatient = ask(client, upstream.url);
  await stream.opened;
  impatient.call.cancel();
  const patient = ask(client, upstream.url);
  await stream.end();
  await running.over;
  assert.equal((await patient.over).body, "for the last one");
  assert.equal(upstream.requests.length, 2);
});

test("a call canceled while it connects does not delay the next one", async (t) => {
  const { client, upstream } = await bench(t, { connectionsPerOrigin: 1 });
  upstream.answer(jsonAnswer("second"));
  const first = ask(client, upstream.url);
  const second = ask(client, upstream.url);
  first.call.cancel();
  assert.equal((await second.over).body, "second");
  assert.equal(upstream.requests.length, 1);
});

test("closing waits for what runs, then leaves no connection", async (t) => {
  const { client, upstream } = await bench(t);
  const stream = handPlayedStream();
  upstream.answer(stream.answer);
  const asked = ask(client, upstream.url);
  await stream.opened;
  let closed = false;
  const closing = client.close().then(() => (closed = true));
  await stream.write("still here");
  assert.equal(closed, false);
  await stream.end();
  await closing;
  assert.equal((await asked.over).body, "still here");
});
