/** Turns the bytes of one POST into a status and a body: parsing, batches, notifications, HTTP statuses of both eras. */

import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonMap } from "../../base/json.ts";
import { refusedByShape } from "../../http/body.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import { isPromise, type MaybePromise } from "../../plugin/index.ts";
import { parseValue } from "../../provider-kit/index.ts";
import { type EraHeaders, readEra } from "./era.ts";
import { type McpServer, RPC, RPC_ERROR_CODES, type RpcError, type RpcOutcome } from "./jsonrpc.ts";
import { callMethod } from "./methods.ts";
import type { RpcSession } from "./running.ts";

export interface RpcIncoming {
  /** undefined: no body. */
  readonly bytes: Buffer | undefined;
  readonly headers: EraHeaders;
  /** Sends a notification before the response; undefined when the client does not accept an event stream. */
  readonly notify: ((notification: JsonMap) => void) | undefined;
  /** Told what the server has thrown, which is a bug; the client gets -32603. */
  readonly thrown: (cause: unknown) => void;
  /** Absent: requests cannot be cancelled, and sessions have no id. */
  readonly session: RpcSession | undefined;
}

export interface RpcReply {
  readonly status: number;
  /** undefined: none, as for a notification. */
  readonly body: JsonMap | readonly JsonMap[] | undefined;
  /** The client has cancelled the request: no response is sent where the stream can end without one. */
  readonly isCancelled?: boolean;
  /** Sent as `X-Error-Code` when the response is one error. */
  readonly errorCode?: string | undefined;
  /** Sent as `Mcp-Session-Id`. */
  readonly sessionId?: string;
}

/** Messages that one batch may hold. */
const BATCH_MAX = 50;

/** Answers one POST. Neither throws nor rejects. */
export function handleRpc<Caller>(
  server: McpServer<Caller>,
  caller: Caller,
  incoming: RpcIncoming,
): MaybePromise<RpcReply> {
  const message = parse(incoming.bytes);
  if (message === undefined) return failure(400, null, { code: RPC.parse, message: "Parse error." });
  if (Array.isArray(message)) return handleBatch(server, caller, { ...incoming, notify: undefined }, message);
  return handleOne(server, caller, incoming, message);
}

/**
 * Runs one message after the other: revision 2025-03-26 had batches, the stateless one has none. All are checked before the
 * first one runs, so that a refusal does not hide the results of messages that ran.
 */
async function handleBatch<Caller>(
  server: McpServer<Caller>,
  caller: Caller,
  incoming: RpcIncoming,
  messages: readonly JsonValue[],
): Promise<RpcReply> {
  const no = (reason: string): RpcError => ({ code: RPC.request, message: `Invalid request: ${reason}.` });
  if (messages.length === 0) return failure(200, null, no("the batch is empty"));
  if (messages.length > BATCH_MAX)
    return failure(200, null, no(`a batch holds ${BATCH_MAX} messages at most`));
  for (const message of messages) {
    const { stateless, refused } = readEra(message, incoming.headers);
    if (stateless) return failure(400, idOf(message), no("this revision has no batches"));
    if (refused !== undefined) return failure(400, idOf(message), refused);
  }
  const answers: JsonMap[] = [];
  for (const message of messages) {
    const { body, isCancelled } = await handleOne(server, caller, incoming, message);
    if (isJsonObject(body) && isCancelled !== true) answers.push(body);
  }
  return answers.length === 0 ? accepted(incoming.headers) : { status: 200, body: answers };
}

