/**
 * `GET /admin/audit` and `GET /admin/deliveries`: what has happened, newest first, as
 * `{"ok": true, "data": [...], "next": "<id>" | null}`; `next` is the `before` of the page after it.
 *
 *     /admin/audit?project=<uuid>&event=<key>&limit=<1-1000, default 100>&before=<id>
 *     /admin/deliveries?project=<uuid>&webhook=<name>&event=<key>&success=<true|false>&limit=…&before=<id>
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { auditFields } from "../../audit/audit.ts";
import { type FlatHeaders, sendError, sendJson } from "../../http/respond.ts";
import type { GatewayError } from "../../plugin/index.ts";
import { andThen, isGatewayError, reject } from "../../plugin/index.ts";
import type { AuditFilter } from "../../plugin/store.ts";
import type { AdminRoute } from "./access.ts";

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;

/** Each audit record has its id beside the fields that webhooks are sent. */
export const audit: AdminRoute = {
  ...{ method: "GET", path: "/admin/audit", access: "control-plane token" },
  summary: "Audit events, newest first; filtered by `project` and `event`.",
  handler({ records }, { req, res, headers }) {
    const page = pageOf(queryOf(req));
    if (isGatewayError(page)) return sendError(req, res, page, headers);
    return andThen(records.audit.query(page), (events) => {
      const shown = events.map((event) => ({ id: event.id, ...auditFields(event) }));
      sendPage(res, shown, page.limit, headers);
    });
  },
};

export const deliveries: AdminRoute = {
  ...{ method: "GET", path: "/admin/deliveries", access: "control-plane token" },
  summary: "Webhook deliveries, newest first; filtered by `project`, `webhook`, `event` and `success`.",
  handler(ctx, { req, res, headers }) {
    const query = queryOf(req);
    const page = pageOf(query);
    if (isGatewayError(page)) return sendError(req, res, page, headers);
    const success = query.get("success");
    if (success !== null && success !== "true" && success !== "false") {
      const error = reject("invalid_field", { field: "success", expected: "true or false" });
      return sendError(req, res, error, headers);
    }
    const filter = {
      ...page,
      webhook: query.get("webhook") ?? undefined,
      success: success === null ? undefined : success === "true",
    };
    return andThen(ctx.records.deliveries.query(filter), (found) =>
      sendPage(res, found, page.limit, headers),
    );
  },
};

function queryOf({ url = "" }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
}

function pageOf(query: URLSearchParams): AuditFilter | GatewayError {
  const limit = Number(query.get("limit") ?? LIMIT_DEFAULT);
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    return reject("invalid_field", { field: "limit", expected: `an integer from 1 to ${LIMIT_MAX}` });
  }
  return {
    // A UUID is the same in either case; configs keep it in lower case.
    projectUuid: query.get("project")?.toLowerCase(),
    event: query.get("event") ?? undefined,
    before: query.get("before") ?? undefined,
    limit,
  };
}

function sendPage(
  res: ServerResponse,
  records: readonly { readonly id: string }[],
  limit: number,
  headers: FlatHeaders,
): void {
  const next = records.length < limit ? null : (records.at(-1)?.id ?? null);
  sendJson(res, 200, JSON.stringify({ ok: true, data: records, next }), headers);
}
