/**
 * A gateway with a proxy project, and upstreams that do by hand what a test wants of HTTP. Must know nothing of the
 * gateway's code.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type ConfigParts, hashOf, PROJECT } from "../../spec/kit/config.ts";
import { type Closer, type Harness, startGateway } from "../../spec/kit/gateway.ts";

type Fields = Readonly<Record<string, unknown>>;

export const CALLER = "gw_live_caller0Proxy9";

/** A path of the proxy endpoint `crm`. */
export function proxied(rest = "", slug = "crm"): string {
  return `/api/${PROJECT}/proxy/${slug}${rest}`;
}

export interface ProxyParts {
  /** More proxy endpoints, after `crm`. */
  readonly endpoints?: readonly Fields[];
  /** Fields of the caller's token. */
  readonly token?: Fields;
  readonly project?: Fields;
  readonly server?: Fields;
  /** `network.allow`. Default: this machine. */
  readonly allow?: readonly string[];
}

/** The configuration: one endpoint `crm` with these fields, in front of `upstream_url`. */
export function proxyParts(crm: Fields, parts: ProxyParts = {}): ConfigParts {
  const caller = { name: "caller", hash: hashOf(CALLER), scopes: ["proxy"], ...parts.token };
  return {
    tokens: [caller],
    root: { network: { allow: parts.allow ?? ["127.0.0.0/8", "::1"] } },
    server: parts.server ?? {},
    project: {
      type: "proxy",
      endpoints: [],
      proxy_endpoints: [{ slug: "crm", ...crm }, ...(parts.endpoints ?? [])],
      ...parts.project,
    },
  };
}

export function startProxy(t: Closer, crm: Fields, parts?: ProxyParts): Promise<Harness> {
  return startGateway(t, proxyParts(crm, parts));
}

/** A server that handles each request as the test says. */
export async function upstreamOf(
  t: Closer,
  handle: (req: IncomingMessage, res: ServerResponse) => void,
): Promise<string> {
  const server = createServer(handle);
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => void sockets.add(socket));
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

export interface Exchanged {
  readonly status: number;
  readonly reason: string;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage["headers"];
  readonly trailers: IncomingMessage["trailers"];
  readonly text: string;
  /** Statuses that came before. */
  readonly hints: readonly { readonly status: number; readonly link: unknown }[];
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Written one by one, in chunks. */
  readonly body?: readonly string[];
  readonly trailers?: Readonly<Record<string, string>>;
}

/** One call with all that HTTP can tell. Rejects when the answer breaks off. */
export async function exchange(url: string, asked: Asked = {}): Promise<Exchanged> {
  const headers = { authorization: `Bearer ${CALLER}`, ...asked.headers };
  const out = request(url, { method: asked.method ?? "GET", headers, agent: false });
  const hints: { status: number; link: unknown }[] = [];
  out.on("information", ({ statusCode, headers: { link } }) => hints.push({ status: statusCode, link }));
  for (const part of asked.body ?? []) out.write(part);
  if (asked.trailers !== undefined) out.addTrailers(asked.trailers);
  out.end();
  // A request's event is what its type says.
  const [answer] = (await once(out, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part);
  return {
    status: answer.statusCode ?? 0,
    reason: answer.statusMessage ?? "",
    rawHeaders: answer.rawHeaders,
    headers: answer.headers,
    trailers: answer.trailers,
    text: Buffer.concat(parts).toString("utf8"),
    hints,
  };
}

/** Value of a header as it stands in raw bytes; undefined where it does not. */
export function rawHeader(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)\r$`, "im").exec(head)?.[1];
}

/** The head of a call as bytes, for clients that do by hand what HTTP forbids. */
export function head(line: string, ...headers: readonly string[]): string {
  return [line, "Host: gateway.example", `Authorization: Bearer ${CALLER}`, ...headers, "", ""].join("\r\n");
}

/** A number of bytes in which no part looks like another, the same each time. */
export function patterned(length: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = 2_463_534_242;
  for (let n = 0; n < words.length; n++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[n] = state;
  }
  return Buffer.from(words.buffer, 0, length);
}
