/**
 * Opens the proxy's requests: to any upstream that the SSRF guard lets through, streamed both ways, connections kept.
 * Follows no redirect and reads no body. What goes in a request, and what becomes of its answer, is the surface's.
 */
import type http from "node:http";
import { GuardedAgents, reasonOf } from "./guarded-agents.ts";
import type { Resolve } from "./ssrf.ts";

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
}

export function proxyClient({ allow, resolve, ca }: ProxyClientOptions): ProxyClient {
  const agents = new GuardedAgents({
    ...{ allow, resolve, idleMs: KEEP_ALIVE_MS, adapt: readingInPlace },
    socketsPerOriginMax: SOCKETS_PER_ORIGIN_MAX,
    idleSocketsMax: SOCKETS_FREE_MAX,
    ...(ca !== undefined && { ca }),
  });
  return {
    check: (url) => agents.check(url),
    open(origin, { method, path, headers }) {
      const { request, agent } = agents.wayTo(origin);
      return request({
        protocol: origin.protocol,
        hostname: origin.hostname.replace(/^\[|\]$/g, ""),
        port: origin.port,
        agent,
        maxHeaderSize: HEAD_BYTES_MAX,
        ...{ method, path, headers: [...headers] },
      });
    },
    close: () => agents.close(),
  };
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
