/**
 * What every surface under /api does first: make the call, authenticate it before a byte of its body is read, check the
 * project's type. And last: a call that ends before it has reached an endpoint is recorded all the same.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { processInBatch } from "../base/batching.ts";
import { nanoUsdText } from "../base/money.ts";
import type { CompiledConfig, CompiledProject } from "../compile/model.ts";
import type { ProjectType } from "../config/model.ts";
import { type JsonBody, parseJsonObject, readBytes } from "../http/body.ts";
import type { ClientAddress } from "../http/client-address.ts";
import { countHeader } from "../http/head-rules.ts";
import { openAiErrorBody, readsOpenAiErrors } from "../http/openai-error.ts";
import { errorBody, type FlatHeaders, sendErrorAs, sendJson } from "../http/respond.ts";
import type { RequestHandler } from "../http/server.ts";
import { Call, type Runtime } from "../pipeline/call.ts";
import { endCall } from "../pipeline/end.ts";
import { failCall, follow } from "../pipeline/fault.ts";
import type { OpenCalls } from "../pipeline/open-calls.ts";
import { runRequest } from "../pipeline/run.ts";
import type { ConfigRef, ProjectRef, Scope, Surface } from "../plugin/exchange.ts";
import type { Random } from "../plugin/host.ts";
import type { GatewayError } from "../plugin/index.ts";
import { isGatewayError, isPromise, reject } from "../plugin/index.ts";
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
export interface SurfaceContext {
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

/** Whole answers longer than this count as buffered; shorter ones fit into the kernel's buffers. */
const COUNTED_LENGTH_MIN = 65_536;

/** Open calls that the gateway takes on; more are shed with 503. */
export const OPEN_CALLS_MAX = 16_384;

/** Where a request goes, as far as its path says. */
export interface Route {
  readonly surface: Surface;
  readonly scope: Scope;
  readonly projectUuid: string;
  readonly path: string;
}

/** A call that has been let in. */
export interface Admitted {
  readonly call: Call;
  readonly generation: Generation;
  readonly project: CompiledProject;
}

/** One HTTP request on its way through a surface. */
export class Visit {
  readonly ctx: SurfaceContext;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly call: Call;
  readonly generation: Generation;
  #reading = false;
  /** Bytes of the body that are counted already and have not arrived. */
  #reserved = 0;

  constructor(ctx: SurfaceContext, req: IncomingMessage, res: ServerResponse, route: Route) {
    this.ctx = ctx;
    this.req = req;
    this.res = res;
    this.generation = ctx.acquire();
    const { config, clientAddress } = this.generation;
    const { clock } = ctx.rt;
    const project = config.projects.get(route.projectUuid);
    this.call = new Call({
      rt: ctx.rt,
      requestId: ctx.random.uuid(),
      surface: route.surface,
      scope: route.scope,
      method: req.method ?? "",
      path: route.path,
      headers: req.headers,
      clientAddress: clientAddress(req),
      project: project?.ref ?? unknownProject(route.projectUuid),
      nowMs: clock.nowMs(),
      monotonicMs: clock.monotonicMs(),
    });
    this.call.config = this.generation.ref;
    this.call.lease = this;
    this.call.owner = this;
    this.call.connection = res;
    this.call.finishSteps = config.record;
    const { request_timeout_ms, stream_idle_timeout_ms, stream_timeout_ms: streamMs } = config.server;
    this.call.deadlineMs = this.call.startedMonotonicMs + request_timeout_ms;
    this.call.requestTimeoutMs = request_timeout_ms;
    this.call.streamIdleTimeoutMs = stream_idle_timeout_ms;
    if (streamMs !== null) this.call.streamDeadlineMs = this.call.startedMonotonicMs + streamMs;
    ctx.open.add(this.call);
    // Also after the answer: by then the call has ended, and giving it up does nothing.
    res.on("close", () => this.call.cancel("client_gone"));
  }

  /** The call's hold on its generation; `endCall` lets it go. */
  release(): void {
    this.ctx.open.delete(this.call);
    this.generation.release();
  }

  /** How this client reads errors. */
  get errorBody(): (error: GatewayError) => string {
    const { surface, project } = this.call;
    return surface === "wrapper" ? errorBodyFor(this.generation, project.uuid, this.req) : errorBody;
  }

