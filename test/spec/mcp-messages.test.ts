/** MCP messages beside the answers: requests that are withdrawn, log messages, requests of upstream servers. */
import assert from "node:assert/strict";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { handPlayedStream, stallAnswer } from "../../src/testing/fake-upstream.ts";
import { type Answer, at, until } from "./kit/client.ts";
import { echoEntry } from "./kit/config.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import {
  AGENT,
  ask,
  BRIDGE,
  bridgeParts,
  DISCOVERED,
  EVENTS,
  type FakeMcpServer,
  INITIALIZED,
  mcpServer,
  type Script,
  text,
  tools,
  use,
} from "./kit/mcp.ts";
import { assertRpcError, type Message, statelessRpc } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const LEGACY: Script = {
  initialize: INITIALIZED,
  "tools/list": tools("search"),
  "tools/call": text("found"),
};
const STATELESS: Script = { "server/discover": DISCOVERED, "tools/list": tools("search") };

interface Bench extends Harness {
  readonly server: FakeMcpServer;
}

/** A bridge with the tools `ask` (a provider), `echo` (no provider) and `docs__search` (an upstream server). */
async function bench(t: Closer, script: Script = LEGACY): Promise<Bench> {
  const server = await mcpServer(t, script);
  const project = { mcp_servers: [{ name: "docs", url: server.url }] };
  const endpoints = [echoEntry({ name: "Echo", expose_as_mcp_tool: true })];
  const parts = bridgeParts({ endpoint: { expose_as_mcp_tool: true }, endpoints, project });
  return { ...(await startGateway(t, parts)), server };
}

/** What a client withdraws its request with. */
const cancelled = (requestId: unknown): Message => ({
  ...{ method: "notifications/cancelled", id: undefined, params: { requestId, reason: "no longer needed" } },
});
const inSession = (id: string) => ({ headers: { "mcp-session-id": id, accept: EVENTS.headers.accept } });
const calling = (name: string, id: unknown = 1): Message => ({
  ...{ method: "tools/call", id, params: { name, arguments: { message: "Hello" } } },
});

/** Statuses of the calls that the gateway has logged. */
function statuses({ lines }: Harness): unknown[] {
  return lines.map((line) => at(JSON.parse(line), "status")).filter((status) => status !== undefined);
}

verifies("mcp.cancelled", "the official client's abort ends the call at the provider", async (t) => {
  const g = await bench(t);
  const client = new OldClient({ name: "test", version: "1.0.0" });
  const requestInit = { headers: { authorization: `Bearer ${AGENT}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${g.client.origin}${BRIDGE}`), {
    requestInit,
  });
  // What a transport may leave out, this one does not.
  await client.connect(transport as Transport);
  t.after(() => client.close());
  assert.match(String(transport.sessionId), /^[0-9a-f-]{36}$/);
  g.provider.answer(stallAnswer());
  const controller = new AbortController();
  const params = { name: "ask", arguments: { message: "Hello" } };
  const call = client.callTool(params, undefined, { signal: controller.signal });
  await g.provider.received(1);
  controller.abort("no longer needed");
  await assert.rejects(call, /no longer needed/);
  await until(() => g.provider.connections() === 0, "the provider's connection closes");
  await until(() => g.gateway.openCalls === 0, "the call has ended");
  assert.ok(statuses(g).includes(499));
  g.provider.says("Fine.");
  assert.deepEqual((await client.callTool(params)).content, [{ type: "text", text: "Fine." }]);
});

verifies("mcp.cancelled", "a withdrawn call of an upstream tool is withdrawn at its server", async (t) => {
  const g = await bench(t);
  await use(g.client, "docs__search");
  const played = handPlayedStream();
  g.server.answer(played.answer, (response) => void response.writeHead(202).end());
  const call = ask(g.client, calling("docs__search", "seven"), inSession("s"));
  await played.opened;
  assert.equal((await ask(g.client, cancelled("seven"), inSession("s"))).status, 202);
  assertWithdrawn(await call);
  await played.closed;
  await until(() => g.server.methods().includes("notifications/cancelled"), "the server is told");
  const { message } = g.server.last("notifications/cancelled");
  assert.equal(at(message, "params", "requestId"), at(g.server.last("tools/call").message, "id"));
  await until(() => g.gateway.openCalls === 0, "the call has ended");
});

