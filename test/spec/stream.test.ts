/** Streamed answers: their shape, their failures, and who holds back whom. */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import { assertRefused, at, until } from "./kit/client.ts";
import { echoEntry, PROJECT } from "./kit/config.ts";
import { chunksOf, textOf } from "./kit/event-stream.ts";
import { callBytes, startGateway } from "./kit/gateway.ts";
import { chunk, usageChunk } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const ask = { message: "Hello" };

verifies(
  ["stream.events", "stream.content", "stream.usage"],
  "a stream is role, text, finish, usage with meta, [DONE], for every provider",
  async (t) => {
    const g = await startGateway(t, { endpoints: [echoEntry({ name: "Echo" })] });
    g.provider.streams(["Good", " day", "."], { usage: { prompt: 9, completion: 3 } });
    for (const slug of ["ask", "echo"]) {
      const stream = await g.stream({ message: "Good day." }, { slug });
      assert.equal(stream.status, 200);
      assert.match(String(stream.headers["content-type"]), /^text\/event-stream/);
      assert.equal(stream.headers["cache-control"], "no-cache");
      const events = await stream.rest();
      assert.equal(events.at(-1), "[DONE]");
      assert.equal(textOf(events), "Good day.");
      const chunks = chunksOf(events);
      for (const key of ["id", "model"])
        assert.equal(new Set(chunks.map((one) => at(one, key))).size, 1, key);
      for (const one of chunks) assert.equal(at(one, "object"), "chat.completion.chunk");
      assert.equal(at(chunks[0], "choices", 0, "delta", "role"), "assistant");
      const reasons = chunks.map((one) => at(one, "choices", 0, "finish_reason")).filter((reason) => reason);
      assert.deepEqual(reasons, ["stop"]);
      const last = chunks.at(-1);
      assert.deepEqual(at(last, "choices"), []);
      assert.equal(typeof at(last, "usage", "total_tokens"), "number");
      assert.deepEqual(at(last, "meta"), { request_id: stream.headers["x-request-id"] });
      assert.equal(chunks.filter((one) => at(one, "usage")).length, 1);
    }
  },
);

verifies(["stream.usage", "provider.usage"], "the usage of a stream is the provider's", async (t) => {
  const g = await startGateway(t);
  g.provider.streams(["Yes."], { usage: { prompt: 9, completion: 3 } });
  const chunks = chunksOf(await (await g.stream(ask)).rest());
  assert.deepEqual(at(chunks.at(-1), "usage"), { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 });
});

verifies(
  ["stream.refused-before", "provider.head-held", "stream.failover-early"],
  "what fails before its first content fails over, and then as JSON with its status",
  async (t) => {
    const g = await startGateway(t, { endpoint: { failover: [{ credential: "main", model: "gpt-4o" }] } });
    // A head and an event without content are not yet an answer.
    const early = g.provider.opens();
    g.provider.streams(["From the second."]);
    const stream = g.stream(ask);
    await early.send(chunk({ role: "assistant", content: "" }));
    await early.hangUp();
    assert.equal(textOf(await (await stream).rest()), "From the second.");
    assert.equal(g.provider.sent("model"), "gpt-4o");
    g.provider.failsWith(503);
    assertRefused(await g.call({ ...ask, stream: true }), 502, /^Provider call failed: /);
    assertRefused(await g.call({ ...ask, stream: true, session_id: 7 }), 400, /session_id/);
  },
);

verifies(
  ["stream.failure-late", "stream.no-failover-late", "provider.stream.incomplete"],
  "after the first byte a failure is an event with the error body, then [DONE], without failover",
  async (t) => {
    const g = await startGateway(t, { endpoint: { failover: [{ credential: "main", model: "gpt-4o" }] } });
    const breaks: ((stream: ReturnType<typeof g.provider.opens>) => Promise<void>)[] = [
      (stream) => stream.hangUp(),
      (stream) => stream.end(),
      (stream) => stream.send({ error: { message: "overloaded", type: "server_error" } }),
    ];
    for (const breakOff of breaks) {
      const asked = g.provider.requests.length;
      const played = g.provider.opens();
      const stream = await Promise.all([g.stream(ask), played.send(chunk({ content: "Half an ans" }))]);
      await breakOff(played);
      const events = await stream[0].rest();
      assert.equal(stream[0].status, 200);
      assert.equal(events.at(-1), "[DONE]");
      const failure: unknown = JSON.parse(events.at(-2) ?? "");
      assert.equal(at(failure, "ok"), false);
      assert.match(String(at(failure, "error")), /^Provider call failed: OpenAI /);
      assert.equal(textOf(events), "Half an ans");
      assert.equal(g.provider.requests.length, asked + 1);
    }
  },
);

