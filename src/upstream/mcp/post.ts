/**
 * One POST to an upstream MCP server: past the SSRF guard, its answer as one JSON message or as an event stream of
 * messages, bounded in bytes and time. Knows JSON, and nothing of what the messages mean.
 */
import type { JsonMap } from "../../base/json.ts";
import { withoutAddress } from "../../base/without-address.ts";
import { environmentProxies, type ProxyFor } from "../../net/forward-proxy.ts";
import { reasonOf } from "../../net/guarded.ts";
import type { AnswerHeaders, HttpCall, HttpError, HttpHandler } from "../../net/http-client.ts";
import { ANSWER_BYTES_MAX, AnswerBody } from "../../net/http1/answer-body.ts";
import { createRequestClient } from "../../net/request.ts";
import { checkUrl, type Resolve, ssrfAllow } from "../../net/ssrf.ts";
import type { Clock } from "../../plugin/index.ts";
import { type Framing, framing } from "../framing.ts";
import { type JsonHeaders, messageOf } from "./wire.ts";

/** Connections to one server; further POSTs wait for one. */
const POOL = { connectionsPerOrigin: 64, waitingMax: 16_384, keepMsMax: 15_000 };
/** A stream that has brought its answer may end by itself, so that its connection can be used again. */
const LINGER_MS = 1000;

export interface McpPostOptions {
  readonly url: string;
  /** `network.allow`. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  /** Default: the system's. */
  readonly resolve?: Resolve;
  /** Default: the environment's. */
  readonly proxyFor?: ProxyFor;
}

export interface McpSent {
  readonly method: "POST" | "DELETE";
  readonly headers: JsonHeaders;
  readonly body: string;
  /** To the end of the answer. undefined: as long as the caller waits. */
  readonly timeoutMs: number | undefined;
  /** Each message of the answer. True: it is the one that was waited for. */
  onMessage(message: JsonMap): boolean;
}

/** How a POST ended: `failed` in short when its answer was not complete and well-formed. */
export type McpEnd =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>> }
  | { readonly failed: string };

export interface McpPosting {
  /** Settles when the awaited message is there, or the answer over. Never rejects. */
  readonly ended: Promise<McpEnd>;
  /** Gives it up: the server sees the connection close. */
  cancel(): void;
}

export interface McpPost {
  send(sent: McpSent): McpPosting;
  /** Ends all connections. */
  close(): void;
}

export function mcpPost({ url, allow: entries, clock, resolve, proxyFor }: McpPostOptions): McpPost {
  const allow = ssrfAllow(entries);
  const client = createRequestClient({
    ...{ ...POOL, clock, guard: { allow, resolve } },
    proxyFor: proxyFor ?? environmentProxies(process.env),
  });
  const target = checkUrl(url, allow);
  const running = new Set<Posting>();
  return {
    send(sent) {
      if (typeof target === "string")
        return { ended: Promise.resolve({ failed: `blocked: ${withoutAddress(target)}` }), cancel() {} };
      const { method, body } = sent;
      const headers = {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...sent.headers,
      };
      const posting = new Posting(sent, clock, () => running.delete(posting));
      running.add(posting);
      const timeoutMs = sent.timeoutMs ?? Number.POSITIVE_INFINITY;
      posting.call = client.send({ method, url, headers, body }, posting, {
        ...{ firstByteTimeoutMs: timeoutMs, idleTimeoutMs: Number.POSITIVE_INFINITY },
        ...{ totalTimeoutMs: timeoutMs, bodyBytesMax: Number.POSITIVE_INFINITY, isRepeatable: true },
      });
      return posting;
    },
    close() {
      for (const posting of running) posting.cancel();
      void client.close();
    },
  };
}

class Posting implements McpPosting, HttpHandler {
  readonly ended: Promise<McpEnd>;
  call: HttpCall | undefined;
  readonly #sent: McpSent;
  readonly #clock: Clock;
  readonly #closed: () => void;
  readonly #body = new AnswerBody();
  #events: Framing | undefined;
  #end: { readonly status: number; readonly headers: Readonly<Record<string, string>> } = {
    status: 0,
    headers: {},
  };
  #bytes = 0;
  #settle: (end: McpEnd) => void = () => {};
  #isOver = false;
  /** Of a stream that continues after its answer. */
  #linger: { cancel(): void } | undefined;

  /** `closed` is called when its connection is closed. */
  constructor(sent: McpSent, clock: Clock, closed: () => void) {
    this.#sent = sent;
    this.#clock = clock;
    this.#closed = closed;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  cancel(): void {
    this.#fail("cancelled");
    this.#stop();
  }

  onHead(status: number, answer: AnswerHeaders): void {
    const headers = answer.record();
    this.#end = { status, headers };
    if (headers["content-type"]?.toLowerCase().startsWith("text/event-stream") !== true) return;
    // A result is one event: it may be as large as a whole answer.
    this.#events = framing("sse", (_name, text) => this.#event(text), ANSWER_BYTES_MAX);
  }

  onChunk(bytes: Buffer): void {
    this.#bytes += bytes.length;
    // All messages of a stream together.
    if (this.#bytes > ANSWER_BYTES_MAX) return this.#fail("the answer is too large");
    if (this.#events === undefined) this.#body.add(bytes, ANSWER_BYTES_MAX);
    else this.#events.push(bytes);
  }

  onEnd(): void {
    this.#closed();
    this.#linger?.cancel();
    if (this.#events === undefined) this.#takeWhole(this.#body.text(), this.#end.status);
    else this.#events.end();
    this.#done();
  }

  onError({ kind, reason, cause }: HttpError): void {
    this.#closed();
    this.#linger?.cancel();
    this.#fail(kind === "timeout" ? reason : shortly(cause));
  }

  #event(text: string): void {
    if (!this.#take(text) || this.#isOver) return;
    this.#linger = this.#clock.after(LINGER_MS, () => this.#stop());
    this.#done();
  }

  #takeWhole(text: string, status: number): void {
    // For a refusal the status suffices.
    if (text.trim() !== "" && (status < 400 || text.trimStart().startsWith("{"))) this.#take(text, status);
  }

  #take(text: string, status = 200): boolean {
    if (this.#isOver) return false;
    const message = messageOf(text);
    if (message !== undefined) return this.#sent.onMessage(message);
    if (status < 400) this.#fail("the answer is malformed");
    return false;
  }

  #done(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settle(this.#end);
  }

  #fail(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settle({ failed: why });
    this.#stop();
  }

  #stop(): void {
    this.#linger?.cancel();
    this.#closed();
    this.call?.cancel();
  }
}

function shortly(cause: unknown): string {
  const reason = reasonOf(cause);
  if ("blocked" in reason) return `blocked: ${withoutAddress(reason.blocked)}`;
  return reason.code === "" ? "unreachable" : `unreachable (${reason.code})`;
}
