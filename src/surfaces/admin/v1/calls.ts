/** `/admin/v1/calls`: the recent calls, one of them, and new ones as they end. */
import type { CallRecord } from "../../../history/call-record.ts";
import { type GatewayError, isGatewayError, reject } from "../../../plugin/index.ts";
import type { ApiRoute } from "./api-route.ts";
import { callShown, shownCall } from "./call-schema.ts";
import { cursor, limit, projectUuid, type QueryOf } from "./query.ts";
import { list, object, orNull, text } from "./schema.ts";

const filters = {
  project: projectUuid,
  endpoint: { type: "string", description: "Slug or alias." },
  token: { type: "string", description: "Id of a token." },
  status: {
    type: "string",
    description: "Class of the HTTP status.",
    enum: ["2xx", "3xx", "4xx", "5xx"],
  },
  refusal: { type: "string", description: "Error code of a refusal or failure, such as `rate_limited`." },
  provider: { type: "string", description: "Provider key." },
  model: { type: "string", description: "Model." },
  session: { type: "string", description: "Id of a conversation." },
  id: { type: "string", description: "Part of a request id or trace id." },
  since: {
    type: "string",
    description: "Only calls that arrived at this time or later.",
    format: "date-time",
  },
} as const;

type Filter = QueryOf<typeof filters>;

/** Whether a call is one of those that a filter is about. */
function matcherOf(filter: Filter): (record: CallRecord) => boolean {
  const { project, endpoint, token, status, refusal, provider, model, session, id, since } = filter;
  const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const uuid = project?.toLowerCase();
  return (record) =>
    record.startedAtMs >= sinceMs &&
    (uuid === undefined || record.projectUuid === uuid) &&
    (endpoint === undefined || record.endpoint.slug === endpoint) &&
    (token === undefined || record.token.id === token) &&
    (status === undefined || `${Math.floor(record.status / 100)}xx` === status) &&
    (refusal === undefined || record.error?.code === refusal) &&
    (provider === undefined || record.provider === provider) &&
    (model === undefined || record.model === model) &&
    (session === undefined || record.sessionId === session) &&
    (id === undefined || record.requestId.includes(id) || record.traceId.includes(id));
}

const page = object("Calls, newest first.", {
  data: list("Of this page.", shownCall),
  next: orNull(text("`cursor` of the next page; null: this is the last one.")),
});

export const getCalls: ApiRoute = {
  ...{ method: "GET", path: "/admin/v1/calls" },
  summary: "Recent calls, newest first.",
  query: { ...filters, limit, cursor },
  responses: { 200: { description: "A page.", schema: page } },
  handler(ctx, { query }) {
    const {
      limit: size = limit.default,
      cursor: after,
      ...filter
    } = query as QueryOf<typeof filters & { readonly limit: typeof limit; readonly cursor: typeof cursor }>; // Checked by `query`.
    const before = sequenceOf(after);
    if (isGatewayError(before)) return before;
    const matches = matcherOf(filter);
    const found: CallRecord[] = [];
    for (const record of ctx.history.recent.newestFirst(before)) {
      if (!matches(record)) continue;
      found.push(record);
      if (found.length > size) break;
    }
    const shown = found.slice(0, size);
    const next = found.length > size ? String(shown.at(-1)?.sequence) : null;
    return { status: 200, content: { data: shown.map(callShown), next } };
  },
};

function sequenceOf(after: string | undefined): number | undefined | GatewayError {
  if (after === undefined) return undefined;
  return /^\d{1,16}$/.test(after)
    ? Number(after)
    : reject("invalid_field", { field: "cursor", expected: "`next` of the page before" });
}

export const getCall: ApiRoute = {
  ...{ method: "GET", path: "/admin/v1/calls/{request_id}" },
  summary: "One recent call.",
  responses: { 200: { description: "The call.", schema: shownCall } },
  handler(ctx, { param }) {
    const record = ctx.history.recent.find(param);
    return record === undefined ? reject("not_found", {}) : { status: 200, content: callShown(record) };
  },
};

export const getCallStream: ApiRoute = {
  ...{ method: "GET", path: "/admin/v1/calls/stream" },
  summary: "New calls as they end, as server-sent events named `call`.",
  query: filters,
  responses: { 200: { description: "Events, each with one call.", schema: shownCall, isStream: true } },
  handler(ctx, { query }) {
    const matches = matcherOf(query as Filter); // Checked by `query`.
    return {
      events: (send) =>
        ctx.history.recent.watch((record) => {
          if (matches(record)) send("call", callShown(record));
        }),
    };
  },
};
