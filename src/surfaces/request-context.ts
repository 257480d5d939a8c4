/**
 * One HTTP request to a route of calls: its call, the configuration it runs on, and how it is answered. Which steps it
 * takes is in run-route.ts.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { nanoUsdText } from "../base/money.ts";
import type { CompiledConfig, CompiledProject } from "../compile/model.ts";
import type { JsonBody } from "../http/body.ts";
import type { ClientAddress } from "../http/client-address.ts";
import { errorBody, type FlatHeaders, sendErrorAs, sendJson } from "../http/respond.ts";
import type { RequestHandler } from "../http/server.ts";
import { Call, type Runtime } from "../pipeline/call.ts";
import { endCall } from "../pipeline/end.ts";
import type { OpenCalls } from "../pipeline/open-calls.ts";
import { CallTrace } from "../pipeline/trace.ts";
import type { ConfigRef, ProjectRef, Scope, Surface } from "../plugin/exchange.ts";
import type { Random } from "../plugin/host.ts";
import type { GatewayError } from "../plugin/index.ts";
import { reject } from "../plugin/index.ts";
import type { AuthFailures } from "./auth-failures.ts";
import { rateHeaders } from "./rate-headers.ts";

/** One configuration in use. Held by each call from its arrival to its end. */
export interface Generation {
  readonly config: CompiledConfig;
  /** The configuration as a call names it. */
  readonly ref: ConfigRef;
  readonly clientAddress: ClientAddress;
  release(): void;
}

/** What surfaces need of the gateway. */
export interface SurfaceGateway {
  readonly rt: Runtime;
  readonly random: Random;
  /** The current configuration, held until its `release`. */
  acquire(): Generation;
  /** Calls that have arrived and not ended. */
  readonly open: OpenCalls;
  /** Whether the process has room for another call. */
  readonly overload: { admits(): boolean };
  /** Set while the gateway shuts down. */
  readonly draining: boolean;
  /** Answers `POST /api/control`, which is no call of a project. undefined: it is not served here. */
  readonly control: RequestHandler | undefined;
  readonly authFailures: AuthFailures;
}

/** What a route says of its calls before they are authenticated. */
export interface CallRules {
  /** What the calls are recorded as. */
  readonly surface: Surface;
  /** What the token needs. */
  readonly scope: Scope;
}

/** How clients of a surface read errors. */
export interface SurfaceErrors {
  /** Paths that begin with this are answered in this format even where there is no route. */
  readonly below: string;
  /** The body of an error; `project` is undefined where the path names none that exists. */
  body(project: CompiledProject | undefined, headers: IncomingHttpHeaders): (error: GatewayError) => string;
}

/** Where a request goes, as the router found it. */
export interface RequestTarget {
  readonly rules: CallRules;
  /** Default: `{ ok, error }`. */
  readonly errors: SurfaceErrors | undefined;
  readonly projectUuid: string;
  readonly path: string;
  /** The `{name}` segment of the route's path; without one, what `{name+}` stands for. As in the URL, not decoded. */
  readonly param: string;
  /** What follows that segment: empty, or from its slash on. */
  readonly rest: string;
}

/** Responses longer than this count as buffered; shorter ones fit into the kernel's buffers. */
const COUNTED_LENGTH_MIN = 65_536;

/** Characters of an unknown project's path segment that are kept: a UUID has 36, and clients choose the rest. */
const UNKNOWN_UUID_LENGTH_MAX = 64;

const NO_BODY: JsonBody = Object.freeze({});

export class RequestContext {
  readonly gateway: SurfaceGateway;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly target: RequestTarget;
  readonly call: Call;
  readonly generation: Generation;
  /** undefined: the path names none that exists. Stage authenticate refuses such calls. */
  readonly project: CompiledProject | undefined;
  /** Of routes with a JSON body, once it is read. */
  body: JsonBody = NO_BODY;
  /** The client is sending the body. */
  isReading = false;

