/**
 * One POST to somebody else's receiver: past the SSRF guard, one attempt, no redirect followed, and of the answer no
 * more than is wanted. For webhooks and traces; nothing here knows what is sent.
 */
import type { Clock } from "../plugin/index.ts";
import { reasonOf } from "./guarded-agents.ts";
import type { AnswerHeaders, HttpCall, HttpClient, HttpError, HttpHandler } from "./http-client.ts";
import { createHttp1Client } from "./http1/client.ts";
import { checkUrl, guardedLookup, type Resolve, ssrfAllow } from "./ssrf.ts";

/**
 * A connection is used again while one POST follows the other, and not after a pause: a receiver may close it just
 * then, and what is sent into that is lost, since nothing is sent twice.
 */
const IDLE_MS = 500;
/** URLs whose check is remembered, since the same few are posted to all the time. */
const TARGETS_MAX = 1000;

export interface PostLimits {
  /** From the start to the end of the answer. */
  readonly timeoutMs: number;
  /** Of the answer's body; the connection is closed when it has more. */
  readonly maxBytes: number;
}

export interface PostOutcome {
  /** undefined: no answer came. */
  readonly status: number | undefined;
  /** As far as it came, `maxBytes` at most. */
  readonly body: string;
  /** Why none, or only a part of it, came. */
  readonly error: string | undefined;
}

export interface GuardedPost {
  /** Never rejects. */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    limits: PostLimits,
  ): Promise<PostOutcome>;
  /** From now on `network.allow` is this; connections made before are used no more. */
  allow(entries: readonly string[]): void;
  /** Ends all connections, in use or not; what is posted after it fails. */
  close(): void;
}

export interface GuardedPostOptions {
  readonly clock: Clock;
  /** `network.allow`. */
  readonly allow: readonly string[];
  /** Default: the system's. */
  readonly resolve?: Resolve;
}

export function guardedPost(options: GuardedPostOptions): GuardedPost {
  let out = new PostClient(options, options.allow);
  let closed = false;
  const running = new Set<PendingPost>();
  return {
    post(url, headers, body, limits) {
      if (closed) return Promise.resolve(unsent("closed"));
      const refusal = out.refusal(url);
      if (refusal !== undefined) return Promise.resolve(unsent(blocked(refusal)));
      return new Promise((settle) => {
        const exchange = new PendingPost(limits.maxBytes, (outcome) => {
          running.delete(exchange);
          settle(outcome);
        });
        running.add(exchange);
        const { timeoutMs } = limits;
        const timeouts = {
          firstByteTimeoutMs: timeoutMs,
          idleTimeoutMs: timeoutMs,
          totalTimeoutMs: timeoutMs,
        };
        exchange.call = out.client.send({ method: "POST", url, headers, body }, exchange, {
          ...timeouts,
          bodyBytesMax: Number.POSITIVE_INFINITY,
        });
      });
    },
    allow(entries) {
      if (out.allows(entries)) return;
      void out.client.close();
      out = new PostClient(options, entries);
    },
    close() {
      closed = true;
      for (const exchange of running) exchange.giveUp("closed");
      void out.client.close();
    },
  };
}

/** The connections of one `network.allow`. */
class PostClient {
  readonly client: HttpClient;
  readonly #entries: readonly string[];
  readonly #check: (url: string) => URL | string;
  /** Why a URL may not be posted to; undefined: it may, as far as it says. */
  readonly #refusals = new Map<string, string | undefined>();

  constructor({ clock, resolve }: GuardedPostOptions, entries: readonly string[]) {
    const allow = ssrfAllow(entries);
    this.#entries = entries;
    this.#check = (url) => checkUrl(url, allow);
    this.client = createHttp1Client({ clock, keepMsMax: IDLE_MS, lookup: guardedLookup(allow, resolve) });
  }

  allows(entries: readonly string[]): boolean {
    return entries.length === this.#entries.length && entries.every((entry, n) => entry === this.#entries[n]);
  }

  /** A name is decided when it is resolved, at the connection. */
  refusal(url: string): string | undefined {
    if (this.#refusals.has(url)) return this.#refusals.get(url);
    const checked = this.#check(url);
    const refusal = typeof checked === "string" ? checked : undefined;
    if (this.#refusals.size >= TARGETS_MAX) this.#refusals.clear();
    this.#refusals.set(url, refusal);
    return refusal;
  }
}

class PendingPost implements HttpHandler {
  call: HttpCall | undefined;
  readonly #maxBytes: number;
  readonly #settle: (outcome: PostOutcome) => void;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #status: number | undefined;

  constructor(maxBytes: number, settle: (outcome: PostOutcome) => void) {
    this.#maxBytes = maxBytes;
    this.#settle = settle;
  }

  onHead(status: number, _headers: AnswerHeaders): void {
    this.#status = status;
  }

  onChunk(bytes: Buffer): void {
    // A copy: the bytes are overwritten by the next read.
    this.#parts.push(Buffer.from(bytes.subarray(0, this.#maxBytes - this.#bytes)));
    this.#bytes += bytes.length;
    if (this.#bytes >= this.#maxBytes) this.giveUp(undefined);
  }

  onEnd(): void {
    this.#done(undefined);
  }

  onError(error: HttpError): void {
    this.#done(failure(error, this.#status !== undefined));
  }

  /** Its connection ends now; whoever waits for it hears so in a turn of its own. */
  giveUp(error: string | undefined): void {
    this.call?.cancel();
    setImmediate(() => this.#done(error));
  }

  #done(error: string | undefined): void {
    this.#settle({ status: this.#status, body: Buffer.concat(this.#parts).toString("utf8"), error });
  }
}

function failure({ kind, reason, cause }: HttpError, answered: boolean): string {
  if (kind === "timeout" || kind === "protocol") return reason;
  if (answered) return "the connection was lost before the answer was complete";
  const why = reasonOf(cause);
  if ("blocked" in why) return blocked(why.blocked);
  return why.code === "" ? "unreachable" : `unreachable (${why.code})`;
}

function blocked(why: string): string {
  return `blocked by the SSRF guard: ${why}`;
}

function unsent(error: string): PostOutcome {
  return { status: undefined, body: "", error };
}
