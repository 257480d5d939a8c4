/** Valid requests of every surface as bytes, and ways to spoil them. Knows no socket and no gateway. */
import { hashOf, OTHER_PROJECT, PROJECT, TOKENS } from "../spec/kit/config.ts";
import type { SeededRandom } from "./target.ts";

export const OPERATOR = "gw_live_operator0Fuzzer";
export const WRAPPER = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f7a1";
export const PROXY = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f7a2";
const WRAPPED = "gw_live_wrapped0Fuzzer";
const PROXIED = "gw_live_proxied0Fuzzer";

type Fields = Readonly<Record<string, unknown>>;

/** The gateway that these requests are for. `upstream`: where its proxy leads. */
export function fuzzedProjects(upstream: string): { root: Fields; projects: Fields[]; tokens: Fields[] } {
  const credential = { name: "echo", provider: "mock", options: { reply: "{{input}}" } };
  const alias = { alias: "default", provider: "mock", model: "echo", credential: "echo" };
  const wrapped = { name: "wrapped", hash: hashOf(WRAPPED), scopes: ["chat", "models", "mcp"] };
  const proxied = { name: "proxied", hash: hashOf(PROXIED), scopes: ["proxy"] };
  return {
    root: {
      control_plane: { tokens: [{ name: "operator", hash: hashOf(OPERATOR) }] },
      network: { allow: ["127.0.0.0/8"] },
    },
    tokens: [{ name: "bridge", hash: hashOf("gw_live_bridge0Fuzzer"), scopes: ["mcp"] }],
    projects: [
      {
        ...{ uuid: WRAPPER, name: "Wrapper", type: "ai_wrapper" },
        ...{ credentials: [credential], aliases: [alias], tokens: [wrapped] },
      },
      {
        ...{ uuid: PROXY, name: "Proxy", type: "proxy", tokens: [proxied] },
        proxy_endpoints: [{ slug: "crm", upstream_url: upstream }],
      },
    ],
  };
}

export interface FuzzRequest {
  readonly listener: "data" | "admin";
  readonly bytes: string;
}

interface Shape {
  readonly listener?: "admin";
  readonly line: string;
  readonly token?: string;
  readonly body?: unknown;
}

const rpc = (method: string, params: object = {}): object => ({ jsonrpc: "2.0", id: 1, method, params });
const messages = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hi" },
  { role: "user", content: "ä🙂" },
];

const SHAPES: readonly Shape[] = [
  { line: `POST /api/${PROJECT}/ask`, token: TOKENS.web, body: { message: "Hello" } },
  { line: `POST /api/${PROJECT}/ask`, token: TOKENS.web, body: { messages, stream: true } },
  { line: `POST /api/${PROJECT}/chat/completions`, token: TOKENS.web, body: { endpoint: "ask", messages } },
  { line: `GET /api/${PROJECT}/endpoints`, token: TOKENS.admin },
  { line: `DELETE /api/${PROJECT}/sessions/${PROJECT}`, token: TOKENS.web },
  { line: `POST /api/${OTHER_PROJECT}/ask`, token: TOKENS.web, body: { message: "Hello" } },
  { line: `POST /api/${PROJECT}/ask`, token: TOKENS.unknown, body: { message: "Hello" } },
  { line: `POST /api/${PROJECT}/mcp`, token: "gw_live_bridge0Fuzzer", body: rpc("tools/list") },
  {
    line: `POST /api/${PROJECT}/mcp`,
    token: "gw_live_bridge0Fuzzer",
    body: [rpc("tools/call", { name: "ask", arguments: { message: "Hello" } }), rpc("ping")],
  },
  { line: `POST /api/${WRAPPER}/v1/chat/completions`, token: WRAPPED, body: { model: "default", messages } },
  {
    line: `POST /api/${WRAPPER}/v1/chat/completions`,
    token: WRAPPED,
    body: { model: "default", messages, stream: true, stream_options: { include_usage: true } },
  },
  {
    line: `POST /api/${WRAPPER}/v1/embeddings`,
    token: WRAPPED,
    body: { model: "default", input: ["a", "b"] },
  },
  { line: `GET /api/${WRAPPER}/v1/models`, token: WRAPPED },
  { line: `POST /api/${PROXY}/proxy/crm/a/b?c=d`, token: PROXIED, body: { any: ["thing"] } },
  { line: `GET /api/${PROXY}/proxy/crm`, token: PROXIED },
  { line: "POST /api/control", token: OPERATOR, body: rpc("tools/list") },
  { line: "POST /api/control", token: OPERATOR, body: rpc("tools/call", { name: "gw_list_projects" }) },
  { line: "GET /healthz" },
  { line: "GET /readyz" },
  { listener: "admin", line: "GET /readyz" },
  { listener: "admin", line: "GET /metrics" },
  { listener: "admin", line: "GET /admin/audit?limit=5", token: OPERATOR },
  { listener: "admin", line: "GET /admin/deliveries", token: TOKENS.web },
  { listener: "admin", line: "POST /admin/session", body: { token: OPERATOR } },
  { listener: "admin", line: "DELETE /admin/session" },
];

