/**
 * A node:http server with limits on everything that a peer controls: bytes and time of the head, header lines, connections,
 * rates, idle time. Knows no route; requests that the HTTP parser or the head's rules refuse are answered here.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Clock, type GatewayError, reject } from "../plugin/index.ts";
import { type ClientConnection, type CloseReason, Connections, HEAD_TIMEOUT_MS } from "./connections.ts";
import { allowHalfClose } from "./half-close.ts";
import { refusedHead } from "./head-rules.ts";
import { KEEP_ALIVE_MS } from "./one-write.ts";
import { errorBody, sendError } from "./respond.ts";

/** Bytes of request line and headers. */
const HEAD_BYTES_MAX = 16_384;
/** Open connections; more are refused by the kernel's queue. */
const CONNECTIONS_MAX = 20_000;
/** While the server drains, how long a new connection may take to send its first byte. */
const SILENCE_MS = 1_000;
/** How often Node checks its own timeout of heads, a second line of defense. */
const CHECK_MS = 5_000;

export type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly handle: RequestHandler;
  /** Connections that one address may hold. Default: no limit of its own. */
  readonly perAddressMax?: number;
  /** Addresses without that limit. Default: none. */
  readonly isExempt?: (address: string) => boolean;
  /** Called for each connection that is closed for a limit. */
  readonly closed?: (reason: CloseReason) => void;
}

export interface HttpServer {
  /** Resolves with the port that was bound. Rejects when the address cannot be. */
  listen(): Promise<number>;
  /** Takes no new connection and closes idle ones; resolves when the last one has ended. */
  drain(): Promise<void>;
  /** Closes the connections whose last answer is out, without waiting for the next look at them. */
  closeIdle(): void;
  /** Ends all connections at once. */
  destroy(): void;
  /** Open connections. */
  readonly connections: number;
}

export function httpServer(options: HttpServerOptions): HttpServer {
  const { host, port, clock, handle } = options;
  const server = createServer({
    maxHeaderSize: HEAD_BYTES_MAX,
    headersTimeout: HEAD_TIMEOUT_MS,
    // Bodies have a deadline of their own, set per surface.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_MS,
    // Checked by the head's rules, whose refusal has our error body.
    requireHostHeader: false,
  });
  server.maxConnections = CONNECTIONS_MAX;
  // No maximum: Node would drop the header lines beyond it without a word; the head's rules count them.
  server.maxHeadersCount = 0;
  const connections: Connections = new Connections({
    clock,
    perAddressMax: options.perAddressMax ?? CONNECTIONS_MAX,
    isExempt: options.isExempt ?? (() => false),
    closed: options.closed ?? (() => undefined),
    headTooSlow: (connection) =>
      refuseConnection(connections, connection, reject("request_head_too_slow", {})),
  });
  const serve: RequestHandler = (req, res) => {
    connections.began(req, res);
    const refusal = refusedHead(req);
    if (refusal === undefined) handle(req, res);
    else if (req.httpVersionMajor === 1)
      // The connection is not used again, since it is in doubt where its next request begins.
      sendError(req, res, refusal, ["X-Request-Id", randomUUID(), "Connection", "close"]);
    else refuseBefore(connections, req.socket, refusal);
  };
  server.on("connection", (socket) => connections.accept(socket));
  allowHalfClose(server, connections);
  // `close` calls this. Node 26 would close connections whose first request is on its way, older releases would not.
  server.closeIdleConnections = () => connections.drain();
  server.on("request", serve);
  // A body announced with `Expect: 100-continue` is asked for when it is read, not before the token is accepted.
  server.on("checkContinue", serve);
  server.on("checkExpectation", (req: IncomingMessage, res: ServerResponse) => {
    connections.began(req, res);
    sendError(req, res, reject("expectation_failed", {}), ["X-Request-Id", randomUUID()]);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) =>
    refuseUnparsable(connections, error, socket),
  );
  return {
    listen: () => listen(server, host, port),
    drain: () => drain(server, connections, clock),
    closeIdle: () => connections.drain(),
    destroy: () => server.closeAllConnections(),
    get connections() {
      return connections.size;
    },
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

function drain(server: Server, connections: Connections, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const silent = clock.after(SILENCE_MS, () => connections.closeSilent());
    server.close(() => {
      silent.cancel();
      resolve();
    });
  });
}

/** HTTP/0.9 has no headers, and Node would answer in it: the refusal is written past Node's answer. */
function refuseBefore(connections: Connections, socket: Socket, refusal: GatewayError): void {
  const connection = connections.of(socket);
  if (connection === undefined) socket.destroy();
  else refuseConnection(connections, connection, refusal);
}

/**
 * What the parser cannot read is refused once, and never inside an answer: a request before it is answered first. An
 * answer that has begun although its own request is unreadable gets the linger time to end, and no second one.
 */
function refuseUnparsable(connections: Connections, error: NodeJS.ErrnoException, socket: Socket): void {
  const connection = connections.of(socket);
  if (connection === undefined || !socket.writable || error.code === "ECONNRESET")
    return void socket.destroy();
  if (connection.refused) return;
  const { req, res } = connection;
  const refusal = parserRefusal(error.code);
  const isAnswering = res !== undefined && !res.writableFinished;
  if (!isAnswering) return refuseConnection(connections, connection, refusal);
  if (req?.complete) {
    connection.refused = true;
    res.once("close", () => refuseConnection(connections, connection, refusal));
  } else if (res.headersSent) {
    connection.refused = true;
    connections.linger(connection);
  } else refuseConnection(connections, connection, refusal);
}

/** Answers outside of any request, then closes; what still arrives meanwhile is discarded. */
function refuseConnection(
  connections: Connections,
  connection: ClientConnection,
  refusal: GatewayError,
): void {
  const { socket } = connection;
  connection.refused = true;
  if (!socket.writable) return void socket.destroy();
  connections.linger(connection);
  socket.end(refusalText(refusal));
}

function refusalText(refusal: GatewayError): string {
  const body = errorBody(refusal);
  const head = [
    `HTTP/1.1 ${refusal.status} ${REASONS[refusal.status] ?? "Bad Request"}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "X-Content-Type-Options: nosniff",
    `X-Request-Id: ${randomUUID()}`,
    "X-Should-Retry: false",
    `X-Error-Code: ${refusal.code}`,
    "Connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
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