/** An event stream that ends without a response. */
function assertWithdrawn(answer: Answer): void {
  assert.deepEqual([answer.status, answer.text], [200, ""]);
  assert.match(String(answer.headers["content-type"]), /^text\/event-stream/);
}

verifies(
  "mcp.cancelled",
  "a request is found by its client's session and its id, and by nothing less",
  async (t) => {
    const g = await bench(t);
    g.provider.answer(stallAnswer());
    const calls = [
      ask(g.client, calling("ask", 1), inSession("a")),
      ask(g.client, calling("ask", 1), inSession("b")),
      ask(g.client, calling("ask", 1)),
      ask(g.client, calling("ask", 1)),
      ask(g.client, calling("ask", 2)),
    ];
    await g.provider.received(5);
    const open = async (message: Message, sent = {}): Promise<number> => {
      await ask(g.client, message, sent);
      return g.gateway.openCalls;
    };
    assert.equal(await open(cancelled("1"), inSession("a")), 5, "an id is not its text");
    assert.equal(await open(cancelled(9), inSession("a")), 5, "no such request");
    assert.equal(await open({ method: "notifications/cancelled", id: undefined }, inSession("a")), 5);
    assert.equal(await open(cancelled(1)), 5, "two clients without a session use the same id");
    assert.equal(await open(cancelled(1), inSession("a")), 4);
    assertWithdrawn((await calls[0]) ?? assert.fail());
    assert.equal(await open(cancelled(2)), 3);
    assertRpcError((await calls[4]) ?? assert.fail(), -32800, /cancelled/);
    g.clock.advance(g.gateway.config.server.request_timeout_ms + 1000);
    for (const n of [1, 2, 3]) assertRpcError((await calls[n]) ?? assert.fail(), -32603, /./);
  },
);

verifies("mcp.cancelled", "of a batch only the request that is named ends", async (t) => {
  const g = await bench(t);
  g.provider.answer(stallAnswer());
  const batch = [calling("ask", 1), calling("echo", 2)].map((message) => ({ jsonrpc: "2.0", ...message }));
  const answers = g.client.send(BRIDGE, { token: AGENT, body: batch });
  await g.provider.received(1);
  await ask(g.client, cancelled(1));
  const { json } = await answers;
  assert.deepEqual([at(json, "length"), at(json, 0, "id")], [1, 2]);
  assert.equal(at(json, 0, "result", "content", 0, "text"), "Hello");
});

/** The messages of an answer that came as events. */
function messagesIn({ text }: Answer): unknown[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line): unknown => JSON.parse(line.slice("data: ".length)));
}

const log = (level: string): object => ({
  ...{ jsonrpc: "2.0", method: "notifications/message" },
  params: { level, logger: "docs", data: { step: level } },
});

/** Plays one call of the upstream tool: these messages, then the result. */
async function playing(g: Bench, messages: readonly object[], call: () => Promise<Answer>): Promise<Answer> {
  const played = handPlayedStream();
  g.server.answer(played.answer);
  const answer = call();
  await played.opened;
  for (const message of messages) await played.send(message);
  const id = at(g.server.last("tools/call").message, "id");
  await played.send({ jsonrpc: "2.0", id, result: { resultType: "complete", content: [] } });
  await played.end();
  return answer;
}

