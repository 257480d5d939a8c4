/** Upstream MCP servers behind the bridge: their tools, calls that are passed on, both eras, and what goes wrong. */
import assert from "node:assert/strict";
import {
  garbageAnswer,
  handPlayedStream,
  hangUpAnswer,
  type ScriptedAnswer,
  type UpstreamRequest,
} from "../../src/testing/fake-upstream.ts";
import { spend } from "../../src/testing/store-claims.ts";
import { at, until } from "./kit/client.ts";
import { echoEntry, hashOf, PROJECT } from "./kit/config.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import {
  AGENT,
  ask,
  BRIDGE,
  bridgeParts,
  DISCOVERED,
  EVENTS,
  INITIALIZED,
  mcpServer,
  type Script,
  text,
  toolNames,
  tools,
  use,
} from "./kit/mcp.ts";
import { assertRpcError } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const LEGACY: Script = {
  initialize: INITIALIZED,
  "tools/list": tools("search"),
  "tools/call": text("found"),
};
const STATELESS: Script = {
  "server/discover": DISCOVERED,
  "tools/list": tools("search"),
  "tools/call": { result: { resultType: "complete", content: [{ type: "text", text: "found" }] } },
};

/** A gateway in front of these servers, by name. */
function inFrontOf(t: Closer, servers: Readonly<Record<string, string | object>>): Promise<Harness> {
  const mcp_servers = Object.entries(servers).map(([name, server]) => ({
    name,
    ...(typeof server === "string" ? { url: server } : server),
  }));
  const endpoint = echoEntry({ expose_as_mcp_tool: true });
  return startGateway(t, bridgeParts({ endpoint, project: { mcp_servers } }));
}

verifies(
  "mcp.upstream.tools",
  "tools of all servers are listed after the endpoints, with their server's name",
  async (t) => {
    const described = {
      ...{ name: "search", title: "Search", description: "Finds.", annotations: { readOnlyHint: true } },
      inputSchema: { type: "object", properties: { q: { type: "string" } } },
      outputSchema: { type: "object", properties: { hits: { type: "integer" } } },
    };
    const one = await mcpServer(t, { ...LEGACY, "tools/list": { result: { tools: [described] } } });
    const odd = [
      { name: "no spaces allowed" },
      "none",
      { inputSchema: {} },
      { name: "task", execution: { taskSupport: "required" } },
      { name: "bare" },
    ];
    const two = await mcpServer(t, { ...STATELESS, "tools/list": { result: { tools: odd } } });
    const three = await mcpServer(t, LEGACY);
    const { client } = await inFrontOf(t, {
      docs: one.url,
      "team tools": two.url,
      off: { url: three.url, is_active: false },
    });
    assert.deepEqual((await toolNames(client)).sort(), ["ask", "docs__search", "team-tools__bare"]);
    assert.equal((await toolNames(client))[0], "ask");
    const listed = at((await ask(client, { method: "tools/list" })).json, "result", "tools");
    assert.ok(Array.isArray(listed));
    const found: unknown = listed.find((tool: unknown) => at(tool, "name") === "docs__search");
    assert.deepEqual(found, { ...described, name: "docs__search" });
    assert.equal(three.requests.length, 0, "an inactive server is left alone");
  },
);

verifies(
  "mcp.upstream.tools",
  "lists are read page by page, and kept until they are old or said to have changed",
  async (t) => {
    let names = ["first"];
    const pages = (message: unknown) =>
      at(message, "params", "cursor") === undefined
        ? { result: { ...tools(...names).result, nextCursor: "more" } }
        : tools("last");
    const server = await mcpServer(t, { ...LEGACY, "tools/list": pages });
    const { client, clock } = await inFrontOf(t, { docs: server.url });
    assert.deepEqual(await toolNames(client), ["ask", "docs__first", "docs__last"]);
    names = ["second"];
    assert.deepEqual(await toolNames(client), ["ask", "docs__first", "docs__last"], "kept");
    clock.advance(30_000);
    assert.deepEqual(await toolNames(client), ["ask", "docs__second", "docs__last"], "old");

    names = ["third"];
    const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
    server.answer(
      eventsOf(changed, { jsonrpc: "2.0", id: 7, result: text("ok").result }),
      answerAgain(LEGACY, pages),
    );
    assert.equal(at((await use(client, "docs__first")).json, "result", "content", 0, "text"), "ok");
    assert.deepEqual(await toolNames(client), ["ask", "docs__third", "docs__last"], "changed");
  },
);

