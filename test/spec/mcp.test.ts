/** The MCP bridge: endpoints as tools, whose calls run their whole chain, and the codes that refusals become. */
import assert from "node:assert/strict";
import { after } from "node:test";
import { assertRefused, at, until } from "./kit/client.ts";
import { echoEntry, endpointEntry, hashOf, OTHER_PROJECT, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { AGENT, ask, BRIDGE, bridgeParts, EVENTS, toolNames, use } from "./kit/mcp.ts";
import { assertRpcError, callTool, contentOf, statelessRpc, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const FILED = {
  type: "object",
  required: ["message", "priority"],
  properties: { message: { type: "string" }, priority: { enum: ["low", "high"] } },
};
const VERDICT = { type: "object", required: ["verdict"], properties: { verdict: { type: "string" } } };

const shown = (fields: object) => ({ expose_as_mcp_tool: true, ...fields });

// One gateway for all that change nothing.
const started: Promise<Harness> = startGateway(
  { after },
  bridgeParts({
    endpoint: shown({ description: "Answers questions." }),
    endpoints: [
      echoEntry(shown({ name: "Echo" })),
      echoEntry({ name: "Hidden" }),
      echoEntry(shown({ name: "Asleep", is_active: false })),
      echoEntry(shown({ name: "File ticket", slug: "file-ticket", input_schema: FILED })),
      echoEntry(shown({ name: "Untyped", input_schema: { required: ["message"] } })),
      endpointEntry(shown({ name: "Judge", output_schema: VERDICT })),
      endpointEntry(
        shown({
          name: "List",
          output_schema: {
            $defs: { word: { type: "string" } },
            type: "array",
            items: { $ref: "#/$defs/word" },
          },
        }),
      ),
      endpointEntry(shown({ name: "Word", output_schema: { type: "string", maxLength: 20 } })),
      echoEntry(
        shown({ name: "Blocking", guardrails: [{ use: "keyword_blocklist", keywords: ["forbidden"] }] }),
      ),
      echoEntry(shown({ name: "Rare", rate_limit_per_minute: 1 })),
      echoEntry(
        shown({
          name: "Dear",
          monthly_budget_usd: 0.0001,
          estimated_cost_per_1k_tokens_usd: 1,
          max_output_tokens: 100,
        }),
      ),
      echoEntry(shown({ name: "Chatty", sessions_enabled: true })),
    ],
  }),
);

const EXPOSED = [
  ...["ask", "echo", "file-ticket", "untyped", "judge", "list", "word", "blocking", "rare", "dear", "chatty"],
];

verifies(
  "mcp.expose",
  "active endpoints with expose_as_mcp_tool are tools, in the config's order",
  async () => {
    const { client } = await started;
    assert.deepEqual(await toolNames(client), EXPOSED);
    const tools = at((await ask(client, { method: "tools/list" })).json, "result", "tools");
    assert.deepEqual(at(tools, 0), {
      name: "ask",
      title: "Ask",
      description: "Answers questions.",
      inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    });
  },
);

verifies(
  "mcp.schemas",
  "schemas of tools are those of their endpoints, in the form that MCP asks for",
  async () => {
    const { client } = await started;
    const tools = at((await ask(client, { method: "tools/list" })).json, "result", "tools");
    const schema = (slug: string, key: string): unknown => at(tools, EXPOSED.indexOf(slug), key);
    assert.deepEqual(schema("file-ticket", "inputSchema"), FILED);
    assert.deepEqual(schema("untyped", "inputSchema"), { required: ["message"], type: "object" });
    assert.deepEqual(schema("judge", "outputSchema"), VERDICT);
    assert.equal(schema("ask", "outputSchema"), undefined);
    assert.deepEqual(schema("word", "outputSchema"), {
      type: "object",
      properties: { result: { type: "string", maxLength: 20 } },
      required: ["result"],
    });
    assert.deepEqual(at(schema("list", "outputSchema"), "properties", "result", "items"), {
      $ref: "#/properties/result/$defs/word",
    });
  },
);

verifies(["mcp.expose", "mcp.call"], "a call runs the endpoint, and its answer is text", async () => {
  const { client, lines } = await started;
  const answer = await use(client, "echo", { message: "Hello" });
  assert.equal(answer.status, 200);
  assert.deepEqual(at(answer.json, "result", "content"), [{ type: "text", text: "Hello" }]);
  assert.equal(at(answer.json, "result", "isError"), undefined);
  const requestId = at(answer.json, "result", "_meta", "request_id");
  assert.equal(requestId, answer.headers["x-request-id"]);
  const recorded = (): unknown[] =>
    lines.map((line): unknown => JSON.parse(line)).filter((line) => at(line, "request_id") === requestId);
  await until(() => recorded().length > 0, "the call is recorded");
  assert.equal(recorded().length, 1, "once");
  assert.equal(at(recorded(), 0, "surface"), "mcp");
});

verifies("mcp.call", "an answer with an output_schema is structured content too", async () => {
  const { client, provider } = await started;
  const structured = async (slug: string, said: string): Promise<unknown> => {
    provider.says(said);
    const answer = await use(client, slug, { message: "Hello" });
    assert.equal(at(answer.json, "result", "content", 0, "text"), said, answer.text);
    return at(answer.json, "result", "structuredContent");
  };
  assert.deepEqual(await structured("judge", '{"verdict":"guilty"}'), { verdict: "guilty" });
  assert.deepEqual(await structured("list", '["a","b"]'), { result: ["a", "b"] });
  assert.deepEqual(await structured("word", "plain"), { result: "plain" });
  assert.equal(await structured("ask", "plain"), undefined);
});

verifies("mcp.call", "a session continues with the session_id of the previous answer", async () => {
  const { client } = await started;
  const first = await use(client, "chatty", { message: "One" });
  const id = at(first.json, "result", "_meta", "session_id");
  const second = await use(client, "chatty", { message: "Two", session_id: id });
  assert.equal(at(second.json, "result", "_meta", "session_id"), id);
});

verifies(
  ["mcp.unknown", "rpc.code.params.tool"],
  "unknown, hidden and inactive tools are -32602",
  async () => {
    const { client } = await started;
    for (const name of ["hidden", "asleep", "nowhere", "docs__search", "", "toString", "__proto__"]) {
      assertRpcError(await use(client, name, { message: "Hello" }), -32602, /^Unknown tool: /);
    }
  },
);

verifies("mcp.unknown", "a tool goes when its endpoint is switched off at run time", async (t) => {
  const parts = bridgeParts({ endpoint: echoEntry(shown({})), root: WITH_CONTROL });
  const { client } = await startGateway(t, parts);
  const switched = async (is_active: boolean): Promise<void> => {
    const args = { project_uuid: PROJECT, slug: "ask", is_active };
    contentOf(await callTool(client, "gw_set_endpoint_active", args));
  };
  assert.deepEqual(await toolNames(client), ["ask"]);
  await switched(false);
  assert.deepEqual(await toolNames(client), []);
  assertRpcError(await use(client, "ask", { message: "Hello" }), -32602, /^Unknown tool: ask$/);
  await switched(true);
  assert.deepEqual(await toolNames(client), ["ask"]);
});

verifies(
  ["mcp.codes.422", "rpc.code.params.argument"],
  "arguments that will not do are -32602, and say why",
  async () => {
    const { client } = await started;
    assertRpcError(await use(client, "echo"), -32602, /'message' or 'messages'/);
    assertRpcError(
      await use(client, "echo", { message: 7 }),
      -32602,
      /^Field 'message' must be a non-empty string/,
    );
    const filed = await use(client, "file-ticket", { message: "Broken", priority: "odd" });
    assertRpcError(filed, -32602, /^Validation failed: priority/);
    assert.equal(at(filed.json, "error", "data", "status"), 422);
    const blocked = await use(client, "blocking", { message: "something forbidden" });
    assertRpcError(blocked, -32602, /^Request blocked: keyword 'forbidden' detected in input\.$/);
    const params = { name: "echo", arguments: [] };
    assertRpcError(
      await ask(client, { method: "tools/call", params }),
      -32602,
      /'arguments' must be an object/,
    );
  },
);

verifies("mcp.codes.limits", "429 and 402 are -32000 with status, scope and retry_after", async () => {
  const { client } = await started;
  await use(client, "rare", { message: "Hello" });
  const limited = await use(client, "rare", { message: "Hello" });
  assertRpcError(limited, -32000, /^Rate limit exceeded\.$/);
  assert.deepEqual(at(limited.json, "error", "data"), { status: 429, scope: "minute", retry_after: 60 });
  const dear = await use(client, "dear", { message: "Hello" });
  assertRpcError(dear, -32000, /^Endpoint monthly budget would be exceeded/);
  assert.deepEqual(at(dear.json, "error", "data"), { status: 402 });
});

verifies(
  ["rpc.code.internal", "mcp.codes.5xx"],
  "a provider's failure and a faulty answer are -32603",
  async () => {
    const { client, provider } = await started;
    provider.failsWith(500, "out of order");
    const failed = await use(client, "ask", { message: "Hello" });
    assertRpcError(failed, -32603, /^Provider call failed: OpenAI 500/);
    assert.equal(at(failed.json, "error", "data", "status"), 502);
    provider.says("no JSON at all");
    assertRpcError(await use(client, "judge", { message: "Hello" }), -32603, /^Validation failed: /);
  },
);

verifies("mcp.codes.5xx", "a disabled provider is -32603", async (t) => {
  const { client } = await startGateway(
    t,
    bridgeParts({ endpoint: shown({}), root: { providers: { openai: { enabled: false } } } }),
  );
  const answer = await use(client, "ask", { message: "Hello" });
  assertRpcError(answer, -32603, /^Provider 'openai' is disabled in this gateway\.$/);
  assert.equal(at(answer.json, "error", "data", "status"), 503);
});

verifies(
  ["rpc.http.401", "auth.scope.mcp", "mcp.scope"],
  "refused tokens get the plain error body",
  async () => {
    const { client } = await started;
    const send = (token: string | undefined, path = BRIDGE) => client.send(path, { token, body: "{" });
    assertRefused(await send(undefined), 401, "Missing Bearer token.");
    assertRefused(await send("sk-x"), 401, "Invalid token format.");
    assertRefused(await send(TOKENS.unknown), 401, "Invalid or revoked token.");
    assertRefused(await send(TOKENS.web), 403, "Missing required scope: 'mcp'. Token has: chat.");
    assertRefused(
      await send(AGENT, `/api/${OTHER_PROJECT}/mcp`),
      403,
      "Token does not belong to this project.",
    );
  },
);

verifies(
  ["rpc.code.parse", "rpc.code.request", "rpc.code.method"],
  "the protocol's own errors are those of every JSON-RPC surface",
  async () => {
    const { client } = await started;
    const broken = await client.send(BRIDGE, { token: AGENT, body: "{" });
    assertRpcError(broken, -32700, /Parse error/, 400);
    assertRpcError(await ask(client, { method: undefined }), -32600, /'method' must be a string/);
    const unknown = await ask(client, { method: "resources/list", id: "seven" });
    assertRpcError(unknown, -32601, /Method not found/);
    assert.equal(at(unknown.json, "id"), "seven");
  },
);

verifies("rpc.http.204", "a notification runs no tool", async () => {
  const { client, provider } = await started;
  const asked = provider.requests.length;
  const body = {
    jsonrpc: "2.0",
    method: "tools/call",
    params: { name: "ask", arguments: { message: "Hello" } },
  };
  const answer = await client.send(BRIDGE, { token: AGENT, body });
  assert.deepEqual([answer.status, answer.text], [204, ""]);
  assert.equal(provider.requests.length, asked);
});

verifies("rpc.foreign", "a page of another site may not ask", async () => {
  const { client } = await started;
  const ping = { method: "ping" };
  assertRefused(
    await ask(client, ping, { headers: { origin: "http://evil.example" } }),
    403,
    "Origin is not allowed.",
  );
  assertRefused(await ask(client, ping, { headers: { host: "evil.example" } }), 403, "Host is not allowed.");
  assert.equal((await ask(client, ping, { headers: { origin: "http://localhost:3000" } })).status, 200);
});

verifies("rpc.methods", "GET and DELETE are 405", async () => {
  const { client } = await started;
  for (const method of ["GET", "DELETE"]) {
    const answer = await client.send(BRIDGE, { method, token: AGENT });
    assert.deepEqual([answer.status, answer.headers["allow"]], [405, "POST"]);
  }
});

verifies("rpc.batch", "each call of a batch has its own chain, and its own record", async () => {
  const { client, lines, gateway } = await started;
  const message = (id: number, name: string, said: string) => ({
    ...{ jsonrpc: "2.0", id, method: "tools/call" },
    params: { name, arguments: { message: said } },
  });
  const body = [
    message(1, "echo", "one"),
    message(2, "blocking", "forbidden"),
    message(3, "echo", ""),
    message(4, "echo", "four"),
  ];
  const before = lines.length;
  const answer = await client.send(BRIDGE, { token: AGENT, body });
  assert.equal(answer.status, 200);
  assert.equal(at(answer.json, 0, "result", "content", 0, "text"), "one");
  assert.deepEqual(
    [at(answer.json, 1, "error", "code"), at(answer.json, 2, "error", "code")],
    [-32602, -32602],
  );
  assert.equal(at(answer.json, 3, "result", "content", 0, "text"), "four");
  const recorded = (): unknown[] =>
    lines
      .slice(before)
      .map((line): unknown => JSON.parse(line))
      .filter((line) => at(line, "surface") === "mcp");
  await until(() => recorded().length === 4 && gateway.openCalls === 0, "all four are recorded and over");
  assert.deepEqual(
    recorded()
      .map((line) => at(line, "status"))
      .sort(),
    [200, 200, 400, 422],
  );
});

verifies("mcp.any-project", "projects of any type have a bridge", async (t) => {
  const uuid = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f709";
  const token = "gw_live_wrapped0Agent6";
  const wrapper = {
    ...{ uuid, name: "Wrapped", type: "ai_wrapper" },
    tokens: [{ name: "agent", hash: hashOf(token), scopes: ["mcp"] }],
    credentials: [{ name: "echo", provider: "mock", options: { reply: "{{input}}" } }],
    endpoints: [echoEntry(shown({ name: "Say" }))],
  };
  const { client } = await startGateway(t, bridgeParts({ projects: [wrapper] }));
  const path = `/api/${uuid.toUpperCase()}/mcp`;
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "say", arguments: { message: "Hi" } },
  };
  const answer = await client.send(path, { token, body });
  assert.equal(at(answer.json, "result", "content", 0, "text"), "Hi", answer.text);
});

