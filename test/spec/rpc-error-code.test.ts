/** `X-Error-Code` on the JSON-RPC surfaces: of HTTP errors, and of envelopes that hold one error. */
import assert from "node:assert/strict";
import type { Answer } from "./kit/client.ts";
import { echoEntry, TOKENS } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { AGENT, BRIDGE, bridgeParts, use } from "./kit/mcp.ts";
import { CONTROL, CONTROL_TOKEN, callTool, rpc, statelessRpc, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const statusAndCode = ({ status, headers }: Answer) => [status, headers["x-error-code"]];

verifies(
  "rpc.error-code",
  "the bridge and the control plane name the error of every HTTP error",
  async (t) => {
    const parts = bridgeParts({ endpoint: echoEntry({}) });
    const { client } = await startGateway(t, { ...parts, root: { ...parts.root, ...WITH_CONTROL } });
    for (const [path, token] of [
      [BRIDGE, AGENT],
      [CONTROL, CONTROL_TOKEN],
    ] as const) {
      const sent = { path, token };
      const method = (name: string) => statelessRpc(client, { method: name }, sent);
      const answers: readonly [Answer, number, string][] = [
        [await client.send(path, { token, body: "{ no JSON" }), 400, "malformed_json"],
        [await method("no/such"), 404, "method_not_found"],
        [
          await statelessRpc(
            client,
            { method: "tools/list" },
            { ...sent, headers: { "mcp-method": "ping" } },
          ),
          400,
          "header_mismatch",
        ],
        [
          await statelessRpc(
            client,
            { method: "tools/list" },
            { ...sent, headers: { "mcp-protocol-version": "2099-01-01" } },
          ),
          400,
          "header_mismatch",
        ],
        [await client.send(path, { body: {} }), 401, "missing_bearer"],
        [await client.send(path, { body: {}, token: "sk-1" }), 401, "token_format"],
        [await client.send(path, { body: {}, token: TOKENS.web }), 403, "scope_missing"],
        [await client.send(path, { method: "GET", token }), 405, "method_not_allowed"],
        [
          await client.send(path, { token, body: {}, headers: { origin: "https://evil.example" } }),
          403,
          "origin_not_allowed",
        ],
      ];
      for (const [answer, status, code] of answers) {
        assert.deepEqual(statusAndCode(answer), [status, code], `${path}: ${answer.text}`);
      }
    }
  },
);

verifies(
  "rpc.error-code",
  "an envelope with one error has its code, a result and a batch have none",
  async (t) => {
    const parts = bridgeParts({
      endpoint: echoEntry({ expose_as_mcp_tool: true, rate_limit_per_minute: 1 }),
    });
    const { client } = await startGateway(t, { ...parts, root: { ...parts.root, ...WITH_CONTROL } });
    const sent = { path: BRIDGE, token: AGENT };
    assert.deepEqual(statusAndCode(await use(client, "ask", { message: "Hello" })), [200, undefined]);
    assert.deepEqual(statusAndCode(await use(client, "ask", { message: "Hello" })), [200, "rate_limited"]);
    assert.deepEqual(statusAndCode(await use(client, "none", {})), [200, "invalid_params"]);
    assert.deepEqual(statusAndCode(await rpc(client, { method: "no/such" }, sent)), [
      200,
      "method_not_found",
    ]);
    assert.deepEqual(statusAndCode(await rpc(client, { method: 5 }, sent)), [200, "invalid_request"]);
    const batch = [
      { jsonrpc: "2.0", id: 1, method: "no/such" },
      { jsonrpc: "2.0", id: 2, method: "ping" },
    ];
    const { status, headers } = await client.send(BRIDGE, { token: AGENT, body: batch });
    assert.deepEqual([status, headers["x-error-code"]], [200, undefined]);
    assert.deepEqual(statusAndCode(await callTool(client, "gw_rotate_token", {})), [200, "invalid_params"]);
  },
);