verifies("mcp.upstream.call", "a call and its result are passed on unchanged", async (t) => {
  const result = {
    content: [
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "text", text: "two" },
    ],
    structuredContent: { hits: 2 },
    isError: true,
    _meta: { trace: "x" },
  };
  const server = await mcpServer(t, { ...LEGACY, "tools/call": { result } });
  const { client } = await inFrontOf(t, { docs: server.url });
  const args = { q: "Zürich", deep: { list: [1, null, "x"] } };
  const answer = await use(client, "docs__search", args);
  assert.deepEqual(at(answer.json, "result"), result);
  assert.deepEqual(at(server.last("tools/call").message, "params"), { name: "search", arguments: args });
});

verifies("mcp.upstream.call", "a result in one event may be as large as a whole answer", async (t) => {
  const server = await mcpServer(t, LEGACY);
  const { client } = await inFrontOf(t, { docs: server.url });
  await use(client, "docs__search");
  const large = "x".repeat(5 * 1024 * 1024);
  server.answer((response, request) => {
    const id = at(JSON.parse(request.body), "id");
    eventsOf({ jsonrpc: "2.0", id, result: text(large).result })(response, request);
  });
  const answer = await use(client, "docs__search");
  assert.ok(at(answer.json, "result", "content", 0, "text") === large);
});