verifies("rpc.stateless", "the stateless revision works on the bridge, too", async () => {
  const { client } = await started;
  const sent = { path: BRIDGE, token: AGENT };
  const found = await statelessRpc(client, { method: "server/discover" }, sent);
  assert.deepEqual(at(found.json, "result", "supportedVersions"), ["2026-07-28"], found.text);
  const params = { name: "echo", arguments: { message: "Hello" } };
  const called = await statelessRpc(client, { method: "tools/call", params }, sent);
  assert.equal(at(called.json, "result", "resultType"), "complete", called.text);
  assert.equal(at(called.json, "result", "content", 0, "text"), "Hello");
  assertRpcError(await statelessRpc(client, { method: "ping" }, sent), -32601, /Method not found/, 404);
});

verifies("mcp.progress", "a client that requests progress gets events while the model works", async (t) => {
  const { client, clock, provider } = await startGateway(t, bridgeParts({ endpoint: shown({}) }));
  let answer = (): void => {};
  provider.answer((response) => {
    answer = () => {
      const choices = [{ index: 0, message: { role: "assistant", content: "Done." }, finish_reason: "stop" }];
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "m", choices }));
    };
  });
  const params = { name: "ask", arguments: { message: "Hello" }, _meta: { progressToken: "p1" } };
  const body = { jsonrpc: "2.0", id: 9, method: "tools/call", params };
  const stream = await client.stream(BRIDGE, { token: AGENT, body, ...EVENTS });
  const next = async (): Promise<unknown> =>
    JSON.parse(/^data: (.*)$/m.exec((await stream.next()) ?? "")?.[1] ?? "null");
  assert.match(String(stream.headers["content-type"]), /^text\/event-stream/);
  assert.deepEqual(at(await next(), "params"), { progressToken: "p1", progress: 0, message: "0 s" });
  await provider.received(1);
  clock.advance(5000);
  assert.deepEqual(at(await next(), "params"), { progressToken: "p1", progress: 5, message: "5 s" });
  answer();
  const last = await next();
  assert.equal(at(last, "id"), 9);
  assert.equal(at(last, "result", "content", 0, "text"), "Done.");
  assert.equal(await stream.next(), undefined);
});

