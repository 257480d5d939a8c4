/** Raw bytes in place of HTTP answers, from every kind of upstream: providers, proxied APIs, OAuth, MCP and webhooks. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { CONTROL_TOKEN, callTool } from "../spec/kit/rpc.ts";
import { fuzzGateway } from "./fuzz-gateway.ts";
import { mutateText } from "./mutations.ts";
import type { FuzzSession, FuzzTarget, SeededRandom } from "./target.ts";

const PROXY = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f704";
const PROXY_TOKEN = "gw_live_proxy0Fuzzer7";
const AGENT = "gw_live_agent0Fuzzer8";
const MONEY = { estimated_cost_per_1k_tokens_usd: 0.01, monthly_budget_usd: 1_000_000 };
const REQUEST_BYTES_MAX = 1_000_000;

export const upstreamBytes: FuzzTarget = {
  name: "upstream-bytes",
  description:
    "raw bytes from providers, proxied APIs, OAuth, MCP servers and webhooks end each call once, with no 500",
  start,
};

const COMPLETION = JSON.stringify({
  id: "1",
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Tea." }, finish_reason: "stop" }],
});
const TOOLS = { tools: [{ name: "search", inputSchema: { type: "object" } }] };
const RPC = JSON.stringify({ jsonrpc: "2.0", id: 2, result: { content: [], ...TOOLS } });
const TOKEN = JSON.stringify({ access_token: "fuzz", token_type: "bearer", expires_in: 3600 });

/** Bodies that some upstream is expected to answer. */
const BODIES: readonly string[] = [
  ...[COMPLETION, RPC, TOKEN, `event: message\ndata: ${RPC}\n\n`, "data: [DONE]\n\n", "", "hello"],
];
const FIELDS: readonly string[] = [
  ...[
    "connection: close",
    "connection: keep-alive",
    "keep-alive: timeout=5",
    "set-cookie: a=b",
    "x: \xe9",
    "x:",
  ],
  ...[
    "content-type: text/event-stream",
    "content-type: application/json",
    "mcp-session-id: s",
    "retry-after: 1",
  ],
  ...[
    "transfer-encoding: gzip",
    "content-length: 5",
    "trailer: x",
    "location: http://127.0.0.1/",
    "upgrade: x",
  ],
  ...["www-authenticate: Bearer", `connection: x${" ".repeat(3_000)}y`, `x: ${"v".repeat(20_000)}`],
];
const REASONS: readonly string[] = [" OK", "", " ", " O\x01K", " O\x7fK", " \xff", " O\tK", " O\0K"];
const INTERIMS: readonly string[] = [
  ...["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"],
  ...["HTTP/1.1 102 Processing\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"],
];

/** An answer that is HTTP at first, as Latin-1. */
function bytesOf(random: SeededRandom): Buffer {
  const body = mutateText(random, random.pick(BODIES), random.chance(0.7) ? 0 : 2);
  // No 500: the proxy passes it on, and here it would look like one of the gateway.
  const status = random.pick([200, 200, 200, 200, 201, 204, 206, 304, 401, 404, 503, 999, 20, 100]);
  const lines = [`HTTP/1.${random.chance(0.95) ? 1 : 0} ${status}${random.pick(REASONS)}`];
  for (let n = random.below(4); n > 0; n--) lines.push(random.pick(FIELDS));
  const length = Buffer.byteLength(body, "latin1");
  let framed = body;
  if (random.chance(0.4)) lines.push(`content-length: ${random.chance(0.9) ? length : length + 1}`);
  else if (random.chance(0.5)) {
    lines.push("transfer-encoding: chunked");
    framed = `${length.toString(16)}\r\n${body}\r\n0\r\n${random.chance(0.2) ? "x: y\r\n" : ""}\r\n`;
  }
  const interim = random.chance(0.1) ? random.pick(INTERIMS) : "";
  const text = `${interim}${lines.join("\r\n")}\r\n\r\n${framed}`;
  return Buffer.from(mutateText(random, text, random.chance(0.5) ? 0 : 3), "latin1");
}

