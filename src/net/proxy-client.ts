/**
 * Opens the proxy's requests: to any upstream that the SSRF guard lets through, streamed both ways, connections kept.
 * Follows no redirect and reads no body. What goes in a request, and what becomes of its answer, is the surface's.
 */
import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { Clock } from "../plugin/index.ts";
import { environmentProxies, type ProxyFor } from "./forward-proxy.ts";
import { reasonOf } from "./guarded.ts";
import { Sockets } from "./sockets.ts";
import { checkUrl, guardedLookup, type Resolve, ssrfAllow } from "./ssrf.ts";

/** Further requests to one origin wait for their turn within their own time limit. */
const SOCKETS_PER_ORIGIN_MAX = 1024;
const SOCKETS_FREE_MAX = 64;
/** Below the 5 s after which many servers close: what is sent into a closing connection may not be sent again. */
const KEEP_ALIVE_MS = 4_000;
/** Of an answer's head. */
const HEAD_BYTES_MAX = 65_536;
/** Of one read. A connection begins with the smaller buffer; a read that fills it asks for the larger. */
const READ_BYTES_MIN = 4_096;
const READ_BYTES_MAX = 65_536;

export interface ProxyRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names and values in turn: all of them, `Host` and the body's framing too. */
  readonly headers: readonly string[];
}

export interface ProxyClient {
  /** The URL when it may be asked for, else why not. A name is decided when it is resolved. */
  check(url: string): URL | string;
  /** Begins a request to a checked URL's origin. Throws when the request cannot be written as HTTP. */
  open(origin: URL, request: ProxyRequest): http.ClientRequest;
  /** Ends all connections. */
  close(): void;
}

export interface ProxyClientOptions {
  /** `network.allow`. */
  readonly allow: readonly string[];
  /** Default: the system's. */
  readonly resolve?: Resolve;
  /** Certificates to trust, PEM. Default: the system's. */
  readonly ca?: string;
  readonly clock: Clock;
  /** Default: the environment's. */
  readonly proxyFor?: ProxyFor;
}

export function proxyClient({
  allow: entries,
  resolve,
  ca,
  clock,
  ...options
}: ProxyClientOptions): ProxyClient {
  const allow = ssrfAllow(entries);
  const { proxyFor = environmentProxies(process.env) } = options;
  const sockets = new Sockets({ clock, guard: { allow, resolve }, proxyFor, certificates: { ca } });
  const settings = {
    lookup: guardedLookup(allow, resolve),
    keepAlive: true,
    maxSockets: SOCKETS_PER_ORIGIN_MAX,
    maxFreeSockets: SOCKETS_FREE_MAX,
    timeout: KEEP_ALIVE_MS,
  };
  const plain = readingInPlace(new http.Agent(settings));
  const secure = readingInPlace(new https.Agent({ ...settings, ...(ca !== undefined && { ca }) }));
  const tunnels = {
    plain: tunneling(new http.Agent(settings), sockets),
    secure: tunneling(new https.Agent(settings), sockets),
  };
  return {
    check: (url) => checkUrl(url, allow),
    open(origin, { method, path, headers }) {
      const isSecure = origin.protocol === "https:";
      const agents = sockets.isProxied(origin) ? tunnels : { plain, secure };
      return (isSecure ? https : http).request({
        protocol: origin.protocol,
        hostname: origin.hostname.replace(/^\[|\]$/g, ""),
        port: origin.port,
        agent: isSecure ? agents.secure : agents.plain,
        maxHeaderSize: HEAD_BYTES_MAX,
        ...{ method, path, headers: [...headers] },
      });
    },
    close() {
      for (const agent of [plain, secure, tunnels.plain, tunnels.secure]) agent.destroy();
    },
  };
}

/** Its connections go through the forward proxy. */
function tunneling(agent: http.Agent, sockets: Sockets): http.Agent {
  // Node gives the origin's host and port, and takes a socket later; its types know neither.
  agent.createConnection = ((
    { host, port, protocol }: { host: string; port: number; protocol: string },
    connected: (error: Error | null, socket?: Socket) => void,
  ) => {
    const name = host.includes(":") ? `[${host}]` : host;
    sockets.open(new URL(`${protocol}//${name}:${port}`), (error, socket) => {
      connected(error, socket);
      // A tunnel is paused when it is handed over, and Node reads only from sockets that were never paused.
      socket?.resume();
    });
  }) as typeof agent.createConnection;
  return agent;
}

/**
 * Node makes a buffer for each read, and its parser copies the body out of that: twice as much to collect. Here all reads
 * of a connection go into one buffer, since the parser is done with it when `emit` returns.
 */
function readingInPlace(agent: http.Agent): http.Agent {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, connected) => {
    let buffer = Buffer.allocUnsafeSlow(READ_BYTES_MIN);
    let isFull = false;
    const onread = {
      buffer() {
        if (isFull && buffer.length < READ_BYTES_MAX) buffer = Buffer.allocUnsafeSlow(READ_BYTES_MAX);
        return buffer;
      },
      callback(count: number) {
        isFull = count === buffer.length;
        // What nobody has asked for would be taken for the next request's answer.
        if (socket?.emit("data", buffer.subarray(0, count)) === false) socket.destroy();
        return true;
      },
    };
    const reading = { ...options, onread };
    const socket = connect(reading, connected);
    return socket;
  };
  return agent;
}

/** Why a request came to no answer: refused by the guard, or a word for the connection's failure. */
export type ProxyFailure = { readonly blocked: string } | { readonly unreachable: string };

export function proxyFailure(error: unknown): ProxyFailure {
  const reason = reasonOf(error);
  if ("blocked" in reason) return reason;
  return { unreachable: reason.code === "" ? "the connection failed" : reason.code };
}
