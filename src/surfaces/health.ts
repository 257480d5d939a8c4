/** `/healthz` and `/readyz`: whether the process lives, and whether it can answer calls. On both listeners. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { sendJson } from "../http/respond.ts";
import type { MaybePromise } from "../plugin/index.ts";
import { andThen } from "../plugin/index.ts";

/** The body of `/readyz` on the admin listener (CONTRACT section 12). */
export interface Readiness {
  readonly ready: boolean;
  readonly generation: number;
  readonly config_hash: string;
  /** Of git; "": not known. */
  readonly revision: string;
  readonly last_reload: { readonly at: string; readonly ok: boolean; readonly errors: readonly string[] };
  readonly store: { readonly driver: string; readonly ok: boolean; readonly detail: string };
}

export interface HealthReport {
  readiness(): MaybePromise<Readiness>;
  /** For the answers' X-Request-Id. */
  uuid(): string;
}

/**
 * Answers when the path is one of the two; false: another handler's. What the data plane tells anybody is whether it is
 * ready: errors of a reload name files, credentials and addresses, so details are the admin listener's.
 */
export function serveHealth(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  health: HealthReport & { readonly details: boolean },
): boolean {
  if (req.method !== "GET" && req.method !== "HEAD") return false;
  if (path === "/healthz") {
    sendJson(res, 200, '{"ok":true}', ["X-Request-Id", health.uuid()]);
    return true;
  }
  if (path !== "/readyz") return false;
  andThen(health.readiness(), (state) => {
    const shown = health.details ? state : { ready: state.ready };
    sendJson(res, state.ready ? 200 : 503, JSON.stringify(shown), ["X-Request-Id", health.uuid()]);
  });
  return true;
}
