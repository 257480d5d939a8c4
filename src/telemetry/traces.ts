/**
 * Traces: a span for each call and for each try of a target, exported where `telemetry.otlp` says, and the `traceparent`
 * that providers get. Without an endpoint nothing is recorded, and a client's own trace is passed through unchanged.
 */
import { spanIdOf, traceIdOf, traceParentOf } from "../base/trace-context.ts";
import type { Logger, MetricFamily, Random } from "../plugin/host.ts";
import type { CallEnd, Clock, Exchange } from "../plugin/index.ts";
import type { GatewayMetrics } from "./metrics.ts";
import { OtlpExporter, type PostSpans } from "./otlp.ts";
import { spansOf } from "./traces-spans.ts";

export interface TracesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Pick<GatewayMetrics, "counter" | "gauge">;
  /** The exporter, made when it is first used. The endpoint is the operator's, so it is not SSRF-guarded. */
  readonly out: () => TracesOut;
}

export interface TracesOut {
  readonly post: PostSpans;
  close(): void;
}

/** `telemetry.otlp` of the configuration. */
export interface OtlpSettings {
  readonly endpoint: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: boolean;
}

/** How long an exporter that a reload has replaced may still send. */
const LEAVE_MS = 10_000;

export class Traces {
  readonly #options: TracesOptions;
  readonly #spans: MetricFamily;
  readonly #instance: string;
  #out: TracesOut | undefined;
  #exporter: OtlpExporter | undefined;
  #settings: OtlpSettings = { endpoint: null, headers: {}, content: false };
  #leaving: Promise<unknown> = Promise.resolve();

  constructor(options: TracesOptions) {
    this.#options = options;
    const { metrics, random } = options;
    this.#instance = random.uuid();
    this.#spans = metrics.counter("sluice_trace_spans_total", "Spans that were exported or dropped", [
      "outcome",
    ]);
    metrics.gauge("sluice_trace_queue", "Spans that wait to be exported", () => this.#exporter?.waiting ?? 0);
  }

  /** Takes the configuration in use, at each reload. */
  configure(settings: OtlpSettings): void {
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
    const { endpoint, headers } = settings;
    this.#settings = settings;
    const leaving = this.#exporter;
    if (leaving !== undefined) this.#leaving = Promise.all([this.#leaving, leaving.close(LEAVE_MS)]);
    if (endpoint === null) {
      this.#exporter = undefined;
      return;
    }
    const { clock, log } = this.#options;
    this.#out ??= this.#options.out();
    const { post } = this.#out;
    this.#exporter = new OtlpExporter({
      ...{ endpoint, headers, clock, log, post, instance: this.#instance },
      count: (outcome, spans) => this.#spans.series(outcome)(spans),
    });
  }

  /**
   * For the request that the latest try of `x` is about to send. A client's trace goes on, with our span as the
   * provider's parent; where nothing is recorded (no endpoint, or the client says so) the client's header goes as it
   * came. undefined: none is sent.
   */
  readonly traceparent = (x: Exchange): string | undefined => {
    const client = traceParentOf(x.headers["traceparent"]);
    if (this.#exporter === undefined || client?.sampled === false) return client?.text;
    return `00-${client?.traceId ?? traceIdOf(x.requestId)}-${spanIdOf(x.requestId, x.attempts.length)}-01`;
  };

  /** A finish hook of every call. */
  readonly finish = (x: Exchange, end: CallEnd): void => {
    const exporter = this.#exporter;
    if (exporter === undefined) return;
    const parent = traceParentOf(x.headers["traceparent"]);
    if (parent?.sampled === false) return;
    for (const span of spansOf({ x, end, parent, content: this.#settings.content })) exporter.add(span);
  };

  /** Sends what waits, as far as it can within `timeoutMs`. After the last call. */
  async close(timeoutMs: number): Promise<void> {
    const exporter = this.#exporter;
    this.#exporter = undefined;
    await Promise.all([this.#leaving, exporter?.close(timeoutMs)]);
    this.#out?.close();
  }
}