verifies("mcp.progress", "without a token, or without events, the answer is one JSON body", async () => {
  const { client, provider } = await started;
  provider.says("Fine.");
  const asked = { name: "ask", arguments: { message: "Hello" } };
  const withToken = { ...asked, _meta: { progressToken: 1 } };
  for (const [params, sent] of [
    [asked, EVENTS],
    [withToken, {}],
  ] as const) {
    const answer = await ask(client, { method: "tools/call", params }, sent);
    assert.match(String(answer.headers["content-type"]), /^application\/json/);
    assert.equal(at(answer.json, "result", "content", 0, "text"), "Fine.");
  }
});

verifies(
  "mcp.gone",
  "a client that leaves ends the call, and one that takes too long is -32603",
  async (t) => {
    const parts = bridgeParts({ endpoint: shown({}), server: { request_timeout_ms: 3000 } });
    const { client, clock, gateway, provider } = await startGateway(t, parts);
    provider.answer(() => {});
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "ask", arguments: { message: "Hi" } },
    });
    const head = `POST ${BRIDGE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${AGENT}\r\nContent-Length: ${body.length}`;
    const leave = client.abandon(`${head}\r\n\r\n${body}`);
    await provider.received(1);
    leave();
    await until(() => gateway.openCalls === 0, "the call has ended");

    const slow = use(client, "ask", { message: "Hello" });
    await provider.received(2);
    clock.advance(4000);
    assertRpcError(await slow, -32603, /timed out after/);
    await until(() => gateway.openCalls === 0, "the call has ended");
  },
);
