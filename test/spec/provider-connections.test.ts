/** Connections to providers: a limit of ours that refuses attempts is no failure of the provider's. */
import assert from "node:assert/strict";
import { forwardProxy } from "../net/forward-proxy.ts";
import { assertAnswered, assertRefused, at } from "./kit/client.ts";
import { endpointEntry } from "./kit/config.ts";
import type { EventStream } from "./kit/event-stream.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import { chunk } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const ASK = { message: "Hello" };
const BUSY = "Provider call refused: OpenAI: all 2 connections are in use";

/** A gateway that may open two connections to the provider, and two streams that use them. */
async function busy(t: Closer): Promise<{ g: Harness; end: () => Promise<void> }> {
  const failover = [{ credential: "echo", model: "echo" }];
  const g = await startGateway(t, {
    root: { providers: { openai: { max_connections: 2 } } },
    endpoints: [endpointEntry({ name: "Spare", failover })],
  });
  const played = [g.provider.opens(), g.provider.opens()];
  const streams: EventStream[] = [];
  for (const stream of played) {
    const asked = g.stream(ASK);
    await stream.send(chunk({ content: "Tea" }));
    streams.push(await asked);
  }
  const end = async (): Promise<void> => {
    for (const stream of played) {
      await stream.send(chunk({}, "stop"));
      await stream.send("[DONE]");
      await stream.end();
    }
    for (const stream of streams) await stream.rest();
  };
  return { g, end };
}

verifies(
  "provider.connections",
  "a call that would need one connection too many is a 503 of ours",
  async (t) => {
    const { g, end } = await busy(t);
    for (let n = 0; n < 6; n++) {
      const refused = await g.call(ASK);
      assertRefused(refused, 503, BUSY);
      assert.equal(refused.headers["retry-after"], "1");
    }
    const streamed = await g.stream(ASK);
    await streamed.rest();
    assert.equal(at(JSON.parse(streamed.remainder), "error"), BUSY);
    const { text } = await g.admin.send("/metrics", { method: "GET" });
    const host = new URL(g.provider.url).host;
    assert.ok(text.includes(`sluice_provider_connections{host="${host}",state="in_use"} 2`), text);
    assert.ok(text.includes(`sluice_provider_connections_exhausted{host="${host}"} 7`), text);
    assert.doesNotMatch(text, /sluice_circuit_open\{[^}]*\} 1/);
    await end();
    g.provider.says("Free again.");
    assert.equal(assertAnswered(await g.call(ASK)), "Free again.");
  },
);

verifies(
  "provider.connections",
  "with a next target the call is answered by it, and the first stays in use",
  async (t) => {
    const { g, end } = await busy(t);
    for (let n = 0; n < 6; n++) assert.equal(assertAnswered(await g.call(ASK, { slug: "spare" })), "Hello");
    await end();
    g.provider.says("From the first.");
    assert.equal(assertAnswered(await g.call(ASK, { slug: "spare" })), "From the first.");
    const last = g.lines.findLast((line) => line.includes('"attempts"')) ?? "{}";
    assert.equal(at(JSON.parse(last), "attempts", "length"), 1, "the circuit is closed");
  },
);

verifies(
  "provider.proxy",
  "whole and streamed calls of a gateway go through the provider's forward proxy",
  async (t) => {
    const proxy = await forwardProxy(t);
    const g = await startGateway(t, { root: { providers: { openai: { proxy: proxy.url } } } });
    g.provider.says("Hello from afar.");
    assert.equal(assertAnswered(await g.call(ASK)), "Hello from afar.");
    const stream = g.provider.opens();
    const asked = g.stream(ASK);
    await stream.send(chunk({ content: "Tea" }));
    const events = await asked;
    await stream.send(chunk({}, "stop"));
    await stream.send("[DONE]");
    await stream.end();
    await events.rest();
    assert.deepEqual(
      proxy.asked.map(({ to }) => to),
      [new URL(g.provider.url).host],
    );
  },
);

verifies(
  "provider.proxy",
  "a proxy that refuses is a failed attempt, and the provider is not called",
  async (t) => {
    const proxy = await forwardProxy(t, "refuse");
    const g = await startGateway(t, { root: { providers: { openai: { proxy: proxy.url } } } });
    assertRefused(await g.call(ASK), 502, "Provider call failed: OpenAI unreachable");
    assert.equal(g.provider.requests.length, 0);
  },
);
