/** How long streams may take: to their first content, between two reads, and as a whole. */
import assert from "node:assert/strict";
import { type HandPlayedStream, stallAnswer } from "../../src/testing/fake-upstream.ts";
import { assertAnswered, at } from "./kit/client.ts";
import { type EventStream, textOf } from "./kit/event-stream.ts";
import { type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { chunk } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const ask = { message: "Hello" };
const failover = [{ credential: "main", model: "gpt-4o" }];
const role = chunk({ role: "assistant", content: "" });

type Settings = NonNullable<StartOptions["root"]>;

function openai(settings: object): Settings {
  return { providers: { openai: settings } };
}

/** A stream whose first word the client has. */
async function begun(g: Harness): Promise<{ played: HandPlayedStream; stream: EventStream }> {
  const played = g.provider.opens();
  const [stream] = await Promise.all([g.stream(ask), played.send(chunk({ content: "One " }))]);
  await stream.next();
  await stream.next();
  return { played, stream };
}

function failureOf(events: readonly string[]): string {
  assert.equal(events.at(-1), "[DONE]");
  return String(at(JSON.parse(events.at(-2) ?? ""), "error"));
}

verifies(
  ["stream.no-total-limit", "config.defaults.provider"],
  "an active stream may last longer than the limit of a whole answer",
  async (t) => {
    const g = await startGateway(t);
    const { played, stream } = await begun(g);
    for (let minute = 1; minute <= 10; minute++) {
      g.clock.advance(59_999);
      await played.send(chunk({ content: "more " }));
      while (!(await stream.next())?.includes("more "));
    }
    await played.send(chunk({}, "stop"));
    await played.send("[DONE]");
    await played.end();
    assert.equal((await stream.rest()).at(-1), "[DONE]");
    assert.match(g.lines.at(-1) ?? "", /"outcome":"done"/);
  },
);

verifies("stream.idle", "silence inside a stream ends it after `stream_idle_timeout_ms`", async (t) => {
  for (const [root, server, ms] of [
    [openai({}), {}, 60_000],
    [openai({ stream_idle_timeout_ms: 5_000 }), {}, 5_000],
    [openai({ stream_idle_timeout_ms: 90_000 }), { stream_idle_timeout_ms: 7_000 }, 7_000],
  ] as const) {
    const g = await startGateway(t, { root, server, endpoint: { failover } });
    const { played, stream } = await begun(g);
    g.clock.advance(ms - 1);
    await played.send(chunk({ content: "two" }));
    while (!(await stream.next())?.includes("two"));
    g.clock.advance(ms);
    const events = await stream.rest();
    assert.equal(failureOf(events), `Provider call failed: OpenAI timed out after ${ms} ms`);
    await played.closed;
  }
});

verifies(
  "failover.on.timeout",
  "a head, a role or comments are not content: the next entry is tried after `first_byte_timeout_ms`",
  async (t) => {
    const g = await startGateway(t, {
      root: openai({ first_byte_timeout_ms: 2_000 }),
      endpoint: { failover },
    });
    const begin: Readonly<Record<string, (played: HandPlayedStream) => Promise<void>>> = {
      head: (played) => played.write(""),
      role: (played) => played.send(role),
      comments: (played) => played.write(": processing\n\n"),
    };
    for (const [name, starts] of Object.entries(begin)) {
      const asked = g.provider.requests.length;
      const played = g.provider.opens();
      g.provider.says("Second.");
      const stream = g.stream(ask);
      await g.provider.received(asked + 1);
      g.clock.advance(1_000);
      await starts(played);
      g.clock.advance(1_000);
      assert.equal(textOf(await (await stream).rest()), "Second.", name);
      await played.closed;
      g.provider.says("Yes.");
      assertAnswered(await g.call(ask));
    }
    g.provider.answer(stallAnswer());
    g.provider.says("Second.");
    const asked = g.provider.requests.length;
    const stream = g.stream(ask);
    await g.provider.received(asked + 1);
    g.clock.advance(2_000);
    assert.equal(textOf(await (await stream).rest()), "Second.", "no head at all");
  },
);

verifies(
  "server.stream-timeout",
  "`server.stream_timeout_ms` limits a whole stream where it is set",
  async (t) => {
    const g = await startGateway(t, { server: { stream_timeout_ms: 70_000 } });
    const { played, stream } = await begun(g);
    g.clock.advance(50_000);
    await played.send(chunk({ content: "two" }));
    while (!(await stream.next())?.includes("two"));
    g.clock.advance(20_000);
    assert.equal(failureOf(await stream.rest()), "Provider call failed: OpenAI timed out after 70000 ms");
    await played.closed;
  },
);

verifies(
  "failover.on.timeout.whole",
  "a whole answer has `timeout_ms`, and no other limit of the provider's",
  async (t) => {
    const g = await startGateway(t, {
      root: openai({ first_byte_timeout_ms: 1_000, stream_idle_timeout_ms: 1_000 }),
    });
    const played = g.provider.opens();
    const answer = g.call(ask);
    await g.provider.received(1);
    g.clock.advance(59_999);
    await played.write('{"choices":[{"message":{"content":"Late."},"finish_reason":"stop"}]}');
    await played.end();
    assert.equal(assertAnswered(await answer), "Late.");
  },
);