verifies("stream.keep-alive", "after 15 s of silence a comment is sent, and again", async (t) => {
  const patient = { timeout_ms: 600_000, first_byte_timeout_ms: 600_000 };
  const g = await startGateway(t, { root: { providers: { openai: patient } } });
  const played = g.provider.opens();
  const [stream] = await Promise.all([g.stream(ask), played.send(chunk({ content: "One" }))]);
  assert.equal(at(JSON.parse((await stream.next()) ?? ""), "choices", 0, "delta", "role"), "assistant");
  await stream.next();
  for (let n = 0; n < 2; n += 1) {
    g.clock.advance(14_999);
    g.clock.advance(1);
    assert.match((await stream.next()) ?? "", /^:/);
  }
  await played.send(chunk({}, "stop"));
  await played.send("[DONE]");
  await played.end();
  assert.equal((await stream.rest()).at(-1), "[DONE]");
});

verifies(
  ["stream.client-gone", "stream.client-gone.settled"],
  "a client that leaves cancels the provider's call and pays what it used",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: { max_output_tokens: 100, estimated_cost_per_1k_tokens_usd: 1, monthly_budget_usd: 1 },
    });
    const standing = async () =>
      await g.gateway.store.spending(`spend:${PROJECT}/ask`, monthOf(g.clock.nowMs()));
    const played = g.provider.opens();
    const [stream] = await Promise.all([g.stream(ask), played.send(chunk({ content: "Twelve chars" }))]);
    await stream.next();
    stream.leave();
    await played.closed;
    await until(() => g.lines.some((line) => line.includes("client_gone")), "the call is recorded");
    // Hello: 2 tokens; the twelve characters: 3.
    assert.deepEqual(await standing(), { settledNanoUsd: 5_000_000, reservedNanoUsd: 0 });
  },
);

verifies(
  "stream.client-gone",
  "a client that disconnects before the first content cancels the provider call as well",
  async (t) => {
    const g = await startGateway(t);
    const played = g.provider.opens();
    const left = g.client.abandon(callBytes({ ...ask, stream: true }));
    await played.opened;
    left();
    await played.closed;
  },
);

verifies("stream.backpressure", "a client that does not read holds back the provider", async (t) => {
  const g = await startGateway(t);
  const played = g.provider.opens();
  const piece = chunk({ content: "x".repeat(64 * 1024) });
  const [stream] = await Promise.all([g.stream(ask), played.send(piece)]);
  stream.pause();
  // The system takes a piece only while somebody reads at the other end: with the client asleep it stops soon.
  let taken = 0;
  let stopped = false;
  const pieces = 2_000;
  const flood = (async () => {
    for (let n = 0; n < pieces && !stopped; n += 1) {
      await played.send(piece);
      taken += 1;
    }
  })();
  let seen = -1;
  let quietRounds = 0;
  await until(() => {
    quietRounds = taken === seen ? quietRounds + 1 : 0;
    seen = taken;
    return quietRounds > 2_000;
  }, "the provider is held back");
  assert.ok(taken < pieces / 2, `${taken} pieces of 64 KiB were taken while nobody read`);
  stopped = true;
  stream.resume();
  await flood;
  await played.send(chunk({}, "stop"));
  await played.send("[DONE]");
  await played.end();
  assert.equal(textOf(await stream.rest()).length, (taken + 1) * 64 * 1024);
});

verifies("stream.output-schema", "an output schema is judged at the end of a stream", async (t) => {
  const g = await startGateway(t, { endpoint: { output_schema: { type: "object", required: ["title"] } } });
  g.provider.streams(['{"tit', 'le":1}']);
  const good = await (await g.stream(ask)).rest();
  assert.equal(textOf(good), '{"title":1}');
  assert.ok(at(chunksOf(good).at(-1), "usage"));
  g.provider.streams(['{"nam', 'e":1}']);
  const events = await (await g.stream(ask)).rest();
  assert.equal(textOf(events), '{"name":1}');
  assert.equal(events.at(-1), "[DONE]");
  const failure = chunksOf(events).at(-1);
  assert.equal(at(failure, "ok"), false);
  assert.match(String(at(failure, "error")), /^Validation failed: .*title/);
});

verifies(
  "stream.content",
  "text and finish reason in one event of the provider are two events",
  async (t) => {
    const g = await startGateway(t);
    const played = g.provider.opens();
    const pending = g.stream(ask);
    await played.send(chunk({ role: "assistant", content: "All at once." }, "length"));
    await played.send(usageChunk());
    await played.send("[DONE]");
    await played.end();
    const events = await (await pending).rest();
    assert.equal(textOf(events), "All at once.");
    const reasons = chunksOf(events).map((one) => at(one, "choices", 0, "finish_reason"));
    assert.deepEqual(
      reasons.filter((reason) => reason),
      ["length"],
    );
  },
);
