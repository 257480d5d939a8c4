/** The JSON-RPC side of the control plane: codes, HTTP statuses, ids, and both eras of MCP. Its tools are in control.test.ts. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, type TestContext } from "node:test";
import { readBytes } from "../../src/http/body.ts";
import { serveRpc } from "../../src/surfaces/jsonrpc/http.ts";
import { type McpServer, structured } from "../../src/surfaces/jsonrpc/jsonrpc.ts";
import { assertRefused, at, Client } from "./kit/client.ts";
import { echoEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import {
  assertRpcError,
  CONTROL,
  CONTROL_TOKEN,
  callTool,
  REVISION,
  rpc,
  statelessRpc,
  WITH_CONTROL,
} from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

// One gateway for all: nothing here changes it.
const started: Promise<Harness> = startGateway({ after }, { root: WITH_CONTROL, endpoint: echoEntry({}) });
const TEXT = { headers: { accept: "application/json, text/event-stream" } };

verifies(
  "rpc.error.envelope",
  "a protocol error is HTTP 200 with the request's id in its envelope",
  async () => {
    const { client } = await started;
    for (const id of [0, 7, "", "a-b"]) {
      const answer = await rpc(client, { method: "nonsense", id });
      assertRpcError(answer, -32601, /Method not found: nonsense/);
      assert.deepEqual(Object.keys(Object(answer.json)).sort(), ["error", "id", "jsonrpc"]);
      assert.equal(at(answer.json, "id"), id);
    }
  },
);

verifies(
  ["rpc.http.400", "rpc.code.parse"],
  "a body that is not JSON is HTTP 400 with -32700 and no id",
  async () => {
    const { client } = await started;
    const deep = `${'{"a":'.repeat(70)}1${"}".repeat(70)}`;
    for (const body of ["", "{", '{"jsonrpc":"2.0",}', "\u0000", Buffer.from([0x7b, 0xff, 0x7d]), deep]) {
      const answer = await client.send(CONTROL, { token: CONTROL_TOKEN, body });
      assertRpcError(answer, -32700, /Parse error/, 400);
      assert.equal(at(answer.json, "id"), null);
    }
  },
);

verifies(
  "rpc.http.401",
  "a refused token gets 401 in the plain error body, before the body is read",
  async () => {
    const { client } = await started;
    const send = (token: string | undefined) => client.send(CONTROL, { token, body: "{" });
    assertRefused(await send(undefined), 401, "Missing Bearer token.");
    assertRefused(await send("sk-something"), 401, "Invalid token format.");
    for (const token of [TOKENS.unknown, TOKENS.retired, TOKENS.expired]) {
      assertRefused(await send(token), 401, "Invalid or revoked token.");
    }
    const headers = { authorization: "Basic Zm9vOmJhcg==" };
    assertRefused(await client.send(CONTROL, { headers, body: {} }), 401, "Missing Bearer token.");
  },
);

verifies("rpc.http.403", "a project's token is known here and lacks the scope", async () => {
  const { client } = await started;
  const send = (token: string) =>
    client.send(CONTROL, { token, body: { jsonrpc: "2.0", id: 1, method: "ping" } });
  assertRefused(await send(TOKENS.web), 403, "Missing required scope: 'control'. Token has: chat.");
  assertRefused(await send(TOKENS.bare), 403, "Missing required scope: 'control'. Token has: none.");
});

verifies(
  "rpc.http.204",
  "a notification gets no body: 204, or 202 for those who speak MCP's transport",
  async () => {
    const { client } = await started;
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    const send = async (body: unknown, headers: Record<string, string> = {}) => {
      const answer = await client.send(CONTROL, { token: CONTROL_TOKEN, body, headers });
      assert.equal(answer.text, "");
      return answer.status;
    };
    assert.equal(await send(notification), 204);
    assert.equal(await send({ jsonrpc: "2.0", method: "no/such/thing" }), 204);
    assert.equal(await send([notification, notification]), 204);
    assert.equal(await send({ jsonrpc: "2.0", id: 3, result: {} }), 204);
    assert.equal(await send(notification, TEXT.headers), 202);
    assert.equal(await send(notification, { "mcp-protocol-version": "2025-11-25" }), 202);
    assert.equal(await send(notification, { "mcp-protocol-version": REVISION }), 202);
  },
);

verifies("rpc.http.204", "a notification does nothing, whatever it asks for", async () => {
  const { client, call } = await started;
  const params = {
    name: "gw_set_endpoint_active",
    arguments: { project_uuid: PROJECT, slug: "ask", is_active: false },
  };
  const body = { jsonrpc: "2.0", method: "tools/call", params };
  assert.equal((await client.send(CONTROL, { token: CONTROL_TOKEN, body })).status, 204);
  assert.equal((await call({ message: "Hello" })).status, 200);
});

verifies("rpc.code.request", "a message that is not a request is -32600, with the reason", async () => {
  const { client } = await started;
  const cases: [unknown, RegExp, unknown][] = [
    [{ jsonrpc: "2.0", id: 4 }, /'method' must be a string/, 4],
    [{ jsonrpc: "2.0", id: 4, method: 5 }, /'method' must be a string/, 4],
    [{ jsonrpc: "2.0" }, /'method' must be a string/, null],
    [{ id: 4, method: "ping" }, /'jsonrpc' must be "2.0"/, 4],
    [{ jsonrpc: "1.0", id: 4, method: "ping" }, /'jsonrpc' must be "2.0"/, 4],
    [{ jsonrpc: "2.0", id: {}, method: "ping" }, /'id' must be a string or a number/, null],
    [{ jsonrpc: "2.0", id: null, method: "ping" }, /'id' must be a string or a number/, null],
    [7, /a message is a JSON object/, null],
    ["ping", /a message is a JSON object/, null],
    [null, /a message is a JSON object/, null],
    [[], /the batch is empty/, null],
    [
      Array.from({ length: 51 }, () => ({ jsonrpc: "2.0", method: "x" })),
      /a batch holds 50 messages at most/,
      null,
    ],
  ];
  for (const [body, why, id] of cases) {
    const answer = await client.send(CONTROL, { token: CONTROL_TOKEN, body: JSON.stringify(body) });
    assertRpcError(answer, -32600, why);
    assert.equal(at(answer.json, "id"), id);
  }
});

verifies(
  "rpc.code.method",
  "methods of other servers, and names of an object's own, are -32601",
  async () => {
    const { client } = await started;
    for (const method of ["prompts/list", "resources/list", "server/discover", "toString", "__proto__", ""]) {
      assertRpcError(await rpc(client, { method }), -32601, /Method not found/);
    }
  },
);

verifies("rpc.code.params.tool", "an unknown tool is -32602", async () => {
  const { client } = await started;
  assertRpcError(await callTool(client, "gw_drop_everything"), -32602, /Unknown tool: gw_drop_everything/);
  assertRpcError(await rpc(client, { method: "tools/call" }), -32602, /'name' must be a string/);
  const list = { method: "tools/call", params: { name: "gw_list_projects", arguments: [] } };
  assertRpcError(await rpc(client, list), -32602, /'arguments' must be an object/);
  assertRpcError(
    await rpc(client, { method: "tools/list", params: [] }),
    -32602,
    /'params' must be an object/,
  );
  for (const cursor of ["abc", "-1", "999", 5]) {
    assertRpcError(await rpc(client, { method: "tools/list", params: { cursor } }), -32602, /'cursor'/);
  }
});

verifies("rpc.batch", "a batch is answered in its order, notifications aside", async () => {
  const { client } = await started;
  const body = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", method: "notifications/progress" },
    { jsonrpc: "2.0", id: "two", method: "nonsense" },
    8,
  ];
  const answer = await client.send(CONTROL, { token: CONTROL_TOKEN, body });
  assert.equal(answer.status, 200);
  assert.deepEqual([at(answer.json, 0, "id"), at(answer.json, 0, "result")], [1, {}]);
  assert.deepEqual([at(answer.json, 1, "id"), at(answer.json, 1, "error", "code")], ["two", -32601]);
  assert.deepEqual([at(answer.json, 2, "id"), at(answer.json, 2, "error", "code")], [null, -32600]);
});

verifies(
  "rpc.legacy",
  "initialize agrees on a revision, and offers the newest for an unknown one",
  async () => {
    const { client } = await started;
    const agreed = async (protocolVersion: unknown) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: "t", version: "1" } };
      return rpc(client, { method: "initialize", params });
    };
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
      assert.equal(at((await agreed(revision)).json, "result", "protocolVersion"), revision);
    }
    const answer = await agreed("2019-01-01");
    assert.equal(at(answer.json, "result", "protocolVersion"), "2025-11-25");
    assert.deepEqual(at(answer.json, "result", "capabilities"), { tools: {} });
    assert.equal(at(answer.json, "result", "serverInfo", "name"), "sluice-control");
    assertRpcError(await agreed(undefined), -32602, /'protocolVersion' must be a string/);
    const known = await rpc(
      client,
      { method: "ping" },
      { headers: { "mcp-protocol-version": "2025-06-18" } },
    );
    assert.deepEqual(at(known.json, "result"), {});
    const unknown = await rpc(
      client,
      { method: "ping" },
      { headers: { "mcp-protocol-version": "2019-01-01" } },
    );
    assertRpcError(unknown, -32000, /Unsupported protocol version: 2019-01-01/, 400);
  },
);

verifies(
  "rpc.stateless",
  "the stateless revision answers without a handshake, and says whose results are",
  async () => {
    const { client } = await started;
    const found = await statelessRpc(client, { method: "server/discover" });
    assert.equal(found.status, 200, found.text);
    assert.deepEqual(at(found.json, "result", "supportedVersions"), [REVISION]);
    assert.deepEqual(at(found.json, "result", "capabilities"), { tools: {} });
    assert.equal(at(found.json, "result", "resultType"), "complete");
    const identity = at(found.json, "result", "_meta", "io.modelcontextprotocol/serverInfo");
    assert.equal(at(identity, "name"), "sluice-control");
    const listed = await statelessRpc(client, { method: "tools/list" });
    assert.equal(at(listed.json, "result", "cacheScope"), "private");
    const called = await statelessRpc(client, { method: "tools/call", params: { name: "gw_list_projects" } });
    assert.equal(at(called.json, "result", "structuredContent", "projects", 0, "name"), "Support");
    const padded = { headers: { "mcp-name": "  gw_list_projects  " } };
    const spaced = await statelessRpc(
      client,
      { method: "tools/call", params: { name: "gw_list_projects" } },
      padded,
    );
    assert.equal(spaced.status, 200);
    const wrapped = { headers: { "mcp-name": "=?base64?Z3dfbGlzdF9wcm9qZWN0cw==?=" } };
    const coded = await statelessRpc(
      client,
      { method: "tools/call", params: { name: "gw_list_projects" } },
      wrapped,
    );
    assert.equal(coded.status, 200, coded.text);
  },
);

verifies(
  "rpc.stateless",
  "what the stateless revision refuses is HTTP 400 or 404 with the request's id",
  async () => {
    const { client } = await started;
    const list = { method: "tools/list", id: 9 };
    const version = "io.modelcontextprotocol/protocolVersion";
    const capabilities = "io.modelcontextprotocol/clientCapabilities";
    const named = { method: "tools/call", params: { name: "gw_list_projects" }, id: 9 };
    const cases: [Promise<Parameters<typeof assertRpcError>[0]>, number, number, RegExp][] = [
      [
        statelessRpc(client, list, { meta: { [capabilities]: {} } }),
        -32602,
        400,
        /protocolVersion.* is missing/,
      ],
      [
        statelessRpc(client, list, { meta: { [version]: REVISION } }),
        -32602,
        400,
        /clientCapabilities.* is missing/,
      ],
      [
        statelessRpc(client, list, { meta: { [version]: 5, [capabilities]: {} } }),
        -32602,
        400,
        /must be a string/,
      ],
      [rpc(client, list, { headers: { "mcp-protocol-version": REVISION } }), -32602, 400, /is missing/],
      [
        statelessRpc(client, list, { headers: { "mcp-protocol-version": "2025-11-25" } }),
        -32020,
        400,
        /the body says/,
      ],
      [statelessRpc(client, list, { headers: { "mcp-method": "tools/call" } }), -32020, 400, /Mcp-Method/],
      [statelessRpc(client, list, { headers: { "mcp-method": "TOOLS/LIST" } }), -32020, 400, /Mcp-Method/],
      [statelessRpc(client, named, { headers: { "mcp-name": "gw_list_tokens" } }), -32020, 400, /Mcp-Name/],
      [statelessRpc(client, named, { headers: { "mcp-name": "=?base64?!!?=" } }), -32020, 400, /Mcp-Name/],
      [statelessRpc(client, { method: "initialize", id: 9 }), -32601, 404, /Method not found/],
      [statelessRpc(client, { method: "ping", id: 9 }), -32601, 404, /Method not found/],
      [statelessRpc(client, { method: "nonsense", id: 9 }), -32601, 404, /Method not found/],
    ];
    for (const [answer, code, status, message] of cases) {
      const settled = await answer;
      assertRpcError(settled, code, message, status);
      assert.equal(at(settled.json, "id"), 9);
    }
  },
);

verifies("rpc.stateless", "headers that the stateless revision asks for may not be missing", async () => {
  const { client } = await started;
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "gw_list_projects", _meta: envelope };
  const send = (headers: Record<string, string>) =>
    rpc(client, { method: "tools/call", params }, { headers });
  assertRpcError(await send({}), -32020, /MCP-Protocol-Version is missing/, 400);
  const version = { "mcp-protocol-version": REVISION };
  assertRpcError(await send(version), -32020, /Mcp-Method is missing/, 400);
  assertRpcError(await send({ ...version, "mcp-method": "tools/call" }), -32020, /Mcp-Name is missing/, 400);
});

verifies("rpc.stateless", "an unsupported revision is refused with the supported ones", async () => {
  const { client } = await started;
  for (const requested of ["v999.0.0", "2025-11-25"]) {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": requested,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const headers = { "mcp-protocol-version": requested };
    const answer = await statelessRpc(client, { method: "server/discover" }, { meta, headers });
    assertRpcError(answer, -32022, /Unsupported protocol version/, 400);
    assert.deepEqual(at(answer.json, "error", "data"), { supported: [REVISION], requested });
  }
});

verifies("rpc.foreign", "a page of another site gets 403, one of this machine does not", async () => {
  const { client } = await started;
  const ping = (headers: Record<string, string>) => rpc(client, { method: "ping" }, { headers });
  assertRefused(await ping({ host: "evil.example.com" }), 403, "Host is not allowed.");
  assertRefused(await ping({ origin: "http://evil.example.com" }), 403, "Origin is not allowed.");
  assertRefused(await ping({ origin: "null" }), 403, "Origin is not allowed.");
  const both = { host: "evil.example.com", origin: "http://evil.example.com" };
  assertRefused(await client.send(CONTROL, { headers: both, body: {} }), 403, "Host is not allowed.");
  for (const host of ["localhost", "127.0.0.1:8080", "[::1]:80"]) {
    assert.equal((await ping({ host, origin: `http://${host}` })).status, 200, host);
  }
});

verifies("rpc.methods", "GET and DELETE are 405, and a content type other than JSON is 415", async () => {
  const { client } = await started;
  for (const method of ["GET", "DELETE", "PUT"]) {
    const answer = await client.send(CONTROL, { method, token: CONTROL_TOKEN });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers["allow"], "POST");
  }
  const headers = { "content-type": "text/plain" };
  assertRefused(await rpc(client, { method: "ping" }, { headers }), 415, /Content-Type/);
});

/** A server of one tool that reports progress, and of one that is broken, behind nothing but HTTP. */
async function bareServer(t: TestContext): Promise<Client> {
  const server: McpServer<undefined> = {
    identity: { name: "bare", title: "Bare", version: "1" },
    tools: () => [],
    async call(_caller, { name, progress }) {
      if (name === "broken") throw new Error("a secret of the house");
      progress?.({ progress: 1, total: 2, message: "half" });
      progress?.({ progress: 2, total: 2 });
      return structured({ done: true });
    },
  };
  const http = createServer((req, res) =>
    readBytes(req, res, 10_000, {
      hold: () => undefined,
      done(bytes) {
        assert.ok(Buffer.isBuffer(bytes));
        serveRpc({ server, caller: undefined, req, res, bytes, headers: () => [], done: () => {} });
      },
    }),
  );
  await new Promise<void>((listening) => http.listen(0, "127.0.0.1", listening));
  const address = http.address();
  assert.ok(typeof address === "object" && address !== null);
  const client = new Client(`http://127.0.0.1:${address.port}`);
  t.after(() => {
    client.close();
    http.close();
  });
  return client;
}