  constructor(gateway: SurfaceGateway, req: IncomingMessage, res: ServerResponse, target: RequestTarget) {
    const { rules, projectUuid, path } = target;
    this.gateway = gateway;
    this.req = req;
    this.res = res;
    this.target = target;
    this.generation = gateway.acquire();
    const { config, clientAddress, ref } = this.generation;
    const { clock } = gateway.rt;
    const project = config.projects.get(projectUuid);
    this.project = project;
    const call = new Call({
      rt: gateway.rt,
      requestId: gateway.random.uuid(),
      surface: rules.surface,
      scope: rules.scope,
      method: req.method ?? "",
      path,
      headers: req.headers,
      clientAddress: clientAddress(req),
      project: project?.ref ?? unknownProject(projectUuid),
      nowMs: clock.nowMs(),
      monotonicMs: clock.monotonicMs(),
    });
    this.call = call;
    call.config = ref;
    if (config.tracesCalls) call.trace = new CallTrace();
    call.lease = this;
    call.owner = this;
    call.connection = res;
    call.finishSteps = config.record;
    const { request_timeout_ms, stream_idle_timeout_ms, stream_timeout_ms: streamMs } = config.server;
    call.deadlineMs = call.startedMonotonicMs + request_timeout_ms;
    call.requestTimeoutMs = request_timeout_ms;
    call.streamIdleTimeoutMs = stream_idle_timeout_ms;
    if (streamMs !== null) call.streamDeadlineMs = call.startedMonotonicMs + streamMs;
    gateway.open.add(call);
    // Also after the answer: by then the call has ended, and cancelling it does nothing.
    res.on("close", () => call.cancel("client_gone"));
  }

  /** The call's hold on its generation; `endCall` releases it. */
  release(): void {
    this.gateway.open.delete(this.call);
    this.generation.release();
  }

  /** How this client reads errors. */
  get errorBody(): (error: GatewayError) => string {
    return this.target.errors?.body(this.project, this.req.headers) ?? errorBody;
  }

  /** Headers of every response (`http.request-id.header`). */
  headers(): FlatHeaders {
    const { config } = this.generation;
    const { call } = this;
    const headers = ["X-Request-Id", call.requestId];
    if (config.server.expose_config_hash) headers.push("X-Gateway-Config", config.hash);
    const { settledNanoUsd } = call;
    if (settledNanoUsd !== undefined && config.server.expose_cost)
      headers.push("X-Sluice-Cost-Usd", nanoUsdText(settledNanoUsd));
    const dropped = call.attempts.at(-1)?.dropped;
    if (dropped !== undefined)
      headers.push("X-Sluice-Warnings", dropped.map((field) => `dropped:${field}`).join(", "));
    if (call.sessionId !== undefined) headers.push("X-Session-Id", call.sessionId);
    if (call.windows !== undefined) headers.push(...rateHeaders(call, call.windows));
    return headers;
  }

  /** Sends a JSON body, which counts as buffered until the client has it or is disconnected. */
  sendJson(status: number, body: string): void {
    const { res } = this;
    if (body.length > COUNTED_LENGTH_MIN) {
      const { buffered } = this.gateway.rt;
      // In UTF-8, and in the kernel's buffers no more than once.
      const bytes = Buffer.byteLength(body);
      buffered.reserve(bytes);
      res.once("close", () => buffered.release(bytes));
    }
    sendJson(res, status, body, this.headers());
  }

  sendError(error: GatewayError): void {
    sendErrorAs(this.req, this.res, error, { headers: this.headers(), body: this.errorBody(error) });
  }

  /** Sends an error and ends a call that has not reached an endpoint. */
  refuse(error: GatewayError): void {
    if (this.call.ended) return;
    this.sendError(error);
    this.end(error.status, error);
  }

  /** Records the end of a call without an endpoint. */
  end(status: number, error: GatewayError | undefined): void {
    endCall(this.call, this.generation.config.record, {
      outcome: status === 499 ? "client_gone" : status < 400 ? "done" : status < 500 ? "refused" : "failed",
      status,
      error,
      result: undefined,
      usage: undefined,
      costNanoUsd: 0,
    });
  }

  /** Told by the call when it is cancelled before it reaches an endpoint, whose pipeline is told instead. */
  stop(): void {
    const { cancelled } = this.call;
    if (cancelled === "client_gone") return this.end(499, undefined);
    if (cancelled === "timeout" && this.isReading) {
      const { body_timeout_ms: ms } = this.generation.config.server;
      return this.refuse(reject("body_too_slow", { ms }));
    }
    this.refuse(this.cancellation());
  }

  /** What a client is told of the cancellation of its call. */
  cancellation(call: Call = this.call): GatewayError {
    const { request_timeout_ms: ms } = this.generation.config.server;
    if (call.cancelled === "shutdown") return reject("draining", {});
    if (call.cancelled === "buffers_full") return reject("buffers_full", {}, { retryAfterSeconds: 1 });
    if (call.cancelled === "fault") return reject("internal", {});
    return reject("request_timeout", { ms });
  }
}

function unknownProject(uuid: string): ProjectRef {
  return { uuid: uuid.slice(0, UNKNOWN_UUID_LENGTH_MAX), id: 0, name: "" };
}
