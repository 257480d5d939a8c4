/**
 * One HTTP request to a request handler within the process: Node's own request and response objects over a connection
 * that is none, and what the handler wrote as bytes, read as HTTP.
 */
import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { RequestHandler } from "../http/server.ts";

export interface OfflineRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A response as its client has it. */
export interface OfflineResponse {
  readonly status: number;
  /** Names in lower case; a repeated header is joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** False: the connection was closed before the end. */
  readonly isComplete: boolean;
}

/** A running request. */
export interface OpenExchange {
  readonly isOver: boolean;
  response(): OfflineResponse;
  /** Ends the connection, as a client that leaves. */
  close(): void;
}

/** No answer is longer: `server.max_buffered_bytes` and the limits of providers' answers are below. */
const WRITTEN_BYTES_MAX = 1024 ** 3;

/** Takes what is written to the client. */
class Wire extends Duplex {
  readonly written: Buffer[] = [];
  readonly remoteAddress = "127.0.0.1";
  readonly remotePort = 1;

  constructor() {
    // The client is never behind.
    super({ writableHighWaterMark: WRITTEN_BYTES_MAX });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written.push(chunk);
    done();
  }

  override _final(done: () => void): void {
    done();
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  resetAndDestroy(): this {
    this.destroy();
    return this;
  }
}

export function openExchange(handler: RequestHandler, request: OfflineRequest): OpenExchange {
  const wire = new Wire();
  // All that the gateway uses of a socket.
  const socket = wire as unknown as Socket;
  const req = new IncomingMessage(socket);
  fill(req, request);
  const res = new ServerResponse(req);
  let isOver = false;
  let isComplete = false;
  res.once("finish", () => {
    isComplete = true;
    isOver = true;
    // As the server does after the last answer of a connection.
    setImmediate(() => wire.destroy());
  });
  wire.once("close", () => {
    isOver = true;
  });
  wire.on("drain", () => res.emit("drain"));
  wire.on("error", () => undefined);
  res.assignSocket(socket);
  handler(req, res);
  return {
    get isOver() {
      return isOver;
    },
    response: () => readResponse(Buffer.concat(wire.written), isComplete),
    close: () => void wire.destroy(),
  };
}

function fill(req: IncomingMessage, { method, path, headers = {}, body = "" }: OfflineRequest): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : Buffer.from(body);
  const all: Record<string, string> = { host: "127.0.0.1" };
  if (bytes.length > 0) all["content-length"] = String(bytes.length);
  for (const [name, value] of Object.entries(headers)) all[name.toLowerCase()] = value;
  req.method = method;
  req.url = path;
  req.httpVersion = "1.1";
  req.httpVersionMajor = 1;
  req.httpVersionMinor = 1;
  req.rawHeaders = Object.entries(all).flat();
  req.headers = all;
  if (bytes.length > 0) req.push(bytes);
  req.push(null);
  req.complete = true;
}

const HEAD_END = Buffer.from("\r\n\r\n");

/** Interim responses (100, 103) are left out. */
function readResponse(bytes: Buffer, isComplete: boolean): OfflineResponse {
  for (let from = 0; ; ) {
    const end = bytes.indexOf(HEAD_END, from);
    if (end < 0) return { status: 0, headers: {}, body: Buffer.alloc(0), isComplete: false };
    const [first = "", ...lines] = bytes.toString("latin1", from, end).split("\r\n");
    const status = Number(first.split(" ", 2)[1] ?? 0);
    from = end + HEAD_END.length;
    if (status < 200) continue;
    const headers = headersOf(lines);
    const rest = bytes.subarray(from);
    const isChunked = headers["transfer-encoding"] === "chunked";
    return { status, headers, body: isChunked ? unchunked(rest) : rest, isComplete };
  }
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) break;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    if (!(size > 0)) break;
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return Buffer.concat(parts);
}
