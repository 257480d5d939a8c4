/**
 * One POST to an upstream MCP server: past the SSRF guard, its answer as one JSON message or as an event stream of
 * messages, bounded in bytes and time. Knows JSON, and nothing of what the messages mean.
 */

import type http from "node:http";
import type { JsonMap } from "../../base/json.ts";
import { withoutAddress } from "../../base/without-address.ts";
import { GuardedAgents, reasonOf } from "../../net/guarded-agents.ts";
import { ANSWER_BYTES_MAX } from "../../net/http1/answer-body.ts";
import type { Resolve } from "../../net/ssrf.ts";
import type { Clock } from "../../plugin/index.ts";
import { framing } from "../framing.ts";
import { type JsonHeaders, messageOf } from "./wire.ts";

/** Connections to one server; further POSTs wait for one. */
const SOCKETS_MAX = 64;
const KEEP_ALIVE_MS = 15_000;
/** A stream that has brought its answer may end by itself, so that its connection can be used again. */
const LINGER_MS = 1000;

export interface McpPostOptions {
  readonly url: string;
  /** `network.allow`. */
  readonly allow: readonly string[];
  readonly clock: Clock;
  /** Default: the system's. */
  readonly resolve?: Resolve;
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

/** How a POST ended: `failed` in short when its answer did not come whole and well-formed. */
export type McpEnd =
  | { readonly status: number; readonly headers: http.IncomingHttpHeaders }
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

export function mcpPost({ url, allow, clock, resolve }: McpPostOptions): McpPost {
  const limits = { idleMs: KEEP_ALIVE_MS, socketsPerOriginMax: SOCKETS_MAX };
  const agents = new GuardedAgents({ allow, resolve, ...limits });
  const target = agents.check(url);
  return {
    send(sent) {
      if (typeof target === "string")
        return { ended: Promise.resolve({ failed: `blocked: ${withoutAddress(target)}` }), cancel() {} };
      const { method, body } = sent;
      const headers = {
        "user-agent": "sluice",
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...sent.headers,
        "content-length": String(Buffer.byteLength(body)),
      };
      const { request, agent } = agents.wayTo(target);
      return new Posting(sent, clock, () => request(target, { method, agent, headers }));
    },
    close: () => agents.close(),
  };
}

class Posting implements McpPosting {
  readonly ended: Promise<McpEnd>;
  readonly #sent: McpSent;
  readonly #clock: Clock;
  readonly #begin: () => http.ClientRequest;
  #request: http.ClientRequest | undefined;
  #timer: { cancel(): void } | undefined;
  #settle: (end: McpEnd) => void = () => {};
  #isOver = false;

  constructor(sent: McpSent, clock: Clock, begin: () => http.ClientRequest) {
    this.#sent = sent;
    this.#clock = clock;
    this.#begin = begin;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    const { timeoutMs } = sent;
    if (timeoutMs !== undefined) {
      this.#timer = clock.after(timeoutMs, () => this.#fail(`timed out after ${timeoutMs} ms`));
    }
    this.#start(true);
  }

  #start(mayRepeat: boolean): void {
    let request: http.ClientRequest;
    try {
      request = this.#begin();
    } catch (thrown) {
      // A header that no request may have.
      return this.#fail(shortly(thrown));
    }
    this.#request = request;
    request.on("error", (error: NodeJS.ErrnoException) => {
      // The server may close a kept connection just when it is used again: it has seen nothing of the request.
      if (mayRepeat && !this.#isOver && request.reusedSocket && error.code === "ECONNRESET")
        this.#start(false);
      else this.#fail(shortly(error));
    });
    request.on("response", (response) => this.#read(response));
    request.end(this.#sent.body);
  }

  cancel(): void {
    this.#fail("cancelled");
  }

  #read(response: http.IncomingMessage): void {
    const { statusCode: status = 0, headers } = response;
    const end: McpEnd = { status, headers };
    const isStream = headers["content-type"]?.toLowerCase().startsWith("text/event-stream") === true;
    const take = (text: string): void => {
      if (this.#take(text)) this.#done(end, response);
    };
    // A result comes in one event: it may be as large as a whole answer.
    const events = framing("sse", (_name, text) => take(text), ANSWER_BYTES_MAX);
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on("data", (part: Buffer) => {
      bytes += part.length;
      // All messages of a stream together.
      if (bytes > ANSWER_BYTES_MAX) this.#fail("the answer is too large");
      else if (isStream) events.push(part);
      else parts.push(part);
    });
    response.on("error", (error) => this.#fail(shortly(error)));
    response.on("end", () => {
      this.#timer?.cancel();
      if (isStream) events.end();
      else this.#takeWhole(Buffer.concat(parts).toString("utf8"), status);
      this.#done(end);
    });
  }

  #takeWhole(text: string, status: number): void {
    // Of a refusal the status says enough, whatever the body is.
    if (text.trim() !== "" && (status < 400 || text.trimStart().startsWith("{"))) this.#take(text, status);
  }

  #take(text: string, status = 200): boolean {
    if (this.#isOver) return false;
    const message = messageOf(text);
    if (message !== undefined) return this.#sent.onMessage(message);
    if (status < 400) this.#fail("the answer is malformed");
    return false;
  }

  /** `still`: an event stream that goes on. */
  #done(end: McpEnd, still?: http.IncomingMessage): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    if (still !== undefined) {
      const last = this.#clock.after(LINGER_MS, () => this.#request?.destroy());
      still.once("close", () => last.cancel());
    }
    this.#settle(end);
  }

  #fail(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#settle({ failed: why });
    this.#request?.destroy();
  }
}

function shortly(error: unknown): string {
  const reason = reasonOf(error);
  if ("blocked" in reason) return `blocked: ${withoutAddress(reason.blocked)}`;
  return reason.code === "" ? "unreachable" : `unreachable (${reason.code})`;
}
