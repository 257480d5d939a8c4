/**
 * The steps that all calls share, in the order of their refusals: token (401), project and scope (403), the project's
 * type (400), the body (413, 415, 408, 400), what it is for (404). Then the route's handler answers.
 */
import { processInBatch } from "../base/batching.ts";
import type { CompiledProject } from "../compile/model.ts";
import type { ProjectType } from "../config/model.ts";
import { type BodyReader, parseJsonObject, readBytes } from "../http/body.ts";
import { countHeader, refusedOrigin } from "../http/head-rules.ts";
import { failCall, follow } from "../pipeline/end.ts";
import { runRequest } from "../pipeline/run.ts";
import type { GatewayError, Outcome } from "../plugin/index.ts";
import { isGatewayError, isPromise, reject } from "../plugin/index.ts";
import type { RequestContext } from "./request-context.ts";
import type { Route } from "./route.ts";

/** Calls that may be open at a time; more are shed with 503. */
export const OPEN_CALLS_MAX = 16_384;

const WRONG_TYPE: Readonly<Record<ProjectType, () => GatewayError>> = {
  ai_gateway: () => reject("not_gateway_project", {}),
  ai_wrapper: () => reject("not_wrapper_project", {}),
  proxy: () => reject("not_proxy_project", {}),
};

export function runRoute(context: RequestContext, route: Route): void {
  const { call, generation, project } = context;
  try {
    const refusal = refusedAtArrival(context, route);
    if (refusal !== undefined) return context.refuse(refusal);
    const steps =
      project === undefined || project.authenticate.length === 0
        ? generation.config.authenticate
        : [...generation.config.authenticate, ...project.authenticate];
    const outcome = runRequest(call, steps);
    if (isPromise(outcome)) follow(call, outcome, (settled) => authenticated(context, route, settled));
    else authenticated(context, route, outcome);
  } catch (thrown) {
    failCall(call, thrown);
  }
}

function refusedAtArrival(
  { gateway, req, call, generation }: RequestContext,
  route: Route,
): GatewayError | undefined {
  if (route.checksOrigin === true) {
    const { host: ownHost } = generation.config.server;
    const refusal = refusedOrigin(req, { client: call.clientAddress, ownHost, byCookie: false });
    if (refusal !== undefined) return refusal;
  }
  if (gateway.draining)
    return reject("draining", {}, { retryAfterSeconds: 1, headers: { Connection: "close" } });
  if (gateway.open.size > OPEN_CALLS_MAX) return reject("overloaded", {}, { retryAfterSeconds: 1 });
  if (!gateway.overload.admits()) return reject("shedding", {}, { retryAfterSeconds: 1 });
  if (countHeader(req.rawHeaders, "authorization") > 1) return reject("duplicate_authorization", {});
  return undefined;
}

function authenticated(context: RequestContext, route: Route, outcome: Outcome): void {
  const { call, gateway, project } = context;
  if (call.ended) return;
  if (isGatewayError(outcome)) {
    const attempt = { surface: "api", address: call.clientAddress, project: project?.ref } as const;
    return gateway.authFailures.refuse(attempt, outcome, (answer) => context.refuse(answer));
  }
  // A stage cannot answer a request that has not been read.
  if (outcome !== undefined) return context.refuse(reject("internal", {}));
  call.enter(-1, gateway.rt.clock.monotonicMs());
  if (isFull(context)) return context.refuse(buffersFull());
  if (project === undefined) return context.refuse(reject("project_mismatch", {}));
  if (route.projectType !== "any" && route.projectType !== project.type)
    return context.refuse(WRONG_TYPE[route.projectType]());
  if (route.body === "json" || route.body === "bytes") readBody(context, route, project);
  else runHandler(context, route, project, undefined);
}

/** Reads the body within its own time limit. */
function readBody(context: RequestContext, route: Route, project: CompiledProject): void {
  const { call, gateway, req, res } = context;
  const { max_body_bytes: bytesMax, body_timeout_ms: timeoutMs } = context.generation.config.server;
  // Reserved before the body is read: calls that have begun can finish, instead of all being cancelled halfway.
  const declared = Number(req.headers["content-length"] ?? 0);
  const reserved = declared <= bytesMax ? declared : 0;
  if (!gateway.rt.buffered.tryReserve(reserved)) return context.refuse(buffersFull());
  call.heldBytes += reserved;
  const reader = new CallBodyReader(context, route, project, reserved);
  call.deadlineMs = Math.min(call.deadlineMs, gateway.rt.clock.monotonicMs() + timeoutMs);
  context.isReading = true;
  readBytes(req, res, bytesMax, reader);
}

class CallBodyReader implements BodyReader {
  readonly #context: RequestContext;
  readonly #route: Route;
  readonly #project: CompiledProject;
  /** The call's deadline once the body is read. */
  readonly #deadlineMs: number;
  /** Bytes that are reserved already and have not arrived. */
  #reserved: number;

  constructor(context: RequestContext, route: Route, project: CompiledProject, reserved: number) {
    this.#context = context;
    this.#route = route;
    this.#project = project;
    this.#deadlineMs = context.call.deadlineMs;
    this.#reserved = reserved;
  }

  hold(bytes: number): GatewayError | undefined {
    const { call, gateway } = this.#context;
    // What arrives after the end of the call is dropped.
    if (call.ended) return reject("internal", {});
    if (this.#reserved >= bytes) {
      this.#reserved -= bytes;
      return undefined;
    }
    if (!gateway.rt.buffered.tryReserve(bytes)) return buffersFull();
    call.heldBytes += bytes;
    return undefined;
  }

  done(bytes: Buffer | GatewayError | undefined): void {
    const context = this.#context;
    const { call } = context;
    if (call.ended) return;
    context.isReading = false;
    call.deadlineMs = this.#deadlineMs;
    if (isGatewayError(bytes)) return context.refuse(bytes);
    processInBatch(() => runHandler(context, this.#route, this.#project, bytes), call, failCall);
  }
}

function runHandler(
  context: RequestContext,
  route: Route,
  project: CompiledProject,
  bytes: Buffer | undefined,
): void {
  const { call } = context;
  if (call.ended) return;
  // Responses to earlier calls may have taken the room since this call's head arrived.
  if (isFull(context)) return context.refuse(buffersFull());
  let input: unknown = bytes;
  if (route.body === "json") {
    const body = parseJsonObject(bytes);
    if (isGatewayError(body)) return context.refuse(body);
    context.body = body;
    input = route.read === undefined ? body : route.read(body);
    if (isGatewayError(input)) return context.refuse(input);
  }
  const target = route.target === undefined ? project : route.target(project, input, context);
  if (isGatewayError(target)) return context.refuse(target);
  const refusal = route.handler(context, target, input);
  if (isPromise(refusal)) follow(call, refusal, (settled) => settled && context.refuse(settled));
  else if (refusal !== undefined) context.refuse(refusal);
}

/** Whether other calls hold all that may be held. */
function isFull({ gateway, call }: RequestContext): boolean {
  const { buffered } = gateway.rt;
  return buffered.used - call.heldBytes >= buffered.max;
}

function buffersFull(): GatewayError {
  return reject("buffers_full", {}, { retryAfterSeconds: 1 });
}
