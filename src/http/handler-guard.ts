/**
 * The guard between a request handler and the process: what a handler throws or rejects with costs its request. The
 * calls of surfaces have a guard of their own below it, which knows the call; this one knows the connection only.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger, MaybePromise } from "../plugin/index.ts";
import { isPromise, reject } from "../plugin/index.ts";
import { sendError } from "./respond.ts";

/** Characters of a path in a log line: clients choose it. */
const PATH_LENGTH_MAX = 256;

/** A handler as surfaces write it. A promise is answered for: its rejection is a 500. */
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

/** 500 where nothing has been answered yet; else the connection is closed, so that a client sees a cut answer as one. */
export function failRequest(req: IncomingMessage, res: ServerResponse, log: Logger, thrown: unknown): void {
  const request_id = randomUUID();
  // Without its query, which may hold what a client keeps to itself.
  const path = (req.url ?? "").split("?", 1)[0]?.slice(0, PATH_LENGTH_MAX);
  log.error({ request_id, method: req.method, path, err: thrown }, "a request failed with an internal error");
  try {
    if (!res.headersSent) return sendError(req, res, reject("internal", {}), ["X-Request-Id", request_id]);
  } catch {
    // Node has kept something of the answer that it does not write: nothing can be sent on this response.
  }
  res.destroy();
}
