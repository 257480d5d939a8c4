/** Reads a request's body: bounded in bytes and time, checked to be JSON by its type, its encoding and its text. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { GatewayError } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";
import { hasTooManyMembers, MEMBERS_MAX } from "./json-members.ts";
import { askForBody } from "./respond.ts";

/** A JSON object of a client: own keys only, no `__proto__` anywhere, not nested beyond reason. */
export type JsonBody = Readonly<Record<string, unknown>>;

/** Nesting that a body may have; deeper ones would overflow recursive readers (schemas, plugins). */
export const DEPTH_MAX = 64;

export interface BodyLimits {
  readonly maxBytes: number;
  /** Counts bytes that are about to be kept, for as long as the caller needs them; the refusal when there is no room. */
  readonly hold: (bytes: number) => GatewayError | undefined;
}

/**
 * Reads a body that is JSON by its head, then calls `done` once; never when the client leaves before the end. undefined:
 * it was empty. How long it may take is the caller's to watch. Callbacks, not a promise: a body in one piece costs one
 * event and no turn of the loop.
 */
export function readBytes(
  req: IncomingMessage,
  res: ServerResponse,
  { maxBytes, hold }: BodyLimits,
  done: (bytes: Buffer | GatewayError | undefined) => void,
): void {
  const refusal = refusedByHead(req, maxBytes);
  if (refusal !== undefined) return done(refusal);
  askForBody(req, res);

  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let bytes = 0;
  let isRefused = false;
  req.on("data", (chunk: Buffer) => {
    if (isRefused) return;
    bytes += chunk.length;
    const over = bytes > maxBytes ? reject("body_too_large", { max: maxBytes }) : hold(chunk.length);
    if (over !== undefined) {
      isRefused = true;
      first = undefined;
      rest = undefined;
      done(over);
    } else if (first === undefined) first = chunk;
    else (rest ??= [first]).push(chunk);
  });
  req.on("end", () => {
    if (isRefused) return;
    const whole = rest === undefined ? first : Buffer.concat(rest);
    // These listeners live as long as the answer, which may stream for minutes: the body must not.
    first = undefined;
    rest = undefined;
    done(whole);
  });
}

/** What the head alone gives away, in the contract's order: 413, 415. */
function refusedByHead(req: IncomingMessage, maxBytes: number): GatewayError | undefined {
  const length = req.headers["content-length"];
  if (length !== undefined && Number(length) > maxBytes) {
    return reject("body_too_large", { max: maxBytes });
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
  if (!isJsonBody(value)) return reject("invalid_field", { field: "body", expected: "a JSON object" });
  return value;
}

function isJsonBody(value: unknown): value is JsonBody {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Refuses `__proto__` keys and deep nesting in one value, without recursion. Cheap for scalars, which is what known
 * fields are: only what nobody has looked at yet needs it.
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
