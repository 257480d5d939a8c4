/** JSON-RPC over HTTP: responses are sent as JSON, or as an event stream once there is progress to report. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonMap } from "../../base/json.ts";
import { EventStream } from "../../http/event-stream.ts";
import { errorCodeHeader, type FlatHeaders, sendJson } from "../../http/respond.ts";
import { isPromise } from "../../plugin/index.ts";
import { failure, handleRpc, type RpcReply } from "./handle.ts";
import { type McpServer, RPC } from "./jsonrpc.ts";
import type { RpcSession } from "./running.ts";

export interface RpcExchange<Caller> {
  readonly server: McpServer<Caller>;
  readonly caller: Caller;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Of the body; undefined when there was none. */
  readonly bytes: Buffer | undefined;
  /** Of the response; called when its head is sent. */
  readonly headers: () => FlatHeaders;
  /** Absent: requests cannot be cancelled, and sessions have no id. */
  readonly session?: RpcSession;
  /** Called once, when the response has been sent. `thrown`: a bug of the server, for the log. */
  readonly done: (status: number, thrown?: unknown) => void;
}

/** Answers one POST of an admitted caller. */
export function serveRpc<Caller>(exchange: RpcExchange<Caller>): void {
  const { server, caller, req, res, bytes, headers, session } = exchange;
  const takesEvents = req.headers.accept?.includes("text/event-stream") === true;
  const stream = takesEvents ? new EventStream(res, headers) : undefined;
  const notify = (notification: JsonMap): void => {
    // Progress is dropped while the client is slow: the next report supersedes it.
    if (!res.writableNeedDrain && !res.writableEnded && !res.destroyed) stream?.write(event(notification));
  };
  let cause: unknown;
  const reply = handleRpc(server, caller, {
    bytes,
    headers: req.headers,
    notify: stream === undefined ? undefined : notify,
    session,
    thrown: (thrown) => {
      cause ??= thrown;
    },
  });
  const finish = (settled: RpcReply): void => answer(exchange, stream, settled, cause);
  if (!isPromise(reply)) return finish(reply);
  reply.then(finish, (thrown: unknown) => answer(exchange, stream, INTERNAL, thrown));
}

const INTERNAL: RpcReply = failure(200, null, { code: RPC.internal, message: "Internal error." });

/** Sends the reply, or -32603 if it cannot be written, and calls `done` once. */
function answer<Caller>(
  exchange: RpcExchange<Caller>,
  stream: EventStream | undefined,
  reply: RpcReply,
  cause: unknown,
): void {
  let broken = cause;
  try {
    send(exchange, stream, reply);
  } catch (thrown) {
    broken ??= thrown;
    if (exchange.res.headersSent) exchange.res.destroy();
    else send(exchange, stream, INTERNAL);
  }
  exchange.done(reply.status, broken);
}

function send<Caller>(
  { res, headers }: RpcExchange<Caller>,
  stream: EventStream | undefined,
  reply: RpcReply,
): void {
  if (res.destroyed) return;
  const { sessionId, errorCode } = reply;
  if (reply.body === undefined) {
    res.writeHead(reply.status, [...headers()]);
    res.end();
  } else if (reply.isCancelled === true && stream !== undefined) {
    // Sends the head if nothing has been written yet.
    stream.write("");
    stream.end();
  } else if (stream?.open) {
    stream.write(event(reply.body));
    stream.end();
  } else {
    const all = [...headers()];
    if (sessionId !== undefined) all.push("Mcp-Session-Id", sessionId);
    if (errorCode !== undefined) all.push(...errorCodeHeader(errorCode));
    sendJson(res, reply.status, JSON.stringify(reply.body), all);
  }
}

function event(message: NonNullable<RpcReply["body"]>): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
