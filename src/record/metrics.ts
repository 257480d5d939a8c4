/**
 * The numbers behind `/metrics`, in Prometheus' text format. Counting is a few plain additions, since it happens on every
 * call; prom-client turns the numbers into text when somebody asks. Label values come from the config, so they are bounded.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Metric, Registry } from "prom-client";
import type { MetricFamily, Metrics } from "../plugin/index.ts";
import { CounterFamily, HistogramFamily } from "./metric-family.ts";

export interface GatewayMetrics extends Metrics {
  /** A number read when it is asked for. */
  gauge(name: string, help: string, read: () => number): void;
  /** The text of `/metrics`. */
  text(): Promise<string>;
  readonly contentType: string;
  /** A reload was tried. `at`: Unix milliseconds. */
  reloaded(outcome: ReloadMark): void;
  close(): void;
}

export interface ReloadMark {
  readonly ok: boolean;
  readonly at: number;
  readonly hash: string;
  readonly generation: number;
}

const LOOP_RESOLUTION_MS = 50;

export function createMetrics(): GatewayMetrics {
  const registry = new Registry();
  const families = new Map<string, MetricFamily>();
  const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  loop.enable();

  /** The family of that name, shared by all who ask for it. */
  function family<F extends MetricFamily>(name: string, make: () => F): MetricFamily {
    const known = families.get(name);
    if (known !== undefined) return known;
    const made = make();
    families.set(name, made);
    // The registry asks a metric for its name, help, type and values, which is what a family has.
    registry.registerMetric(made as unknown as Metric);
    return made;
  }

  const configInUse = new Gauge({
    name: "sluice_config_info",
    help: "The configuration in use",
    labelNames: ["hash", "generation"],
    registers: [registry],
  });
  const successful = new Gauge({
    name: "sluice_config_last_reload_successful",
    help: "1 when the last reload was applied, 0 when it was refused",
    registers: [registry],
  });
  const appliedAt = new Gauge({
    name: "sluice_config_last_reload_success_timestamp_seconds",
    help: "When a configuration was last applied",
    registers: [registry],
  });

  const metrics: GatewayMetrics = {
    counter: (name, help, labels) => family(name, () => new CounterFamily(name, help, labels)),
    histogram: (name, help, labels, buckets) =>
      family(name, () => new HistogramFamily(name, help, labels, buckets)),
    gauge(name, help, read) {
      const collect = (): void => gauge.set(read());
      const gauge = new Gauge({ name, help, registers: [registry], collect });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
    reloaded({ ok, at, hash, generation }) {
      successful.set(ok ? 1 : 0);
      if (!ok) return;
      appliedAt.set(at / 1000);
      configInUse.reset();
      configInUse.set({ hash, generation: String(generation) }, 1);
    },
    close: () => void loop.disable(),
  };
  metrics.gauge("sluice_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  metrics.gauge("sluice_event_loop_delay_p99_seconds", "Event-loop delay since the last scrape", () => {
    const seconds = loop.percentile(99) / 1e9;
    loop.reset();
    return Number.isFinite(seconds) ? seconds : 0;
  });
  return metrics;
}