  /** Answers with an error. */
  sendError(error: GatewayError): void {
    sendErrorAs(this.req, this.res, error, { headers: this.headers(), body: this.errorBody(error) });
  }

  /** Headers of every answer (CONTRACT section 3). */
  headers(): FlatHeaders {
    const { config } = this.generation;
    const headers = ["X-Request-Id", this.call.requestId];
    if (config.server.expose_config_hash) headers.push("X-Gateway-Config", config.hash);
    const { settledNanoUsd } = this.call;
    if (settledNanoUsd !== undefined && config.server.expose_cost)
      headers.push("X-Sluice-Cost-Usd", nanoUsdText(settledNanoUsd));
    const dropped = this.call.attempts.at(-1)?.dropped;
    if (dropped !== undefined)
      headers.push("X-Sluice-Warnings", dropped.map((field) => `dropped:${field}`).join(", "));
    if (this.call.sessionId !== undefined) headers.push("X-Session-Id", this.call.sessionId);
    if (this.call.windows !== undefined) headers.push(...rateHeaders(this.call, this.call.windows));
    return headers;
  }

  /**
   * In the contract's order: token (401), project and scope (403), project type (400). Then `admitted` runs; a refusal
   * is answered here.
   */
  admit(
    type: ProjectType,
    wrongType: () => GatewayError,
    admitted: (project: CompiledProject) => void,
  ): void {
    try {
      this.#admit(type, wrongType, admitted);
    } catch (thrown) {
      failCall(this.call, thrown);
    }
  }

