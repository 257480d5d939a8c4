/**
 * A node:http server with a limit on everything a peer decides: bytes and time of the head, connections, idle time.
 * Knows no route; what the HTTP parser refuses is answered here, in the usual error body.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type GatewayError, reject } from "../plugin/index.ts";
import { errorBody, sendError } from "./respond.ts";

/** Bytes of request line and headers. */
const HEAD_BYTES_MAX = 16_384;
/** Time for the head to come whole. */
const HEAD_TIMEOUT_MS = 10_000;
/** An idle connection is kept for so long: above the usual 60 s of load balancers, so that they close first. */
const KEEP_ALIVE_MS = 72_000;
/** Open connections; more are refused by the kernel's queue. */
const CONNECTIONS_MAX = 20_000;
/** How often connections that have become idle are closed while the server drains. */
const SWEEP_MS = 50;
/** How often timeouts of heads are looked at. */
const CHECK_MS = 2_000;

export type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

export interface HttpServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly handle: RequestHandler;
}

export interface HttpServer {
  /** Resolves with the port that was bound. Rejects when the address cannot be. */
  listen(): Promise<number>;
  /** Takes no new connection and closes idle ones; resolves when the last one has ended. */
  drain(): Promise<void>;
  /** Ends all connections at once. */
  destroy(): void;
}

export function httpServer({ host, port, handle }: HttpServerOptions): HttpServer {
  const server = createServer({
    maxHeaderSize: HEAD_BYTES_MAX,
    headersTimeout: HEAD_TIMEOUT_MS,
    // Bodies have a deadline of their own, set per surface.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    requireHostHeader: true,
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.on("request", handle);
  // A body announced with `Expect: 100-continue` is asked for when it is read, not before the token is accepted.
  server.on("checkContinue", handle);
  server.on("checkExpectation", (req: IncomingMessage, res: ServerResponse) => {
    sendError(req, res, reject("expectation_failed", {}), ["X-Request-Id", randomUUID()]);
  });
  server.on("clientError", answerParserError);
  return {
    listen: () => listen(server, host, port),
    drain: () =>
      new Promise((resolve) => {
        // A connection whose last answer is out becomes idle only then, and nobody says so.
        const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
        server.close(() => {
          clearInterval(sweep);
          resolve();
        });
        server.closeIdleConnections();
      }),
    destroy: () => server.closeAllConnections(),
  };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, fail) => {
    server.once("error", fail);
    server.listen(port, host, 4096, () => {
      server.off("error", fail);
      // A TCP server's address is an AddressInfo.
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function answerParserError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const refusal = parserRefusal(error.code);
  const body = errorBody(refusal);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status] ?? "Bad Request"}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${randomUUID()}\r\nX-Should-Retry: false\r\nConnection: close\r\n\r\n${body}`,
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

function parserRefusal(code: string | undefined): GatewayError {
  if (code === "HPE_HEADER_OVERFLOW") return reject("headers_too_large", {});
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return reject("request_head_too_slow", {});
  return reject("malformed_http", {});
}