verifies("mcp.upstream.call", "progress is passed on during the call", async (t) => {
  const server = await mcpServer(t, LEGACY);
  const { client } = await inFrontOf(t, { docs: server.url });
  await use(client, "docs__search");
  const played = handPlayedStream();
  server.answer(played.answer);
  const params = { name: "docs__search", arguments: {}, _meta: { progressToken: "mine" } };
  const body = { jsonrpc: "2.0", id: "a", method: "tools/call", params };
  const opening = client.stream(BRIDGE, { token: AGENT, body, ...EVENTS });
  await played.opened;
  const sent = server.last("tools/call").message;
  const progressToken = at(sent, "params", "_meta", "progressToken");
  const report = { progressToken, progress: 1, total: 4, message: "reading" };
  await played.send({ jsonrpc: "2.0", method: "notifications/progress", params: report });
  const stream = await opening;
  const read = async (): Promise<unknown> => JSON.parse(((await stream.next()) ?? "").replace(/^[^{]*/, ""));
  assert.deepEqual(at(await read(), "params"), { ...report, progressToken: "mine" });
  await played.send({ jsonrpc: "2.0", id: at(sent, "id"), result: text("done").result });
  const last = await read();
  assert.equal(at(last, "id"), "a");
  assert.equal(at(last, "result", "content", 0, "text"), "done");
  await played.end();
});

verifies(
  ["rpc.code.upstream", "mcp.upstream.call"],
  "codes, messages and data of a server's errors are unchanged",
  async (t) => {
    for (const error of [
      { code: -32000, message: "busy", data: { retry: true } },
      { code: -32099, message: "strange" },
      { code: -32602, message: "Unknown tool: search" },
      { code: -32042, message: "elsewhere", data: [] },
      { code: 7, message: "" },
    ]) {
      const server = await mcpServer(t, { ...LEGACY, "tools/call": { error } });
      const { client } = await inFrontOf(t, { docs: server.url });
      assert.deepEqual(at((await use(client, "docs__search")).json, "error"), error);
    }
  },
);

verifies(
  "rpc.code.internal.upstream",
  "a server that is unreachable or answers garbage is -32603",
  async (t) => {
    const large = JSON.stringify("x".repeat(33 * 1024 * 1024));
    const deep = `{"jsonrpc":"2.0","id":3,"result":{"content":${"[".repeat(5000)}${"]".repeat(5000)}}}`;
    const cases: [string, Script, RegExp][] = [
      ["no JSON", { ...LEGACY, "tools/call": { status: 200, text: "<html>" } }, /malformed/],
      ["no message", { ...LEGACY, "tools/call": { status: 200, text: "[]" } }, /malformed/],
      [
        "no result",
        { ...LEGACY, "tools/call": { status: 200, text: '{"jsonrpc":"2.0","id":3}' } },
        /malformed/,
      ],
      ["no content", { ...LEGACY, "tools/call": { result: { content: 5 } } }, /malformed/],
      ["an empty answer", { ...LEGACY, "tools/call": { status: 200 } }, /no answer/],
      [
        "an empty stream",
        { ...LEGACY, "tools/call": { status: 200, type: "text/event-stream" } },
        /no answer/,
      ],
      ["too large an answer", { ...LEGACY, "tools/call": { status: 200, text: large } }, /too large/],
      ["too deep an answer", { ...LEGACY, "tools/call": { status: 200, text: deep } }, /malformed/],
      ["a status", { ...LEGACY, "tools/call": { status: 500, text: "secret stack" } }, /HTTP 500/],
      ["a refusal", { ...LEGACY, "server/discover": { status: 401 } }, /HTTP 401/],
      ["no greeting", { "server/discover": { status: 404 } }, /refused to be initialized/],
      [
        "a question",
        { ...STATELESS, "tools/call": { result: { resultType: "input_required" } } },
        /asks for more/,
      ],
    ];
    for (const [what, script, why] of cases) {
      const server = await mcpServer(t, script);
      const { client } = await inFrontOf(t, { docs: server.url });
      const answer = await use(client, "docs__search");
      assertRpcError(answer, -32603, why);
      assert.match(String(at(answer.json, "error", "message")), /^MCP server 'docs' failed: /, what);
    }
    for (const broken of [hangUpAnswer(), garbageAnswer()]) {
      const server = await mcpServer(t, {});
      server.answer(broken);
      // What was scripted first is played once.
      await fetch(server.url, { method: "POST", body: "{}" });
      const { client } = await inFrontOf(t, { docs: server.url });
      assertRpcError(await use(client, "docs__search"), -32603, /unreachable/);
    }
  },
);

verifies(
  "rpc.code.internal.upstream",
  "a dead server costs the others nothing, and is left alone for a while",
  async (t) => {
    const dead = await mcpServer(t, { "server/discover": { status: 503 } });
    const alive = await mcpServer(t, LEGACY);
    const { client, clock } = await inFrontOf(t, { dead: dead.url, docs: alive.url });
    assert.deepEqual(await toolNames(client), ["ask", "docs__search"]);
    assert.equal(dead.requests.length, 1);
    assertRpcError(await use(client, "dead__any"), -32603, /HTTP 503/);
    assert.equal(dead.requests.length, 1);
    clock.advance(6000);
    assertRpcError(await use(client, "dead__any"), -32603, /HTTP 503/);
    assert.equal(dead.requests.length, 2);
  },
);

verifies(
  "rpc.code.internal.upstream",
  "a server that lists no more keeps the tools that it had",
  async (t) => {
    let isWell = true;
    const server = await mcpServer(t, {
      ...LEGACY,
      "tools/list": () => (isWell ? tools("search") : { status: 500 }),
    });
    const { client, clock } = await inFrontOf(t, { docs: server.url });
    assert.deepEqual(await toolNames(client), ["ask", "docs__search"]);
    isWell = false;
    clock.advance(30_000);
    assert.deepEqual(await toolNames(client), ["ask", "docs__search"]);
  },
);

verifies(["mcp.gone", "mcp.upstream.call"], "a canceled call is canceled at its server", async (t) => {
  const server = await mcpServer(t, LEGACY);
  const { client, clock, gateway } = await inFrontOf(t, { docs: server.url });
  await use(client, "docs__search");
  const played = handPlayedStream();
  server.answer(played.answer, (response) => void response.writeHead(202).end());
  const slow = use(client, "docs__search");
  await played.opened;
  clock.advance(gateway.config.server.request_timeout_ms + 1000);
  assertRpcError(await slow, -32603, /took too long/);
  await played.closed;
  await until(() => server.methods().includes("notifications/cancelled"), "the server is told");
  const told = server.last("notifications/cancelled").message;
  assert.equal(at(told, "params", "requestId"), at(server.last("tools/call").message, "id"));
  await until(() => gateway.openCalls === 0, "the call has ended");

  server.answer(() => {});
  const message = (id: number, name: string) => ({
    ...{ jsonrpc: "2.0", id, method: "tools/call" },
    params: { name, arguments: { message: "Hello" } },
  });
  const asked = server.requests.length;
  const batch = client.send(BRIDGE, {
    token: AGENT,
    body: [message(1, "ask"), message(2, "docs__search")],
  });
  await server.received(asked + 1);
  clock.advance(gateway.config.server.request_timeout_ms + 1000);
  const answers = (await batch).json;
  assert.equal(at(answers, 0, "result", "content", 0, "text"), "Hello");
  assert.equal(at(answers, 1, "error", "code"), -32603, "of a batch each call has its time");
  await until(() => gateway.openCalls === 0, "all calls have ended");
});

verifies(
  "mcp.upstream.eras",
  "a server without the stateless revision is initialized, and keeps its session",
  async (t) => {
    let session = "one";
    const known = (request: UpstreamRequest): boolean => request.headers["mcp-session-id"] === session;
    const lost = {
      status: 404,
      text: '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}',
    };
    const script: Script = {
      initialize: INITIALIZED,
      "tools/list": (_message, request) => (known(request) ? tools("search") : lost),
      "tools/call": (_message, request) => (known(request) ? text("found") : lost),
    };
    const headers = {
      get "mcp-session-id"() {
        return session;
      },
    };
    const server = await mcpServer(t, script, headers);
    const { client } = await inFrontOf(t, { docs: server.url });
    assert.deepEqual(await toolNames(client), ["ask", "docs__search"]);
    assert.deepEqual(server.methods(), [
      "server/discover",
      "initialize",
      "notifications/initialized",
      "tools/list",
    ]);
    const { message, request } = server.last("tools/list");
    assert.equal(request.headers["mcp-protocol-version"], "2025-06-18");
    assert.equal(at(message, "params", "_meta"), undefined);
    assert.deepEqual(at(server.last("initialize").message, "params", "capabilities"), {});

    session = "two";
    assert.equal(at((await use(client, "docs__search")).json, "result", "content", 0, "text"), "found");
    assert.equal(server.last("tools/call").request.headers["mcp-session-id"], "two");
  },
);

verifies(
  "mcp.upstream.eras",
  "a stateless server gets envelope and headers with every request",
  async (t) => {
    const marked = { q: { type: "string", "x-mcp-header": "Query" }, n: { type: "integer" } };
    const script: Script = {
      ...STATELESS,
      "tools/list": {
        result: {
          tools: [
            { name: "søk", inputSchema: { type: "object", properties: marked } },
            { name: "search", inputSchema: { type: "object", properties: marked } },
          ],
        },
      },
    };
    const server = await mcpServer(t, script);
    const { client } = await inFrontOf(t, { docs: server.url });
    await toolNames(client);
    const answer = await use(client, "docs__search", { q: "Zürich", n: 3 });
    assert.deepEqual(at(answer.json, "result"), { content: [{ type: "text", text: "found" }] });
    assert.deepEqual(server.methods(), ["server/discover", "tools/list", "tools/call"]);
    const { message, request } = server.last("tools/call");
    const meta = at(message, "params", "_meta");
    assert.equal(at(meta, "io.modelcontextprotocol/protocolVersion"), "2026-07-28");
    assert.deepEqual(at(meta, "io.modelcontextprotocol/clientCapabilities"), {});
    assert.equal(request.headers["mcp-protocol-version"], "2026-07-28");
    assert.equal(request.headers["mcp-method"], "tools/call");
    assert.equal(request.headers["mcp-name"], "search");
    assert.equal(request.headers["mcp-param-query"], "=?base64?WsO8cmljaA==?=");
    assert.equal(request.headers["mcp-param-n"], undefined);
    await use(client, "docs__søk");
    assert.equal(server.last("tools/call").request.headers["mcp-name"], "=?base64?c8O4aw==?=");
  },
);

verifies(
  "http.traceparent",
  "a client's trace context reaches the server that its call is for",
  async (t) => {
    const server = await mcpServer(t, LEGACY);
    const { client } = await inFrontOf(t, { docs: server.url });
    const traceparent = "00-5b8aa5a2d2c872e8321cf37308d69df2-051581bf3cb55c13-01";
    await use(client, "docs__search", {}, { headers: { traceparent } });
    assert.equal(server.last("tools/call").request.headers["traceparent"], traceparent);
    assert.equal(
      server.last("initialize").request.headers["traceparent"],
      undefined,
      "others' calls wait too",
    );
    await use(client, "docs__search");
    assert.equal(server.last("tools/call").request.headers["traceparent"], undefined);
  },
);

verifies("mcp.upstream.chain", "the token's cap is checked before a call is passed on", async (t) => {
  const server = await mcpServer(t, LEGACY);
  const token = "gw_live_capped0Agent6";
  const capped = { id: 9, name: "capped", hash: hashOf(token), scopes: ["mcp"], monthly_budget_usd_cap: 1 };
  const mcp_servers = [{ name: "team docs", url: server.url }];
  const { client, gateway, lines } = await startGateway(
    t,
    bridgeParts({ endpoint: echoEntry({}), project: { mcp_servers }, tokens: [capped] }),
  );
  const call = () => use(client, "team-docs__search", {}, { token });
  assert.equal(at((await call()).json, "result", "content", 0, "text"), "found");
  const admission = await gateway.store.admit("someone", [spend(`spend:token:${PROJECT}/9`, 0)]);
  assert.ok(admission.admitted && admission.reservation !== undefined);
  await gateway.store.settle(admission.reservation, 1e9);
  const asked = server.requests.length;
  const refused = await call();
  assertRpcError(refused, -32000, /^Token monthly budget would be exceeded/);
  assert.equal(at(refused.json, "error", "data", "status"), 402);
  assert.equal(server.requests.length, asked);
  await until(() => gateway.openCalls === 0, "both calls have ended");
  const logged = lines
    .map((line): unknown => JSON.parse(line))
    .filter((line) => at(line, "surface") === "mcp");
  assert.deepEqual(
    logged.map((line) => [at(line, "endpoint"), at(line, "status"), at(line, "token_id")]),
    [
      ["team-docs", 200, "9"],
      ["team-docs", 402, "9"],
    ],
  );
});

verifies("mcp.upstream.eras", "a bridge can be the upstream of another", async (t) => {
  const back = await startGateway(
    t,
    bridgeParts({ endpoint: echoEntry({ name: "Far", expose_as_mcp_tool: true }) }),
  );
  const url = `${back.client.origin}${BRIDGE}`;
  const front = await inFrontOf(t, { back: { url, headers: { Authorization: `Bearer ${AGENT}` } } });
  assert.deepEqual(await toolNames(front.client), ["ask", "back__far"]);
  const answer = await use(front.client, "back__far", { message: "Hello" });
  assert.equal(at(answer.json, "result", "content", 0, "text"), "Hello");
  assertRpcError(await use(front.client, "back__far", { message: 5 }), -32602, /'message'/);
  assertRpcError(await use(front.client, "back__nowhere"), -32602, /Unknown tool: nowhere/);
});

verifies("mcp.upstream.ssrf", "an address that is not let through is not connected to", async (t) => {
  const server = await mcpServer(t, LEGACY);
  const mcp_servers = [
    { name: "near", url: server.url },
    { name: "named", url: server.url.replace("127.0.0.1", "localhost") },
    { name: "odd", url: server.url.replace("127.0.0.1", "2130706433") },
  ];
  const parts = bridgeParts({
    endpoint: echoEntry({}),
    project: { mcp_servers },
    root: { network: { allow: [] } },
  });
  const { client } = await startGateway(t, parts);
  for (const { name } of mcp_servers) {
    assertRpcError(await use(client, `${name}__search`), -32603, /blocked: .*a loopback address/);
  }
  assert.equal(server.requests.length, 0);
});

verifies("mcp.upstream.secrets", "headers for a server reach only that server", async (t) => {
  const secret = "shh-very-secret-41";
  const leak = { error: { code: -32001, message: `Bearer ${secret} is not welcome` } };
  const server = await mcpServer(t, { ...LEGACY, "tools/call": leak, "tools/list": leak });
  const headers = { Authorization: "Bearer ${env:DOCS_TOKEN}" };
  const mcp_servers = [{ name: "docs", url: server.url, headers }];
  const harness = await startGateway(t, {
    ...bridgeParts({ endpoint: echoEntry({}), project: { mcp_servers } }),
    env: { DOCS_TOKEN: secret },
  });
  const answer = await use(harness.client, "docs__search");
  await toolNames(harness.client);
  assert.equal(server.last("tools/call").request.headers["authorization"], `Bearer ${secret}`);
  assert.equal(server.last("tools/call").request.headers["user-agent"], "sluice");
  assert.equal(at(answer.json, "error", "code"), -32001);
  assert.equal(
    [answer.text, ...harness.lines].some((line) => line.includes(secret)),
    false,
  );
});

verifies(
  "mcp.upstream.tools",
  "a reload that changes nothing of a server keeps its client, and one that drops it ends the session",
  async (t) => {
    const server = await mcpServer(t, LEGACY, { "mcp-session-id": "s1" });
    const parts = (more: object, servers: readonly object[]) =>
      bridgeParts({
        endpoint: echoEntry({ expose_as_mcp_tool: true, ...more }),
        project: { mcp_servers: servers },
      });
    const one = { name: "docs", url: server.url };
    const harness = await startGateway(t, parts({}, [one]));
    await toolNames(harness.client);
    const asked = server.requests.length;
    harness.rewrite(parts({ description: "Other." }, [one]));
    assert.equal((await harness.gateway.reload()).changed, true);
    assert.deepEqual(await toolNames(harness.client), ["ask", "docs__search"]);
    assert.equal(server.requests.length, asked);
    harness.rewrite(parts({}, []));
    await harness.gateway.reload();
    assert.deepEqual(await toolNames(harness.client), ["ask"]);
    await until(() => server.requests.at(-1)?.method === "DELETE", "the session is ended");
    assert.equal(server.requests.at(-1)?.headers["mcp-session-id"], "s1");
  },
);

/** Messages as an event stream, whole. */
function eventsOf(...messages: readonly object[]): ScriptedAnswer {
  const body = messages.map((message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`).join("");
  return (response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end(body);
}

/** From here on the list is answered by `list`, all else by the script. */
function answerAgain(script: Script, list: (message: unknown) => object): ScriptedAnswer {
  return (response, { body }) => {
    const message: unknown = JSON.parse(body);
    const said = at(message, "method") === "tools/list" ? list(message) : script["tools/call"];
    const answer = JSON.stringify({ jsonrpc: "2.0", id: at(message, "id"), ...said });
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  };
}