function handleOne<Caller>(
  server: McpServer<Caller>,
  caller: Caller,
  incoming: RpcIncoming,
  message: JsonValue,
): MaybePromise<RpcReply> {
  const era = readEra(message, incoming.headers);
  const id = idOf(message);
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0" || !hasGoodId(message)) {
    return failure(era.stateless ? 400 : 200, id, invalidRequest(message));
  }
  const { method } = message;
  if (typeof method !== "string") {
    // A response to a request of the server, which never sends any.
    if (method === undefined && ("result" in message || "error" in message))
      return accepted(incoming.headers);
    return failure(era.stateless ? 400 : 200, id, invalidRequest(message));
  }
  if (era.refused !== undefined) return failure(400, id, era.refused);
  // Notifications that MCP does not define are dropped.
  if (!("id" in message)) {
    if (method === "notifications/cancelled" && !era.stateless) cancel(incoming, message["params"]);
    return accepted(incoming.headers);
  }
  const answer = (outcome: RpcOutcome): RpcReply => {
    if (isCancelled)
      return { ...failure(200, id, { code: RPC.cancelled, message: "Request cancelled." }), isCancelled };
    if ("result" in outcome) {
      const reply = { status: 200, body: { jsonrpc: "2.0", id, result: outcome.result } };
      const isBegun = method === "initialize" && incoming.session !== undefined;
      return isBegun ? { ...reply, sessionId: incoming.session.newId() } : reply;
    }
    return failure(era.stateless ? statusOf(outcome.error) : 200, id, outcome.error);
  };
  let isCancelled = false;
  const broken = (cause: unknown): RpcReply => {
    incoming.thrown(cause);
    return failure(200, id, { code: RPC.internal, message: "Internal error." });
  };
  const { params } = message;
  try {
    const { stateless } = era;
    const { notify, session } = incoming;
    const requests = session?.requests;
    const outcome = callMethod(server, caller, { method, params, stateless, notify, requests });
    if (!isPromise(outcome)) return answer(outcome);
    if (stateless || id === null || requests === undefined) return outcome.then(answer, broken);
    const end = requests.begin(id, () => {
      isCancelled = true;
      server.cancel?.(caller);
    });
    return outcome.finally(end).then(answer, broken);
  } catch (cause) {
    return broken(cause);
  }
}

function cancel({ session }: RpcIncoming, params: JsonValue | undefined): void {
  const id = isJsonObject(params) ? params["requestId"] : undefined;
  if (typeof id === "string" || typeof id === "number") session?.requests.cancel(id);
}

/** The HTTP status of a protocol error in the stateless revision. */
function statusOf({ code }: RpcError): number {
  if (code === RPC.method) return 404;
  return code === RPC.missingCapability ? 400 : 200;
}

/** 202 for clients of MCP's transport, 204 for others. */
function accepted(headers: EraHeaders): RpcReply {
  const isTransport =
    headers["mcp-protocol-version"] !== undefined || headers["accept"]?.includes("text/event-stream");
  return { status: isTransport ? 202 : 204, body: undefined };
}

export function failure(status: number, id: JsonValue, error: RpcError): RpcReply {
  const { code, message, data, errorCode = RPC_ERROR_CODES[code] } = error;
  const shown: JsonMap = data === undefined ? { code, message } : { code, message, data };
  return { status, body: { jsonrpc: "2.0", id, error: shown }, errorCode };
}

function invalidRequest(message: JsonValue): RpcError {
  const reason = !isJsonObject(message)
    ? "a message is a JSON object"
    : message["jsonrpc"] !== "2.0"
      ? "'jsonrpc' must be \"2.0\""
      : !hasGoodId(message)
        ? "'id' must be a string or a number"
        : "'method' must be a string";
  return { code: RPC.request, message: `Invalid request: ${reason}.` };
}

function parse(bytes: Buffer | undefined): JsonValue | undefined {
  if (bytes === undefined || !isUtf8(bytes)) return undefined;
  const value = parseValue(bytes.toString("utf8")) as JsonValue | undefined; // JSON has no other values
  return value !== undefined && refusedByShape(value) === undefined ? value : undefined;
}

function hasGoodId(message: JsonMap): boolean {
  const { id } = message;
  return id === undefined || typeof id === "string" || typeof id === "number";
}

/** The id of the response: null where the request's is missing or invalid. */
function idOf(message: JsonValue): string | number | null {
  const id = isJsonObject(message) ? message["id"] : undefined;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