/** A request as it should be, with a length or in chunks. */
export function validRequest(random: SeededRandom, listener: FuzzRequest["listener"]): FuzzRequest {
  const shapes = SHAPES.filter((one) => (one.listener ?? "data") === listener);
  const { line, token, body } = random.pick(shapes);
  const text = body === undefined ? "" : JSON.stringify(body);
  const length = Buffer.byteLength(text);
  const isChunked = text !== "" && random.chance(0.3);
  const head = [`${line} HTTP/1.1`, "Host: 127.0.0.1", "Content-Type: application/json"];
  if (token !== undefined) head.push(`Authorization: Bearer ${token}`);
  if (isChunked) head.push("Transfer-Encoding: chunked");
  else if (text !== "") head.push(`Content-Length: ${length}`);
  const payload = isChunked ? chunked(random, Buffer.from(text)) : text;
  return { listener, bytes: `${head.join("\r\n")}\r\n\r\n${payload}` };
}

function chunked(random: SeededRandom, bytes: Buffer): string {
  let out = "";
  for (let at = 0; at < bytes.length; ) {
    const piece = bytes.subarray(at, at + 1 + random.below(bytes.length));
    // Bytes of a character may be in two chunks: one byte a character, as they go over the wire.
    out += `${piece.length.toString(16)}${random.pick(["", "", ";x=y"])}\r\n${piece.toString("latin1")}\r\n`;
    at += piece.length;
  }
  // The text of the request is sent as UTF-8, so what is above ASCII has to be put back together first.
  return Buffer.from(`${out}0\r\n\r\n`, "latin1").toString("utf8").includes("\uFFFD")
    ? `${bytes.length.toString(16)}\r\n${bytes.toString("utf8")}\r\n0\r\n\r\n`
    : Buffer.from(`${out}0\r\n\r\n`, "latin1").toString("utf8");
}

const LINES: readonly string[] = [
  ...[
    "Host: x",
    "Host: evil.example",
    "Content-Length: 5",
    "Content-Length: 0",
    "Content-Length: 99999999999",
  ],
  ...["Content-Length: -1", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "__proto__: x"],
  ...["constructor: x", "Expect: 100-continue", "Expect: magic", "Connection: close", "Connection: upgrade"],
  ...[
    "Upgrade: websocket",
    "Content-Encoding: gzip",
    "Content-Type: text/plain",
    "Origin: http://evil.example",
  ],
  ...[`Authorization: Bearer ${TOKENS.web}`, "Authorization: Basic eA==", "Cookie: sluice_session=x", ": x"],
  ...[
    " folded: x",
    "X-Forwarded-For: 1.2.3.4",
    "traceparent: 00-00-00-00",
    "MCP-Protocol-Version: 2026-07-28",
  ],
  ...["Accept: text/event-stream", `X-Long: ${"a".repeat(20_000)}`, "a:1\r\n".repeat(2_100).trimEnd()],
];

const TEXTS: readonly string[] = [
  ...["\r\n", "\n", "\r\n\r\n", "\0", "\u0001", " ", "%00", "%2e%2e/", "/../", "?", "#", "🙂", "\u00e9"],
  ...['"__proto__":{"a":1},', "[".repeat(200), '{"a":'.repeat(100), "1e999", '"\\ud800"', "null", "-", "\\"],
  ...[
    "0\r\n\r\n",
    "ffffffffffffffff\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "HTTP/0.9",
    "HTTP/2.0",
    "PRI * HTTP/2.0\r\n",
  ],
];

type Mutation = (bytes: string, random: SeededRandom) => string;

const MUTATIONS: readonly Mutation[] = [
  (bytes, random) => {
    const at = random.below(bytes.length);
    return bytes.slice(0, at) + String.fromCharCode(random.below(256)) + bytes.slice(at + 1);
  },
  (bytes, random) => {
    const at = random.below(bytes.length);
    return bytes.slice(0, at) + bytes.slice(at + 1 + random.below(20));
  },
  (bytes, random) => {
    const at = random.below(bytes.length);
    const end = at + 1 + random.below(60);
    return bytes.slice(0, end) + bytes.slice(at, end) + bytes.slice(end);
  },
  (bytes, random) => {
    const at = random.below(bytes.length);
    return bytes.slice(0, at) + random.pick(TEXTS) + bytes.slice(at);
  },
  (bytes, random) => bytes.slice(0, random.below(bytes.length)),
  (bytes, random) => bytes.replace("\r\n", `\r\n${random.pick(LINES)}\r\n`),
  (bytes, random) =>
    bytes.replace(/\r\n[\w-]+: [^\r]*/, random.chance(0.5) ? "" : `\r\n${random.pick(LINES)}`),
  (bytes, random) =>
    bytes.replace(/\d+/, () => String(random.pick([0, -1, 1e9, 2 ** 53, random.below(300)]))),
  (bytes, random) =>
    bytes.replace(/"[^"]*"/, () => JSON.stringify(random.pick([null, true, 7, [], {}, "x".repeat(70_000)]))),
  (bytes, random) => bytes.replace(/\/[\w-]+/, () => `/${"a".repeat(random.below(15_000))}`),
];

/** A request that is spoiled in one to four places. */
export function spoiledRequest(random: SeededRandom, listener: FuzzRequest["listener"]): FuzzRequest {
  let { bytes } = validRequest(random, listener);
  for (let n = 1 + random.below(4); n > 0 && bytes !== ""; n--) bytes = random.pick(MUTATIONS)(bytes, random);
  return { listener, bytes };
}