verifies(
  "mcp.upstream.log",
  "log messages of an upstream tool reach its client, from its level on",
  async (t) => {
    const g = await bench(t);
    const initialize = { method: "initialize", params: { protocolVersion: "2025-11-25" } };
    const begun = await ask(g.client, initialize);
    assert.deepEqual(at(begun.json, "result", "capabilities"), { tools: {}, logging: {} });
    const session = inSession(String(begun.headers["mcp-session-id"]));
    const call = () => ask(g.client, calling("docs__search"), session);
    await call();
    const levels = ["debug", "warning", "error"];
    const heard = async (): Promise<unknown[]> =>
      messagesIn(await playing(g, levels.map(log), call))
        .filter((message) => at(message, "method") === "notifications/message")
        .map((message) => at(message, "params"));
    assert.deepEqual(
      await heard(),
      levels.map((level) => ({ level, logger: "docs", data: { step: level } })),
    );
    const set = (level: unknown) => ask(g.client, { method: "logging/setLevel", params: { level } }, session);
    assert.deepEqual(at((await set("warning")).json, "result"), {});
    assert.deepEqual(
      (await heard()).map((params) => at(params, "level")),
      ["warning", "error"],
    );
    assertRpcError(await set("loud"), -32602, /must be one of debug/);
  },
);

verifies(
  "mcp.upstream.log",
  "the stateless revision sends log messages to those who ask in their request",
  async (t) => {
    const g = await bench(t, { ...STATELESS, "tools/call": text("found") });
    const call = (logLevel?: string) => () => {
      const meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        ...(logLevel === undefined ? {} : { "io.modelcontextprotocol/logLevel": logLevel }),
      };
      const message = { method: "tools/call", params: { name: "docs__search", arguments: {} } };
      return statelessRpc(g.client, message, { path: BRIDGE, token: AGENT, meta, ...EVENTS });
    };
    await call()();
    const levelsAfter = async (logLevel?: string): Promise<unknown[]> =>
      messagesIn(await playing(g, [log("info"), log("error")], call(logLevel)))
        .filter((message) => at(message, "method") === "notifications/message")
        .map((message) => at(message, "params", "level"));
    const asked = () =>
      at(g.server.last("tools/call").message, "params", "_meta", "io.modelcontextprotocol/logLevel");
    assert.deepEqual([await levelsAfter("error"), asked()], [["error"], "error"]);
    assert.deepEqual([await levelsAfter(), asked()], [[], undefined]);
  },
);

verifies("mcp.upstream.input", "what an upstream server asks of its client is refused by name", async (t) => {
  const g = await bench(t);
  await use(g.client, "docs__search");
  const methods = ["sampling/createMessage", "elicitation/create", "roots/list", "something/else"];
  const requests = methods.map((method, n) => ({ jsonrpc: "2.0", id: `r${n}`, method, params: {} }));
  const call = () => use(g.client, "docs__search");
  const before = g.server.requests.length;
  const played = playing(g, requests, call);
  await g.server.received(before + 1 + methods.length);
  await played;
  const refusals = g.server.requests
    .slice(before + 1)
    .map(({ body }) => at(JSON.parse(body), "error", "message"));
  assert.deepEqual(refusals, [
    "The gateway's MCP client does not support sampling/createMessage.",
    "The gateway's MCP client does not support elicitation/create.",
    "The gateway's MCP client does not support roots/list.",
    "Method not found.",
  ]);
});

verifies(
  "mcp.upstream.input",
  "a stateless server that needs more is a failed call that names what it needs, -32021 an HTTP 400",
  async (t) => {
    const inputRequests = { a: { method: "elicitation/create", params: {} } };
    let said: object = { result: { resultType: "input_required", inputRequests } };
    const g = await bench(t, { ...STATELESS, "tools/call": () => said as { result: object } }); // as a script has it
    const call = () =>
      statelessRpc(
        g.client,
        { method: "tools/call", params: { name: "docs__search", arguments: {} } },
        { path: BRIDGE, token: AGENT },
      );
    assertRpcError(await call(), -32603, /asks for elicitation\/create, which the gateway does not support/);
    said = {
      error: {
        code: -32021,
        message: "Missing required client capability",
        data: { requiredCapabilities: {} },
      },
    };
    assertRpcError(await call(), -32021, /Missing required/, 400);
    assertRpcError(await use(g.client, "docs__search"), -32021, /Missing required/, 200);
  },
);
