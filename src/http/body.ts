/** Reads a request's body: bounded in bytes and time, checked to be JSON by its type, its encoding and its text. */

import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject } from "../base/json.ts";
import type { Clock, GatewayError } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";
import { askForBody } from "./respond.ts";

/** A JSON object of a client. `refusedByShape` checks it for `__proto__` and nesting. */
export type JsonBody = Readonly<Record<string, unknown>>;

/** Nesting that a body may have; deeper ones would overflow recursive readers (schemas, plugins). */
export const DEPTH_MAX = 64;

/** What takes a body: methods of one object rather than closures, since this runs on every call. */
export interface BodyReader {
  /** Counts bytes that are about to be kept, for as long as the reader needs them; the refusal when there is no room. */
  hold(bytes: number): GatewayError | undefined;
  /** Called once, with the whole body or its refusal; undefined: it was empty. */
  done(bytes: Buffer | GatewayError | undefined): void;
}

/**
 * Reads a body that is JSON by its head and hands it to the reader; `done` is not called when the client disconnects
 * before the end. The reader limits the time. Callbacks, not a promise: a body in one chunk costs one event and no
 * event-loop iteration.
 */
export function readBytes(
  req: IncomingMessage,
  res: ServerResponse,
  bytesMax: number,
  reader: BodyReader,
): void {
  const refusal = refusedByHead(req, bytesMax);
  if (refusal !== undefined) return reader.done(refusal);
  askForBody(req, res);

  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let bytes = 0;
  let isRefused = false;
  req.on("data", (chunk: Buffer) => {
    if (isRefused) return;
    bytes += chunk.length;
    const over = bytes > bytesMax ? reject("body_too_large", { max: bytesMax }) : reader.hold(chunk.length);
    if (over !== undefined) {
      isRefused = true;
      first = undefined;
      rest = undefined;
      reader.done(over);
    } else if (first === undefined) first = chunk;
    else (rest ??= [first]).push(chunk);
  });
  req.on("end", () => {
    if (isRefused) return;
    const whole = rest === undefined ? first : Buffer.concat(rest);
    // The listeners live as long as the response, which may stream for minutes: the body must not.
    first = undefined;
    rest = undefined;
    reader.done(whole);
  });
}

/** Limits of a body that belongs to no call. */
export interface BodyLimits {
  readonly bytesMax: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Counts the bytes until the response is closed. Default: none. */
  readonly budget?: { tryReserve(bytes: number): boolean; release(bytes: number): void };
}

/** As `readBytes`, within a time limit; `done` is called once, also when it is exceeded. */
export function readBytesWithin(
  req: IncomingMessage,
  res: ServerResponse,
  { bytesMax, timeoutMs, clock, budget }: BodyLimits,
  done: BodyReader["done"],
): void {
  let isOver = false;
  let held = 0;
  const reader: BodyReader = {
    hold(bytes) {
      if (isOver || budget?.tryReserve(bytes) === false)
        return reject("buffers_full", {}, { retryAfterSeconds: 1 });
      held += bytes;
      return undefined;
    },
    done(bytes) {
      if (isOver) return;
      isOver = true;
      deadline.cancel();
      done(bytes);
    },
  };
  const deadline = clock.after(timeoutMs, () => reader.done(reject("body_too_slow", { ms: timeoutMs })));
  res.once("close", () => {
    deadline.cancel();
    budget?.release(held);
  });
  readBytes(req, res, bytesMax, reader);
}

/** Refusals by the head alone, in this order: 413, 415. */
function refusedByHead(req: IncomingMessage, bytesMax: number): GatewayError | undefined {
  const length = req.headers["content-length"];
  if (length !== undefined && Number(length) > bytesMax) {
    return reject("body_too_large", { max: bytesMax });
  }
  const type = req.headers["content-type"];
  if (type !== undefined && type !== "application/json" && !isJsonType(type))
    return reject("body_not_json", {});
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") return reject("body_not_json", {});
  return undefined;
}

function isJsonType(type: string): boolean {
  const essence = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  return essence === "application/json" || /^application\/[\w.+-]+\+json$/.test(essence);
}

export function parseJsonObject(bytes: Buffer | undefined): JsonBody | GatewayError {
  if (bytes === undefined || !isUtf8(bytes)) return reject("malformed_json", {});
  if (hasTooManyMembers(bytes)) return reject("body_too_many_members", { max: MEMBERS_MAX });
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    return reject("malformed_json", {});
  }
  if (!isJsonObject(value)) return reject("invalid_field", { field: "body", expected: "a JSON object" });
  return value;
}

/**
 * Refuses `__proto__` keys and deep nesting in one value, without recursion. Cheap for scalars; only
 * values that are not checked otherwise need it.
 */
export function refusedByShape(value: unknown): GatewayError | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const pending: { readonly value: object; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.depth > DEPTH_MAX) return reject("body_too_deep", { max: DEPTH_MAX });
    for (const [key, child] of Object.entries(next.value)) {
      if (key === "__proto__") return reject("forbidden_field", { field: "__proto__" });
      if (typeof child === "object" && child !== null) pending.push({ value: child, depth: next.depth + 1 });
    }
  }
  return undefined;
}

/**
 * Members of objects and items of lists that a body may have, at all depths: parsing, schemas and guardrails take far
 * longer for many small members than for one long text of the same size.
 */
export const MEMBERS_MAX = 100_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const OPEN_MAP = 0x7b;

/** True when the JSON text has more members than `max`: commas and opening brackets outside of strings. */
export function hasTooManyMembers(json: Buffer, max = MEMBERS_MAX): boolean {
  // Each takes a byte.
  if (json.length <= max) return false;
  let members = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if ((byte === COMMA || byte === OPEN_LIST || byte === OPEN_MAP) && ++members > max) return true;
  }
  return false;
}