verifies(
  "rpc.progress",
  "progress goes out as events before the answer, when it is asked for and an event stream is taken",
  async (t) => {
    const client = await bareServer(t);
    const asked = { name: "slow", _meta: { progressToken: "p-1" } };
    const send = (params: object, headers: Record<string, string> = {}) =>
      rpc(client, { method: "tools/call", params }, { path: "/", headers });
    const streamed = await send(asked, TEXT.headers);
    assert.match(String(streamed.headers["content-type"]), /^text\/event-stream/);
    const sent = [...streamed.text.matchAll(/^event: message\ndata: (.*)\n\n/gm)].map(([, json = ""]) =>
      JSON.parse(json),
    );
    assert.deepEqual(sent.slice(0, 2), [
      {
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: "p-1", progress: 1, total: 2, message: "half" },
      },
      {
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: "p-1", progress: 2, total: 2 },
      },
    ]);
    assert.deepEqual(at(sent[2], "result", "structuredContent"), { done: true });
    assert.equal(sent.length, 3);
    for (const plain of [await send(asked), await send({ name: "slow" }, TEXT.headers)]) {
      assert.match(String(plain.headers["content-type"]), /^application\/json/);
      assert.deepEqual(at(plain.json, "result", "structuredContent"), { done: true });
    }
  },
);

verifies("rpc.bug", "a tool that throws is -32603, and says nothing of the cause", async (t) => {
  const client = await bareServer(t);
  const answer = await rpc(client, { method: "tools/call", params: { name: "broken" } }, { path: "/" });
  assertRpcError(answer, -32603, /^Internal error\.$/);
  assert.equal(at(answer.json, "id"), 1);
});
