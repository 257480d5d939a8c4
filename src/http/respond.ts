/** Answers over HTTP: whole bodies with their length in one write, errors in the specification's body. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { writeInTurn } from "../base/turn.ts";
import type { GatewayError } from "../plugin/index.ts";

/** The error body of the REST surfaces (specification, "Error body"). */
export function errorBody(error: GatewayError): string {
  const { detail, scope, retryAfterSeconds } = error.extras;
  return JSON.stringify({ ok: false, error: error.message, detail, scope, retry_after: retryAfterSeconds });
}

/** Names and values in turn, as Node writes them out without another look. */
export type FlatHeaders = readonly string[];

/** Sends a whole JSON answer. */
export function sendJson(res: ServerResponse, status: number, body: string, headers: FlatHeaders): void {
  const length = String(Buffer.byteLength(body));
  res.writeHead(status, ["Content-Type", "application/json", "Content-Length", length, ...headers]);
  writeInTurn(() => res.end(body));
}

/** Sends a head without a body. */
export function sendEmpty(res: ServerResponse, status: number, headers: FlatHeaders): void {
  res.writeHead(status, [...headers]);
  res.end();
}

/**
 * Sends a refusal. When the request's body has not been read the connection is not used again, unless what is still
 * to come is small: reading on a large upload that nobody wants is what the refusal is there to avoid.
 */
export function sendError(
  req: IncomingMessage,
  res: ServerResponse,
  error: GatewayError,
  headers: FlatHeaders,
): void {
  const all = [...headers, "X-Should-Retry", String(shouldRetry(error))];
  const { retryAfterSeconds, headers: more } = error.extras;
  if (retryAfterSeconds !== undefined) all.push("Retry-After", String(retryAfterSeconds));
  for (const name in more) all.push(name, more[name] ?? "");
  if (!req.complete && !isSmall(req)) {
    all.push("Connection", "close");
    lingerThenClose(req, res);
  }
  sendJson(res, error.status, errorBody(error), all);
}

/** Specification, "Retry guidance", for SDKs that obey the header. */
export function shouldRetry(error: GatewayError): boolean {
  if (error.status === 429 || error.status === 500 || error.status === 502) return true;
  return error.extras.retryAfterSeconds !== undefined;
}

/** A body that is this small is read and dropped by Node rather than costing the client its connection. */
const SMALL_BODY_BYTES = 65_536;

function isSmall(req: IncomingMessage): boolean {
  if (req.headers["transfer-encoding"] !== undefined) return false;
  return Number(req.headers["content-length"] ?? 0) <= SMALL_BODY_BYTES;
}

/** Closing at once would reset the connection and could take the answer with it: the client gets a moment to read. */
const LINGER_MS = 1000;

function lingerThenClose(req: IncomingMessage, res: ServerResponse): void {
  res.once("finish", () => {
    req.resume();
    setTimeout(() => req.socket.destroy(), LINGER_MS).unref();
  });
}
