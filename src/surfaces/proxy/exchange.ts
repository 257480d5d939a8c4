/**
 * One proxied call: authorized where the endpoint has an OAuth connection, sent, and its response streamed back. Both bodies
 * have backpressure, so memory per call does not depend on their size.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { withoutAddress } from "../../base/without-address.ts";
import type { CompiledProxy } from "../../compile/model.ts";
import { setProbe } from "../../http/half-close.ts";
import { sendError } from "../../http/respond.ts";
import type { Call } from "../../pipeline/call.ts";
import { closeMoney, endCall, failCall, follow } from "../../pipeline/end.ts";
import { runRequest } from "../../pipeline/run.ts";
import type { Timer } from "../../plugin/host.ts";
import {
  andThen,
  type CallEnd,
  type GatewayError,
  isGatewayError,
  isPromise,
  type Outcome,
  reject,
  STAGES,
} from "../../plugin/index.ts";
import type { RequestContext } from "../request-context.ts";
import { answerHeaders, requestHeaders, trailers } from "./headers.ts";
import { handOver, Upload } from "./upload.ts";

const CALL_STAGE = STAGES.indexOf("call");

/** A client that still sends a body has this long to read the response before the connection is closed. */
const LINGER_MS = 1000;

/** What Node accepts (RFC 9112, section 4). Other reason phrases are left out. */
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** May be sent again when it is unknown whether the first request arrived (RFC 9110, section 9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

export class ProxyExchange {
  readonly #context: RequestContext;
  readonly #call: Call;
  readonly #endpoint: CompiledProxy;
  readonly #path: string;
  readonly #upload: Upload;
  /** The current request. Events of an earlier one are ignored. */
  #out: ClientRequest | undefined;
  #accessToken: string | undefined;
  #isSecondToken = false;
  #isSecondConnection = false;
  #hasAnswered = false;
  #timer: Timer | undefined;

  constructor(context: RequestContext, endpoint: CompiledProxy, path: string) {
    this.#context = context;
    this.#call = context.call;
    this.#endpoint = endpoint;
    this.#path = path;
    const { max_body_bytes: bytesMax } = context.generation.config.server;
    this.#upload = new Upload(context.req, context.res, {
      ...{ own: endpoint.headers, bytesMax },
      tooLarge: () => this.#fail(reject("body_too_large", { max: bytesMax })),
    });
    context.call.owner = this;
    context.call.finishSteps = endpoint.finish;
  }

  /** Runs the request hooks, then sends the request. */
  begin(): void {
    const { clock } = this.#call.rt;
    this.#timer = clock.after(this.#endpoint.timeoutMs, () => this.#call.cancel("timeout"));
    const outcome = runRequest(this.#call, this.#endpoint.request);
    // Proxied calls cost nothing: the reservation that checked the token's cap is released.
    const released = andThen(outcome, (settled) => andThen(closeMoney(this.#call, undefined), () => settled));
    if (isPromise(released)) follow(this.#call, released, (settled) => this.#decided(settled));
    else this.#decided(released);
  }

  #decided(outcome: Outcome): void {
    if (this.#call.ended) return;
    if (isGatewayError(outcome)) this.refuse(outcome);
    // A result of a stage is a chat result, which this surface cannot send.
    else if (outcome !== undefined) this.refuse(reject("internal", {}));
    else this.#start();
  }

  refuse(error: GatewayError): void {
    const { req, res } = this.#context;
    if (this.#call.ended) return;
    this.#upload.abandon();
    sendError(req, res, error, this.#context.headers());
    this.#end(error.status < 500 ? "refused" : "failed", error.status, error);
  }

  /** Told when the call is cancelled. */
  stop(): void {
    const { cancelled } = this.#call;
    if (cancelled === "client_gone") {
      this.#drop();
      return this.#end("client_gone", 499, undefined);
    }
    const late = reject("upstream_unreachable", {}, { detail: "the call took too long" });
    if (cancelled === "fault") return this.#fail(reject("internal", {}));
    this.#fail(cancelled === "timeout" ? late : reject("draining", {}));
  }

  #start(): void {
    const { upstream, oauth } = this.#endpoint;
    this.#call.enter(CALL_STAGE, this.#call.rt.clock.monotonicMs());
    if (typeof upstream === "string") return this.refuse(blocked(upstream));
    if (oauth === undefined) return this.#send(upstream, undefined);
    const { token: caller, clientAddress: ipAddress } = this.#call;
    const actor = caller.name;
    const send = (given: Awaited<ReturnType<typeof oauth.token>>): void => {
      if (this.#call.ended) return;
      if (typeof given === "string") this.#send(upstream, given);
      else this.refuse(reject("oauth_failed", {}, { detail: given.failed }));
    };
    const token = oauth.token({ actor, ipAddress });
    if (isPromise(token)) follow(this.#call, token, send);
    else send(token);
  }

  #send(upstream: URL, accessToken: string | undefined): void {
    const { req } = this.#context;
    const { headers, way } = this.#endpoint;
    this.#accessToken = accessToken;
    const { method } = this.#call;
    const sent = requestHeaders(req, { headers, accessToken, upstreamHost: upstream.host });
    let out: ClientRequest;
    try {
      out = way.open(upstream, { method, path: this.#path, headers: sent });
    } catch (thrown) {
      return this.refuse(reject("malformed_http", {}, { cause: thrown }));
    }
    this.#out = out;
    out.on("error", (error) => this.#guard(() => this.#broken(out, upstream, error)));
    // The only event of Node when an upstream switches protocols unasked.
    out.on("close", () => {
      if (!this.#hasAnswered) this.#guard(() => this.#broken(out, upstream, new Error("closed")));
    });
    out.on("information", ({ statusCode, headers: hints }) => {
      this.#guard(() => this.#inform(statusCode, hints.link));
    });
    out.on("response", (answer) => this.#guard(() => this.#answered(out, answer)));
    out.on("socket", (socket) => {
      const begin = (): void => {
        if (this.#out === out && !out.destroyed) this.#guard(() => this.#upload.to(out));
      };
      if (!socket.connecting) begin();
      else socket.once(upstream.protocol === "https:" ? "secureConnect" : "connect", begin);
    });
  }

  /** For network callbacks: what they throw fails the call, not the process. */
  #guard(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      failCall(this.#call, thrown);
    }
  }

  /** No response, or an incomplete one. */
  #broken(out: ClientRequest, upstream: URL, error: Error): void {
    if (this.#out !== out || this.#call.ended || this.#hasAnswered) return;
    const failure = this.#endpoint.way.failureOf(error);
    if ("blocked" in failure) return this.refuse(blocked(failure.blocked));
    // An idle connection may be closed just as it is reused, before the request arrives.
    const isStale = out.reusedSocket && failure.unreachable === "ECONNRESET" && !this.#isSecondConnection;
    if (isStale && IDEMPOTENT.has(this.#call.method)) {
      this.#isSecondConnection = true;
      const again = (): void => {
        if (!this.#call.ended) this.#send(upstream, this.#accessToken);
      };
      if (this.#upload.again(again)) {
        this.#out = undefined;
        return;
      }
    }
    this.#fail(reject("upstream_unreachable", {}, { detail: failure.unreachable }));
  }

  #answered(out: ClientRequest, answer: IncomingMessage): void {
    if (this.#out !== out || this.#call.ended) return void answer.destroy();
    if (answer.statusCode === 401 && this.#refused(out, answer)) return;
    if (answer.statusCode === 101)
      return this.#fail(reject("upstream_unreachable", {}, { detail: "another protocol" }));
    const coding = answer.headers["transfer-encoding"];
    if (coding !== undefined && coding.toLowerCase() !== "chunked")
      return this.#fail(reject("upstream_unreachable", {}, { detail: "an unknown transfer coding" }));
    this.#pass(out, answer);
  }

  /** Retries once with a new token when the upstream rejects the current one. False: its response is passed on. */
  #refused(out: ClientRequest, answer: IncomingMessage): boolean {
    const { oauth } = this.#endpoint;
    if (oauth === undefined || this.#accessToken === undefined) return false;
    oauth.refused(this.#accessToken);
    const again = (): void => {
      if (!this.#call.ended) this.#start();
    };
    if (this.#isSecondToken || !this.#upload.again(again)) return false;
    this.#isSecondToken = true;
    this.#out = undefined;
    answer.on("error", () => {});
    out.destroy();
    return true;
  }

  /** Passes interim responses on (RFC 9110, section 15.2). */
  #inform(status: number, link: string | string[] | undefined): void {
    const { req, res } = this.#context;
    if (this.#call.ended || this.#hasAnswered || req.httpVersion === "1.0") return;
    if (status === 102) res.writeProcessing();
    if (status === 103 && link !== undefined) {
      try {
        res.writeEarlyHints({ link });
      } catch {
        // Node rejects some valid links; a hint may be lost.
      }
    }
  }

  /** Streams the response. */
  #pass(out: ClientRequest, answer: IncomingMessage): void {
    const { req, res } = this.#context;
    const { statusCode: status = 502, statusMessage = "" } = answer;
    const isChunked = req.httpVersion === "1.1" && answer.headers["content-length"] === undefined;
    const mayTrail = isChunked && req.method !== "HEAD" && status !== 204 && status !== 304;
    const reason = REASON_PHRASE.test(statusMessage) ? statusMessage : "";
    const own = this.#context.headers();
    try {
      res.writeHead(status, reason, [...answerHeaders(answer, mayTrail, own), ...own]);
    } catch {
      // Node keeps the reason phrase of the rejected head and would reject the next head for it.
      res.statusMessage = "";
      return this.#fail(reject("upstream_unreachable", {}, { detail: "no valid answer" }));
    }
    this.#hasAnswered = true;
    setProbe(res, "none");
    this.#call.firstByteMs = this.#call.rt.clock.monotonicMs();
    let hasBegun = false;
    // Together with the first chunk of the body if it is available.
    setImmediate(() => {
      if (!hasBegun && !res.writableEnded) res.flushHeaders();
    });
    answer.on("data", (part: Buffer) => {
      hasBegun = true;
      try {
        if (!handOver(part, res)) answer.pause();
      } catch (thrown) {
        failCall(this.#call, thrown);
      }
    });
    res.on("drain", () => answer.resume());
    answer.on("error", () => this.#cut("the upstream broke off"));
    answer.on("end", () => {
      // A body shorter than its length is incomplete (RFC 9112, section 8).
      if (!answer.complete) return this.#cut("the upstream broke off");
      this.#guard(() => {
        const behind = mayTrail ? trailers(answer) : [];
        if (behind.length > 0) res.addTrailers(behind);
        res.end();
      });
    });
    res.on("finish", () => this.#finished(out, status));
  }

  #finished(out: ClientRequest, status: number): void {
    const { req } = this.#context;
    if (!this.#upload.hasEnded) {
      this.#upload.abandon();
      out.destroy();
      this.#call.rt.clock.after(LINGER_MS, () => {
        if (!req.complete) req.socket.destroy();
      });
    }
    this.#end("done", status, undefined);
  }

  #fail(error: GatewayError): void {
    if (this.#hasAnswered) return this.#cut(error.extras.detail ?? error.message);
    this.#drop();
    this.refuse(error);
  }

  /** Resets the connection, so that the client sees that the response is incomplete. */
  #cut(detail: string): void {
    if (this.#call.ended) return;
    this.#drop();
    this.#context.req.socket.resetAndDestroy();
    this.#end("failed", 502, reject("upstream_unreachable", {}, { detail }));
  }

  #drop(): void {
    const out = this.#out;
    this.#out = undefined;
    out?.destroy();
  }

  #end(outcome: CallEnd["outcome"], status: number, error: GatewayError | undefined): void {
    this.#timer?.cancel();
    const nothing = { result: undefined, usage: undefined, costNanoUsd: 0 };
    endCall(this.#call, this.#endpoint.finish, { outcome, status, error, ...nothing });
  }
}

/** The log has the address, the client only its kind. */
function blocked(refusal: string): GatewayError {
  return reject("ssrf_blocked", {}, { detail: withoutAddress(refusal), cause: refusal });
}