  #admit(
    type: ProjectType,
    wrongType: () => GatewayError,
    admitted: (project: CompiledProject) => void,
  ): void {
    const refusal = this.#refusedAtOnce();
    if (refusal !== undefined) return this.refuse(refusal);
    const { config } = this.generation;
    const project = config.projects.get(this.call.project.uuid);
    const go = (): void => {
      this.call.enter(-1, this.ctx.rt.clock.monotonicMs());
      if (this.#isFull()) return this.refuse(buffersFull());
      // Authenticate has refused calls to projects that do not exist.
      if (project === undefined) return this.refuse(reject("project_mismatch", {}));
      if (project.type !== type) return this.refuse(wrongType());
      admitted(project);
    };
    const steps =
      project === undefined || project.authenticate.length === 0
        ? config.authenticate
        : [...config.authenticate, ...project.authenticate];
    const outcome = runRequest(this.call, steps);
    if (isPromise(outcome)) follow(this.call, outcome, (settled) => this.#decided(settled, go));
    else this.#decided(outcome, go);
  }

  /** Ends a call that has not reached an endpoint. */
  refuse(error: GatewayError): void {
    if (this.call.ended) return;
    this.sendError(error);
    this.end(error.status, error);
  }

  /** As `readBytes`, for a body that is a JSON object. */
  readBody(read: (body: JsonBody) => void): void {
    this.readBytes((bytes) => {
      const body = parseJsonObject(bytes);
      if (isGatewayError(body)) this.refuse(body);
      else read(body);
    });
  }

  /** Reads the body within its own time limit; `read` runs once, unless the call is over before. */
  readBytes(read: (bytes: Buffer | undefined) => void): void {
    const { call } = this;
    const { max_body_bytes: maxBytes, body_timeout_ms: timeoutMs } = this.generation.config.server;
    const wholeCallMs = call.deadlineMs;
    call.deadlineMs = Math.min(wholeCallMs, this.ctx.rt.clock.monotonicMs() + timeoutMs);
    this.#reading = true;
    // Reserved before the body is read: calls that have begun can finish, instead of all being given up halfway.
    const declared = Number(this.req.headers["content-length"] ?? 0);
    if (declared <= maxBytes) {
      if (!this.ctx.rt.buffered.tryReserve(declared)) return this.refuse(buffersFull());
      call.heldBytes += declared;
      this.#reserved = declared;
    }
    readBytes(this.req, this.res, { maxBytes, hold: (bytes) => this.#hold(bytes) }, (bytes) => {
      if (call.ended) return;
      this.#reading = false;
      call.deadlineMs = wholeCallMs;
      if (isGatewayError(bytes)) return this.refuse(bytes);
      const work = (): void => {
        if (call.ended) return;
        // Answers of calls before this one, made since its head came, may have taken the room.
        if (this.#isFull()) this.refuse(buffersFull());
        else read(bytes);
      };
      processInBatch(work, call, failCall);
    });
  }

  /** Sends a whole JSON answer, which counts as held until the client has it or is gone. */
  answer(status: number, body: string): void {
    const { res } = this;
    if (body.length > COUNTED_LENGTH_MIN) {
      const { buffered } = this.ctx.rt;
      // In UTF-8, and in the way to the client no more than once.
      const bytes = Buffer.byteLength(body);
      buffered.reserve(bytes);
      res.once("close", () => buffered.release(bytes));
    }
    sendJson(res, status, body, this.headers());
  }

  /** The call was given up before it reached an endpoint, whose pipeline would have been told instead. */
  givenUp(): void {
    const { request_timeout_ms: ms, body_timeout_ms: bodyMs } = this.generation.config.server;
    if (this.call.cancelled === "timeout") {
      this.refuse(
        this.#reading ? reject("body_too_slow", { ms: bodyMs }) : reject("request_timeout", { ms }),
      );
    } else if (this.call.cancelled === "shutdown") {
      this.refuse(reject("draining", {}));
    } else if (this.call.cancelled === "buffers_full") {
      this.refuse(buffersFull());
    } else if (this.call.cancelled === "fault") {
      this.refuse(reject("internal", {}));
    } else {
      this.end(499, undefined);
    }
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

  /** Counts bytes of the body; the refusal when there is no room for them. */
  #hold(bytes: number): GatewayError | undefined {
    const { call, ctx } = this;
    // What arrives after the end of the call is dropped.
    if (call.ended) return reject("internal", {});
    if (this.#reserved >= bytes) {
      this.#reserved -= bytes;
      return undefined;
    }
    if (!ctx.rt.buffered.tryReserve(bytes)) return buffersFull();
    call.heldBytes += bytes;
    return undefined;
  }

  /** Whether other calls hold all that may be held. */
  #isFull(): boolean {
    const { buffered } = this.ctx.rt;
    return buffered.used - this.call.heldBytes >= buffered.max;
  }

  #decided(outcome: Awaited<ReturnType<typeof runRequest>>, go: () => void): void {
    if (this.call.ended) return;
    if (outcome === undefined) go();
    else if (isGatewayError(outcome)) this.#unauthenticated(outcome);
    // An answer makes no sense before there is a question.
    else this.refuse(reject("internal", {}));
  }

  #unauthenticated(error: GatewayError): void {
    const { project, clientAddress: address } = this.call;
    const known = this.generation.config.projects.has(project.uuid) ? project : undefined;
    const attempt = { surface: "api", address, project: known } as const;
    this.ctx.authFailures.refuse(attempt, error, (answer) => this.refuse(answer));
  }

  #refusedAtOnce(): GatewayError | undefined {
    if (this.ctx.draining)
      return reject("draining", {}, { retryAfterSeconds: 1, headers: { Connection: "close" } });
    if (this.ctx.open.size > OPEN_CALLS_MAX) return reject("overloaded", {}, { retryAfterSeconds: 1 });
    if (!this.ctx.overload.admits()) return reject("shedding", {}, { retryAfterSeconds: 1 });
    if (countHeader(this.req.rawHeaders, "authorization") > 1) return reject("duplicate_authorization", {});
    return undefined;
  }
}

/** The body of an error under OpenAI's paths, as the project is set; one that does not exist has the default. */
export function errorBodyFor(
  { config }: Pick<Generation, "config">,
  projectUuid: string,
  { headers }: Pick<IncomingMessage, "headers">,
): (error: GatewayError) => string {
  const { errorFormat = "auto" } = config.projects.get(projectUuid) ?? {};
  const isOpenAi = errorFormat === "openai" || (errorFormat === "auto" && readsOpenAiErrors(headers));
  return isOpenAi ? openAiErrorBody : errorBody;
}

/** Characters of an unknown project's path segment that are kept: a UUID has 36, and clients choose the rest. */
const UNKNOWN_UUID_LENGTH_MAX = 64;

function buffersFull(): GatewayError {
  return reject("buffers_full", {}, { retryAfterSeconds: 1 });
}

function unknownProject(uuid: string): ProjectRef {
  return { uuid: uuid.slice(0, UNKNOWN_UUID_LENGTH_MAX), id: 0, name: "" };
}
