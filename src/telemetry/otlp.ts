/**
 * Exports spans by OTLP over HTTP, as JSON: in batches, from a bounded queue, one request at a time, never in the way of
 * a call. What cannot be kept or sent is dropped and counted. Our own, since OpenTelemetry's SDK costs more of each call
 * than the gateway does.
 */
import { withoutTrailingSlashes } from "../base/trailing-slashes.ts";
import { VERSION } from "../base/version.ts";
import type { Logger, Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { Attributes, exportJson } from "./otlp-json.ts";
import { NAMES } from "./traces-spans.ts";

/** Spans that may wait, and characters of them; further ones are dropped. */
export const QUEUE_MAX = 2048;
const QUEUE_CHARACTERS_MAX = 16 * 1024 * 1024;
export const BATCH_MAX = 512;
/** After the first span of a batch that does not fill; also the pause after a failure. */
export const EXPORT_MS = 5000;
const EXPORT_TIMEOUT_MS = 10_000;
const LIMITS = { timeoutMs: EXPORT_TIMEOUT_MS, maxBytes: 65_536 };
/** Where a collector takes traces, under the endpoint (OTLP/HTTP). */
const TRACES_PATH = "/v1/traces";
/** Statuses after which OTLP has the same batch sent again. */
const AGAIN = [429, 502, 503, 504];

/** Sends one POST and follows no redirect. Never rejects. Handed in by the gateway, since sockets are not this layer's. */
export type PostSpans = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  limits: { readonly timeoutMs: number; readonly maxBytes: number },
) => Promise<{
  /** undefined: there was no answer. */
  readonly status: number | undefined;
  readonly body: string;
  /** In short, without secrets. */
  readonly error: string | undefined;
}>;

export interface OtlpOptions {
  /** With or without `/v1/traces` at its end. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Which of several gateways it is. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly post: PostSpans;
  count(outcome: "exported" | "dropped", spans: number): void;
}

export class OtlpExporter {
  readonly #options: OtlpOptions;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #resource: Attributes;
  #queue: string[] = [];
  #characters = 0;
  #sending: Promise<boolean> | undefined;
  #timer: Timer | undefined;
  #failing = false;
  /** No span is taken any more; when it is over, none is kept either. */
  #closed = false;
  #over = false;

  constructor(options: OtlpOptions) {
    this.#options = options;
    this.#url = tracesUrl(options.endpoint);
    this.#headers = { ...options.headers, "Content-Type": "application/json" };
    this.#resource = new Attributes()
      .text(NAMES.serviceName, "sluice")
      .text(NAMES.serviceVersion, VERSION)
      .text(NAMES.serviceInstance, options.instance);
  }

  /** Spans that wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** As spanJson writes it. */
  add(span: string): void {
    const isFull = this.#queue.length >= QUEUE_MAX || this.#characters + span.length > QUEUE_CHARACTERS_MAX;
    if (isFull || this.#closed) return this.#options.count("dropped", 1);
    this.#queue.push(span);
    this.#characters += span.length;
    if (this.#queue.length >= BATCH_MAX && !this.#failing) void this.#send();
    else this.#arm();
  }

  /** Sends what waits, as far as it can within `timeoutMs`; the rest is dropped. */
  async close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    const { clock, count } = this.#options;
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      const timer = clock.after(Math.max(0, timeoutMs), resolve);
      cancel = () => timer.cancel();
    });
    await Promise.race([late, this.#sendAll()]);
    cancel();
    this.#over = true;
    const left = this.#queue.length;
    this.#queue = [];
    if (left > 0) count("dropped", left);
  }

  async #sendAll(): Promise<void> {
    await this.#sending;
    while (this.#queue.length > 0 && (await this.#send()));
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = this.#options.clock.after(EXPORT_MS, () => {
      this.#timer = undefined;
      void this.#send();
    });
  }

  /** False: it failed, and what waits had better wait on. */
  #send(): Promise<boolean> {
    if (this.#sending !== undefined) return this.#sending;
    if (this.#queue.length === 0) return Promise.resolve(true);
    const batch = this.#queue.splice(0, BATCH_MAX);
    for (const span of batch) this.#characters -= span.length;
    const body = exportJson(this.#resource, VERSION, batch);
    this.#sending = this.#options.post(this.#url, this.#headers, body, LIMITS).then((answer) => {
      this.#sending = undefined;
      const isSent = this.#judge(batch, answer);
      if (isSent && this.#queue.length >= BATCH_MAX) void this.#send();
      else if (this.#queue.length > 0) this.#arm();
      return isSent;
    });
    return this.#sending;
  }

  #judge(batch: readonly string[], { status, body, error }: Awaited<ReturnType<PostSpans>>): boolean {
    const { count } = this.#options;
    const isSent = status !== undefined && status >= 200 && status < 300;
    this.#tell(isSent, status, error);
    if (isSent) {
      const refused = Math.min(batch.length, rejectedSpans(body));
      if (refused > 0) count("dropped", refused);
      if (batch.length > refused) count("exported", batch.length - refused);
    } else if (!this.#over && (status === undefined || AGAIN.includes(status))) this.#putBack(batch);
    else count("dropped", batch.length);
    return isSent;
  }

  /** At the front, as far as there is room: the newest of the batch stay. */
  #putBack(batch: readonly string[]): void {
    let kept = batch.length;
    while (kept > 0 && this.#queue.length + (batch.length - kept) < QUEUE_MAX) {
      const size = batch[kept - 1]?.length ?? 0;
      if (this.#characters + size > QUEUE_CHARACTERS_MAX) break;
      this.#characters += size;
      kept--;
    }
    this.#queue = [...batch.slice(kept), ...this.#queue];
    if (kept > 0) this.#options.count("dropped", kept);
  }

  /** A line when exports begin to fail, and one when they are well again. */
  #tell(isSent: boolean, status: number | undefined, error: string | undefined): void {
    if (isSent === !this.#failing) return;
    this.#failing = !isSent;
    const { log } = this.#options;
    // Only the host of the URL: the rest may contain a key.
    const where = { endpoint: URL.canParse(this.#url) ? new URL(this.#url).origin : "" };
    if (isSent) log.info(where, "traces are exported again");
    else log.warn({ ...where, status, error }, "traces could not be exported");
  }
}

/** An invalid URL (a port out of range) is kept and fails when it is used. */
function tracesUrl(endpoint: string): string {
  if (!URL.canParse(endpoint)) return endpoint;
  const url = new URL(endpoint);
  const path = withoutTrailingSlashes(url.pathname);
  url.pathname = path.endsWith(TRACES_PATH) ? path : path + TRACES_PATH;
  return url.href;
}

/** Spans that a collector did not take of a request that it took. */
function rejectedSpans(body: string): number {
  return Number(/"rejectedSpans"\s*:\s*"?(\d{1,9})/.exec(body)?.[1] ?? 0);
}
