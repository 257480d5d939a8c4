/** Upstreams of proxy endpoints: HTTP servers within the process, reached over pairs of streams instead of connections. */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { directly } from "../net/forward-proxy.ts";
import { type ProxyClient, type ProxyClientOptions, proxyClient } from "../net/proxy-client.ts";
import type { UpstreamAnswer } from "./script.ts";
import { textOf } from "./scripted-client.ts";

/** A request that a proxy endpoint passed on. */
export interface UpstreamRequest {
  readonly method: string;
  readonly origin: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Told of each request; answers it. A text: why the upstream cannot be reached. */
export type UpstreamPlayer = (request: UpstreamRequest) => UpstreamAnswer | string;

/** Checks of addresses are the network client's; what is opened is the script's. */
export function scriptedProxyClient(options: ProxyClientOptions, player: UpstreamPlayer): ProxyClient {
  const real = proxyClient({ ...options, proxyFor: directly });
  return {
    check: (url) => real.check(url),
    close: () => real.close(),
    open(origin, { method, path, headers }) {
      const [near, far] = duplexPair();
      const server = http.createServer((req, res) => answer(req, res, origin.origin, player));
      server.emit("connection", asSocket(far));
      return http.request({
        ...{ method, path, headers: [...headers], host: origin.hostname },
        createConnection: () => asSocket(near),
      });
    },
  };
}

/** Node's HTTP takes any stream, and calls these of a socket where they are there. */
function asSocket(stream: object): Socket {
  const nothing = (): unknown => stream;
  const socket = Object.assign(stream, {
    setTimeout: nothing,
    setNoDelay: nothing,
    setKeepAlive: nothing,
    ref: nothing,
    unref: nothing,
  });
  // With these it has all that Node's HTTP uses of a socket.
  return socket as unknown as Socket;
}

function answer(req: IncomingMessage, res: ServerResponse, origin: string, player: UpstreamPlayer): void {
  const pieces: Buffer[] = [];
  req.on("data", (piece: Buffer) => pieces.push(piece));
  req.on("end", () => {
    const headers = Object.fromEntries(
      Object.entries(req.headers).map(([name, value]) => [name, String(value ?? "")]),
    );
    const scripted = player({
      method: req.method ?? "",
      origin,
      path: req.url ?? "",
      headers,
      body: Buffer.concat(pieces).toString("utf8"),
    });
    if (typeof scripted === "string") return void req.socket.destroy();
    const { status = 200, headers: sent = {}, body = "" } = scripted;
    const bytes = body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(textOf(body));
    const isJson = typeof body !== "string" && !(body instanceof Uint8Array);
    res.writeHead(status, {
      ...(isJson && { "content-type": "application/json" }),
      "content-length": String(bytes.length),
      ...sent,
    });
    res.end(bytes);
  });
}
