/**
 * The guard between a request handler and the process: a handler that throws or rejects fails its request only. Calls have
 * a guard of their own below this one.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../plugin/host.ts";
import type { MaybePromise } from "../plugin/index.ts";
import { isPromise, reject } from "../plugin/index.ts";
import { sendError } from "./respond.ts";

/** Characters of a path in a log line. */
const PATH_LENGTH_MAX = 256;

/** A handler whose exception or rejection is answered with 500. */
export type GuardedHandler = (req: IncomingMessage, res: ServerResponse) => MaybePromise<void>;

export function guardHandler(
  handle: GuardedHandler,
  log: Logger,
): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    try {
      const done = handle(req, res);
      if (isPromise(done)) done.then(undefined, (thrown: unknown) => failRequest(req, res, log, thrown));
    } catch (thrown) {
      failRequest(req, res, log, thrown);
    }
  };
}

/** Sends 500 if the head has not been sent, else closes the connection, so that the client sees the response is incomplete. */
export function failRequest(req: IncomingMessage, res: ServerResponse, log: Logger, thrown: unknown): void {
  const request_id = randomUUID();
  // Without the query, which may hold secrets.
  const path = (req.url ?? "").split("?", 1)[0]?.slice(0, PATH_LENGTH_MAX);
  log.error({ request_id, method: req.method, path, err: thrown }, "request failed with an internal error");
  try {
    if (!res.headersSent) return sendError(req, res, reject("internal", {}), ["X-Request-Id", request_id]);
  } catch {
    // Node refuses a second head: nothing can be sent on this response.
  }
  res.destroy();
}
