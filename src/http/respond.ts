/** HTTP responses: bodies with their length in one write, errors as `{ ok, error }`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { flushInBatch } from "../base/batching.ts";
import type { GatewayError } from "../plugin/index.ts";
import { prepareAnswer, writePrepared } from "./one-write.ts";

/** The error body of the REST surfaces (specification, "Error body"). */
export function errorBody(error: GatewayError): string {
  const { detail, scope, retryAfterSeconds } = error.extras;
  return JSON.stringify({ ok: false, error: error.message, detail, scope, retry_after: retryAfterSeconds });
}

/** Names and values in alternation, as Node's `writeHead` accepts them. */
export type FlatHeaders = readonly string[];

/** Browsers must not guess another content type. */
const NO_SNIFFING: FlatHeaders = ["X-Content-Type-Options", "nosniff"];

/** Longer bodies are written in chunks, so that a slow client's progress is visible and fills only kernel buffers. */
const PIECE_BYTES = 262_144;

/** Sends a JSON response. */
export function sendJson(res: ServerResponse, status: number, body: string, headers: FlatHeaders): void {
  const length = Buffer.byteLength(body);
  const head = jsonHead(length, headers);
  const prepared = length > PIECE_BYTES ? undefined : prepareAnswer(res, status, head, { body, length });
  if (prepared !== undefined) flushInBatch(() => writePrepared(res, prepared), res, closeConnection);
  else sendByNode(res, status, head, { body, length });
}

/** As `sendJson`, for a body that is bytes already. */
export function sendJsonBytes(
  res: ServerResponse,
  status: number,
  body: Uint8Array,
  headers: FlatHeaders,
): void {
  res.writeHead(status, [...jsonHead(body.length, headers)]);
  writePieces(res, Buffer.from(body.buffer, body.byteOffset, body.length), 0);
}

/** As `sendJson`, for headers whose names are not constants. */
function sendByNode(
  res: ServerResponse,
  status: number,
  head: FlatHeaders,
  { body, length }: { readonly body: string; readonly length: number },
): void {
  res.writeHead(status, [...head]);
  if (length <= PIECE_BYTES) flushInBatch(() => res.end(body), res, closeConnection);
  else writePieces(res, Buffer.from(body), 0);
}

/** For responses that could not be written. */
export function closeConnection(res: ServerResponse): void {
  res.destroy();
}

function jsonHead(length: number, headers: FlatHeaders): string[] {
  const head = ["Content-Type", "application/json", "Content-Length", String(length)];
  head.push(...NO_SNIFFING, ...headers);
  return head;
}

function writePieces(res: ServerResponse, bytes: Buffer, from: number): void {
  for (let at = from; ; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    if (at + PIECE_BYTES >= bytes.length) return void res.end(piece);
    if (res.write(piece)) continue;
    return void res.once("drain", () => writePieces(res, bytes, at + PIECE_BYTES));
  }
}

/** Sends a head without a body. */
export function sendEmpty(res: ServerResponse, status: number, headers: FlatHeaders): void {
  res.writeHead(status, [...NO_SNIFFING, ...headers]);
  res.end();
}

/**
 * Sends an error. When the request's body has not been read, the connection is closed, unless the rest is small: a large
 * upload is not read to its end.
 */
export function sendError(
  req: IncomingMessage,
  res: ServerResponse,
  error: GatewayError,
  headers: FlatHeaders,
): void {
  sendErrorAs(req, res, error, { headers, body: errorBody(error) });
}

/** The same with a body of another format. */
export function sendErrorAs(
  req: IncomingMessage,
  res: ServerResponse,
  error: GatewayError,
  { headers, body }: { readonly headers: FlatHeaders; readonly body: string },
): void {
  const all = [...headers, "X-Should-Retry", String(shouldRetry(error)), ...codeHeaders(error)];
  const { retryAfterSeconds, headers: more } = error.extras;
  if (retryAfterSeconds !== undefined) all.push("Retry-After", String(retryAfterSeconds));
  for (const name in more) all.push(name, more[name] ?? "");
  const length = Buffer.byteLength(body);
  if (!req.complete && isSmall(req)) closeUnlessComplete(req);
  if (req.complete || isSmall(req))
    return sendByNode(res, error.status, jsonHead(length, all), { body, length });
  if (!all.includes("Connection")) all.push("Connection", "close");
  res.writeHead(error.status, jsonHead(length, all));
  flushInBatch(() => sendAndLinger(req, res, body));
}

/** Codes of plugins and vendors that are valid in a header. */
const HEADER_CODE = /^[\w.-]{1,64}$/;

/** Empty for a code that is not valid in a header. */
export function errorCodeHeader(code: string): FlatHeaders {
  return HEADER_CODE.test(code) ? ["X-Error-Code", code] : [];
}

/** The gateway's error code, and the provider's if it sent one. */
function codeHeaders({ code, extras }: GatewayError): FlatHeaders {
  const { providerCode } = extras;
  const own = errorCodeHeader(code);
  if (providerCode === undefined || !HEADER_CODE.test(providerCode)) return own;
  return [...own, "X-Provider-Error-Code", providerCode];
}

/** Specification, "Retry guidance": the header `X-Should-Retry`. */
export function shouldRetry(error: GatewayError): boolean {
  const { shouldRetry: stated } = error.extras;
  if (stated !== undefined) return stated;
  if (error.status === 429 || error.status === 500 || error.status === 502) return true;
  return error.extras.retryAfterSeconds !== undefined;
}

/** Sends 100 (Continue) if the client expects it; HTTP/1.0 has no `Expect` (RFC 9110, section 10.1.1). */
export function askForBody(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect !== undefined && req.httpVersionMinor > 0) res.writeContinue();
}

/** Unread bodies up to this size are discarded by Node, and the connection is kept. */
const SMALL_BODY_BYTES = 65_536;

function isSmall(req: IncomingMessage): boolean {
  if (req.headers["transfer-encoding"] !== undefined) return false;
  return Number(req.headers["content-length"] ?? 0) <= SMALL_BODY_BYTES;
}

/** How long a client that is still sending has to read the error; what it sends is discarded. */
const LINGER_MS = 2000;

/**
 * Writes the response but ends it only when the client has sent everything, has disconnected, or the time is over: Node
 * destroys the socket of a response with `Connection: close` when it ends, and bytes that arrive then reset the connection,
 * which discards the response.
 */
function sendAndLinger(req: IncomingMessage, res: ServerResponse, body: string): void {
  res.write(body);
  const end = (): void => {
    clearTimeout(last);
    if (!res.writableEnded) res.end();
  };
  const last = setTimeout(end, LINGER_MS).unref();
  req.once("end", end);
  req.once("close", end);
  req.resume();
}

/** A small body that has not arrived by the end of the linger time closes the connection. */
function closeUnlessComplete(req: IncomingMessage): void {
  const last = setTimeout(() => req.socket.destroy(), LINGER_MS).unref();
  req.once("close", () => clearTimeout(last));
}