/** Answers each request with the bytes of the case, and closes. */
async function rawServer(next: () => Buffer): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let request = "";
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.setEncoding("latin1").on("data", (text: string) => {
      request = (request + text).slice(0, REQUEST_BYTES_MAX);
      if (!isWhole(request)) return;
      request = "";
      socket.end(next());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function isWhole(request: string): boolean {
  const head = request.indexOf("\r\n\r\n");
  const length = Number(/^content-length: (\d+)/im.exec(request)?.[1] ?? 0);
  return head >= 0 && request.length >= head + 4 + length;
}

async function start(): Promise<FuzzSession> {
  let random: SeededRandom | undefined;
  const server = await rawServer(() => (random === undefined ? Buffer.alloc(0) : bytesOf(random)));
  const { url } = server;
  const gateway = await fuzzGateway(partsFor(url), async () => server.close());
  const { g } = gateway;
  const mcp = (method: string, params: object) =>
    g.client.send(`/api/${PROJECT}/mcp`, {
      token: AGENT,
      headers: { accept: "application/json, text/event-stream" },
      body: { jsonrpc: "2.0", id: 1, method, params },
    });
  const proxied = (slug: string, method: string) =>
    g.client.send(`/api/${PROXY}/proxy/${slug}/x`, { token: PROXY_TOKEN, method });
  const webhook = { project_uuid: PROJECT, webhook: "siem" };
  const testWebhook = () => callTool(g.client, "gw_send_test_webhook", webhook);
  const calls: readonly (() => Promise<{ readonly status: number }>)[] = [
    () => g.call({ message: "Tea?" }),
    () =>
      g.client.send(`/api/${PROJECT}/ask`, { token: TOKENS.web, body: { message: "Tea?", stream: true } }),
    () => proxied("plain", "GET"),
    () => proxied("plain", "POST"),
    () => proxied("signed", "GET"),
    () => mcp("tools/list", {}),
    () => mcp("tools/call", { name: "docs__search", arguments: {} }),
    testWebhook,
  ];
  return {
    async run(seeded) {
      random = seeded;
      const call = random.pick(calls);
      // A proxied answer that breaks off is cut for its client too.
      const { status } = await call().catch(() => ({ status: 0 }));
      // The control plane's tools are no calls of a project.
      await gateway.settled(status, call === testWebhook ? 0 : 1);
    },
    close: () => gateway.close([`spend:${PROJECT}/ask`]),
  };
}

function partsFor(url: string): Parameters<typeof fuzzGateway>[0] {
  const credential = { name: "raw", provider: "openai", api_key: "key-of-raw", base_url: url };
  const oauth = {
    ...{ name: "crm", token_url: `${url}/token`, client_id: "c", client_secret: "fuzz-secret-of-crm" },
    grant: "client_credentials",
  };
  const proxy = {
    ...{ uuid: PROXY, name: "Proxy", type: "proxy" },
    tokens: [{ name: "fuzzer", hash: hashOf(PROXY_TOKEN), scopes: ["proxy"] }],
    oauth_connections: [oauth],
    proxy_endpoints: [
      { slug: "plain", upstream_url: `${url}/api` },
      { slug: "signed", upstream_url: `${url}/api`, oauth_connection: "crm" },
    ],
  };
  return {
    credentials: [credential],
    endpoint: { credential: "raw", ...MONEY },
    tokens: [{ name: "agent", hash: hashOf(AGENT), scopes: ["mcp"] }],
    project: {
      mcp_servers: [{ name: "docs", url }],
      webhooks: [
        {
          name: "siem",
          url: `${url}/hook`,
          secret: "fuzz-signing-secret-of-siem",
          events: ["token.created"],
        },
      ],
    },
    projects: [proxy],
    root: {
      network: { allow: ["127.0.0.0/8"] },
      control_plane: { tokens: [{ name: "platform", hash: hashOf(CONTROL_TOKEN) }] },
    },
  };
}
