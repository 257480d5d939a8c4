/**
 * What a route of `/admin/v1/` is: data from which the answers are served and can be described. The steps that all of them
 * share are here: reading and checking the body, and writing the answer. Access is decided before, by the admin listener.
 */
import type { JsonMap } from "../../../base/json.ts";
import { compileSchema } from "../../../base/json-schema.ts";
import { parseJsonObject, readBytesWithin } from "../../../http/body.ts";
import { sendError, sendErrorAs, sendJson, sendJsonBytes } from "../../../http/respond.ts";
import type { JsonSchema } from "../../../plugin/chat.ts";
import type { Timer } from "../../../plugin/host.ts";
import {
  type GatewayError,
  isGatewayError,
  isPromise,
  type MaybePromise,
  refuse,
} from "../../../plugin/index.ts";
import type { RoutePath } from "../../router.ts";
import type { AdminContext, AdminRequest, AdminRoute } from "../access.ts";
import { type Parameters, queryOf } from "./query.ts";
import type { Schema } from "./schema.ts";

export interface ApiResponse {
  readonly description: string;
  readonly schema: Schema;
  /** True: server-sent events, each with data of this schema. */
  readonly isStream?: true;
}

export interface ApiRoute extends RoutePath {
  readonly summary: string;
  /** Of the request's JSON body, which may be left out if the schema requires no key. Default: no body. */
  readonly body?: Schema;
  /** Parameters of the query; others are refused. Default: none are read. */
  readonly query?: Parameters;
  /** Bodies by status, refusals of the listener itself aside (`REFUSED`). */
  readonly responses: Readonly<Record<number, ApiResponse>>;
  handler(ctx: AdminContext, request: ApiRequest): MaybePromise<ApiAnswer>;
}

export interface ApiRequest extends AdminRequest {
  /** As the schema wants it; {} where there was none. */
  readonly body: JsonMap;
  /** As `query` of the route wants it. */
  readonly query: Readonly<Record<string, string | number>>;
}

/** A body of the route's schema for that status, or a refusal. */
export type ApiAnswer = ApiContent | ApiJson | ApiEvents | ApiRefusal | GatewayError;

/** An answer that goes on until the client leaves. */
export interface ApiEvents {
  /** Sends events from now on. Returns the way to stop. */
  readonly events: (send: (event: string, content: object) => void) => () => void;
}

export interface ApiContent {
  readonly status: number;
  readonly content: object;
}

/** A body that is JSON already. */
export interface ApiJson {
  readonly status: number;
  readonly json: Uint8Array;
}

/** A refusal that says more than an error body. */
export interface ApiRefusal {
  readonly refusal: GatewayError;
  readonly content: object;
}

const BODY_BYTES_MAX = 65_536;
const BODY_TIMEOUT_MS = 10_000;

/** The route as the admin listener serves it. */
export function adminRouteOf(route: ApiRoute): AdminRoute {
  const { method, path, summary } = route;
  const check = route.body === undefined ? undefined : bodyCheck(route.body);
  return {
    ...{ method, path, summary, access: "control-plane token" },
    handler(ctx, request) {
      const query = route.query === undefined ? {} : queryOf(request.req.url ?? "", route.query);
      if (isGatewayError(query)) return sendError(request.req, request.res, query, request.headers);
      if (check === undefined) return serve(route, ctx, { ...request, query, body: {} });
      return bodyOf(ctx, request, check).then((body) =>
        isGatewayError(body)
          ? sendError(request.req, request.res, body, request.headers)
          : serve(route, ctx, { ...request, query, body }),
      );
    },
  };
}

type BodyCheck = (body: unknown) => GatewayError | undefined;

/** Does not settle when the client disconnects before the end of the body. */
function bodyOf(
  { records: { clock } }: AdminContext,
  { req, res }: AdminRequest,
  check: BodyCheck,
): Promise<JsonMap | GatewayError> {
  const limits = { bytesMax: BODY_BYTES_MAX, timeoutMs: BODY_TIMEOUT_MS, clock };
  return new Promise((resolve) => {
    readBytesWithin(req, res, limits, (bytes) => {
      const body = bytes === undefined ? {} : isGatewayError(bytes) ? bytes : parseJsonObject(bytes);
      // What JSON.parse returns is JSON.
      resolve(isGatewayError(body) ? body : (check(body) ?? (body as JsonMap)));
    });
  });
}

function serve(route: ApiRoute, ctx: AdminContext, request: ApiRequest): MaybePromise<void> {
  const answer = route.handler(ctx, request);
  return isPromise(answer) ? answer.then((made) => send(ctx, request, made)) : send(ctx, request, answer);
}

function send(ctx: AdminContext, request: ApiRequest, answer: ApiAnswer): void {
  const { req, res, headers } = request;
  if (isGatewayError(answer)) return sendError(req, res, answer, headers);
  if ("events" in answer) return sendEvents(ctx, request, answer);
  if ("json" in answer) return sendJsonBytes(res, answer.status, answer.json, headers);
  const body = JSON.stringify(answer.content);
  if ("refusal" in answer) return sendErrorAs(req, res, answer.refusal, { headers, body });
  sendJson(res, answer.status, body, headers);
}

/** Silence after which a comment tells the client, and whatever is between, that the connection stands. */
const HEARTBEAT_MS = 15_000;

/** A client that does not read misses events and is told how many; nothing is kept for it. */
function sendEvents(
  { records: { clock } }: AdminContext,
  { res, headers }: ApiRequest,
  { events }: ApiEvents,
): void {
  res.writeHead(200, [
    "Content-Type",
    "text/event-stream; charset=utf-8",
    "X-Accel-Buffering",
    "no",
    ...headers,
  ]);
  res.write(": connected\n\n");
  let missed = 0;
  const write = (event: string, content: object): void => {
    if (res.writableNeedDrain) missed++;
    else {
      if (missed > 0) res.write(`event: missed\ndata: {"events":${missed}}\n\n`);
      missed = 0;
      res.write(`event: ${event}\ndata: ${JSON.stringify(content)}\n\n`);
    }
  };
  const stop = events(write);
  const beat = (): Timer =>
    clock.after(HEARTBEAT_MS, () => {
      if (!res.writableNeedDrain) res.write(": alive\n\n");
      timer = beat();
    });
  let timer = beat();
  res.once("close", () => {
    timer.cancel();
    stop();
  });
}

/** Compiled on first use: without requests with a body Ajv is not loaded. */
function bodyCheck(schema: Schema): BodyCheck {
  let compiled: ReturnType<typeof compileSchema> | undefined;
  return (body) => {
    // A JSON Schema, as `Schema` stands for.
    compiled ??= compileSchema(schema as JsonSchema);
    if (!compiled.ok) throw new Error(`not a schema: ${compiled.message}`);
    const [fault] = compiled.check(body) ?? [];
    return fault === undefined ? undefined : refuse(400, "invalid_field", `Invalid body: ${fault}.`);
  };
}
