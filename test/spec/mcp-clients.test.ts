/** The official MCP clients of both eras in front of the bridge, and the official example server behind it. */
import assert from "node:assert/strict";
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { at } from "./kit/client.ts";
import { echoEntry, endpointEntry } from "./kit/config.ts";
import { everythingServer } from "./kit/everything.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import { AGENT, BRIDGE, bridgeParts } from "./kit/mcp.ts";
import { verifies } from "./verifies.ts";

const IDENTITY = { name: "test", version: "1.0.0" };
const VERDICT = { type: "object", required: ["verdict"], properties: { verdict: { enum: ["yes", "no"] } } };

/** `@modelcontextprotocol/sdk`: revisions with `initialize`. */
async function oldClient(t: Closer, { client: { origin } }: Harness): Promise<OldClient> {
  const client = new OldClient(IDENTITY);
  const requestInit = { headers: { authorization: `Bearer ${AGENT}` } };
  // What a transport may leave out, this one does not.
  await client.connect(new OldTransport(new URL(`${origin}${BRIDGE}`), { requestInit }) as Transport);
  t.after(() => client.close());
  return client;
}

/** `@modelcontextprotocol/client`, which finds out the era by itself. */
async function newClient(t: Closer, { client: { origin } }: Harness): Promise<NewClient> {
  const client = new NewClient(IDENTITY, { versionNegotiation: { mode: "auto" } });
  const requestInit = { headers: { authorization: `Bearer ${AGENT}` } };
  await client.connect(new NewTransport(new URL(`${origin}${BRIDGE}`), { requestInit }));
  t.after(() => client.close());
  return client;
}

const CLIENTS = [oldClient, newClient];

verifies("mcp.clients", "the official clients of both eras list and call endpoints", async (t) => {
  const harness = await startGateway(
    t,
    bridgeParts({
      endpoint: endpointEntry({ name: "Ask", expose_as_mcp_tool: true, output_schema: VERDICT }),
      endpoints: [
        echoEntry({ name: "Echo", expose_as_mcp_tool: true }),
        endpointEntry({ name: "Words", expose_as_mcp_tool: true, output_schema: { type: "array" } }),
      ],
    }),
  );
  for (const make of CLIENTS) {
    const client = await make(t, harness);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["ask", "echo", "words"],
    );
    const echoed = await client.callTool({ name: "echo", arguments: { message: "Hello" } });
    assert.deepEqual(echoed.content, [{ type: "text", text: "Hello" }]);
    harness.provider.says('{"verdict":"yes"}');
    const judged = await client.callTool({ name: "ask", arguments: { message: "Is it?" } });
    assert.deepEqual(judged.structuredContent, { verdict: "yes" });
    harness.provider.says('["a"]');
    const listed = await client.callTool({ name: "words", arguments: { message: "Which?" } });
    assert.deepEqual(listed.structuredContent, { result: ["a"] });
    harness.provider.failsWith(400, "no such model");
    await assert.rejects(
      client.callTool({ name: "ask", arguments: { message: "Is it?" } }),
      /-32603|OpenAI 400/,
    );
    await assert.rejects(client.callTool({ name: "nowhere", arguments: {} }), /Unknown tool: nowhere/);
  }
  const old = await oldClient(t, harness);
  assert.deepEqual(await old.ping(), {});
  assert.equal(old.getServerVersion()?.name, "sluice");
});

verifies(
  "mcp.everything",
  "the official example server's tools list and answer through the bridge",
  async (t) => {
    const mcp_servers = [{ name: "all", url: await everythingServer(t) }];
    const harness = await startGateway(t, bridgeParts({ endpoint: echoEntry({}), project: { mcp_servers } }));
    for (const make of CLIENTS) {
      const client = await make(t, harness);
      const call = (name: string, args: Record<string, unknown>) =>
        client.callTool({ name: `all__${name}`, arguments: args });
      const { tools } = await client.listTools();
      const names = tools.map(({ name }) => name);
      for (const name of [
        "echo",
        "get-sum",
        "get-tiny-image",
        "get-structured-content",
        "trigger-long-running-operation",
      ])
        assert.ok(names.includes(`all__${name}`), name);
      assert.deepEqual((await call("echo", { message: "Hello" })).content, [
        { type: "text", text: "Echo: Hello" },
      ]);
      assert.match(String(at((await call("get-sum", { a: 2, b: 40 })).content, 0, "text")), /42/);
      const image = at((await call("get-tiny-image", {})).content, 1);
      assert.equal(at(image, "type"), "image");
      assert.equal(at(image, "mimeType"), "image/png");
      const weather = await call("get-structured-content", { location: "Chicago" });
      assert.equal(typeof at(weather.structuredContent, "temperature"), "number");
      const linked = await call("get-resource-links", { count: 2 });
      assert.equal(at(linked.content, 1, "type"), "resource_link");
      const heard: unknown[] = [];
      const params = { name: "all__trigger-long-running-operation", arguments: { duration: 0.05, steps: 3 } };
      const onprogress = ({ progress, total }: { progress: number; total?: number | undefined }): void =>
        void heard.push([progress, total]);
      const done =
        client instanceof OldClient
          ? await client.callTool(params, undefined, { onprogress })
          : await client.callTool(params, { onprogress });
      assert.match(String(at(done.content, 0, "text")), /completed/);
      assert.deepEqual(heard, [
        [1, 3],
        [2, 3],
        [3, 3],
      ]);
    }
  },
);
