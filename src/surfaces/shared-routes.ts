/** Routes that both listeners have: health, and the control plane on the one that the configuration names. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonMap } from "../base/json.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import { sendError, sendJson } from "../http/respond.ts";
import type { RequestHandler } from "../http/server.ts";
import type { ChangeSummary } from "../plan/change-summary.ts";
import type { MaybePromise } from "../plugin/index.ts";
import { andThen } from "../plugin/index.ts";
import { type RoutePath, wrongMethod } from "./router.ts";

/** A route that belongs to no project. */
export interface OperatorRoute extends RoutePath {
  readonly summary: string;
  /** `metrics`: the metrics token, where one is configured, or a control-plane token. */
  readonly access: "anyone" | "metrics token" | "control-plane token";
}

/** The body of `/readyz` on the admin listener (`health.ready`). */
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
  /** For the responses' X-Request-Id. */
  uuid(): string;
}

const healthz: OperatorRoute = {
  ...{ method: "GET", path: "/healthz", access: "anyone" },
  summary: "200 while the process is alive.",
};

const readyz: OperatorRoute = {
  ...{ method: "GET", path: "/readyz", access: "anyone" },
  summary: "200 while the gateway can answer calls, else 503. Details on the admin listener only.",
};

const control: OperatorRoute = {
  ...{ method: "POST", path: "/api/control", access: "control-plane token" },
  summary: "JSON-RPC of the control plane's MCP server, on the listener that `control_plane.listener` names.",
};

export const sharedRoutes: readonly OperatorRoute[] = [healthz, readyz, control];

export interface Shared {
  readonly health: HealthReport;
  /** Errors of a reload name files, credentials and addresses: the admin listener shows them, the public one does not. */
  readonly hasDetails: boolean;
  /** undefined: the control plane is on the other listener. */
  control(): RequestHandler | undefined;
}

/** Answers when the path is one of these; false: another handler's. */
export function serveShared(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  shared: Shared,
): boolean {
  const { health, hasDetails } = shared;
  const { method = "" } = req;
  if (path === control.path) {
    const handle = shared.control();
    if (handle === undefined) return false;
    if (method === control.method) handle(req, res);
    else sendError(req, res, wrongMethod(method, control.method), ["X-Request-Id", health.uuid()]);
    return true;
  }
  if (method !== "GET" && method !== "HEAD") return false;
  if (path === healthz.path) {
    sendJson(res, 200, '{"ok":true}', ["X-Request-Id", health.uuid()]);
    return true;
  }
  if (path !== readyz.path) return false;
  andThen(health.readiness(), (state) => {
    const shown = hasDetails ? state : { ready: state.ready };
    sendJson(res, state.ready ? 200 : 503, JSON.stringify(shown), ["X-Request-Id", health.uuid()]);
  });
  return true;
}

/** The outcome of a reload, as the admin listener and the control plane both show it. */
export interface Reload {
  readonly ok: boolean;
  readonly changed: boolean;
  readonly generation: number;
  /** Sections that changed and wait for a restart. */
  readonly needsRestart: readonly string[];
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** What it has changed; absent: nothing, or it is not known. */
  readonly changes?: ChangeSummary;
  /** The configuration in use. */
  readonly inUse: ConfigName;
  /** Present: nothing was applied, since it is not what was reviewed. */
  readonly conflict?: { readonly side: "running" | "new"; readonly found: ConfigName };
}

/** `revision`: of git; "": not known. */
export interface ConfigName {
  readonly hash: string;
  readonly revision: string;
}

/** The hashes of the two configurations of a change that was reviewed. */
export interface ReviewedChange {
  readonly fromHash: string;
  readonly toHash: string;
}

export function reloadFields({ ok, changed, generation, needsRestart, errors, changes }: Reload): JsonMap {
  return {
    ...{ ok, changed, generation, needs_restart: needsRestart },
    ...(changes === undefined ? {} : changeFields(changes)),
    errors: errors.map(({ code, message, file, line, column, path }) => ({
      ...{ code, message, file, line, column, path },
    })),
  };
}

/** Counts as in a plan, and the changes of the highest risks. */
export function changeFields({ counts, changes, total }: ChangeSummary) {
  return {
    counts: { ...counts },
    changes: changes.map((change) => ({ ...change, object: { ...change.object } })),
    changes_total: total,
  };
}
