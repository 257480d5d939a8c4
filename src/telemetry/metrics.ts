/**
 * The numbers behind `/metrics`, in Prometheus' text format. Counting is a few plain additions, since it happens on every
 * call; prom-client renders them at each scrape. Label values come from the config, so they are bounded.
 */
import type { Metric } from "prom-client";
import { monthOf } from "../base/month.ts";
import type { MetricFamily, Metrics } from "../plugin/host.ts";
import type { MaybePromise } from "../plugin/index.ts";
import { andThen, type Clock, type StateStore } from "../plugin/index.ts";
import type { SpendSum } from "../plugin/store.ts";
import { LoopDelay } from "./loop-delay.ts";
import {
  counterFamily,
  GaugeFamily,
  HistogramFamily,
  type Readable,
  ReadGauge,
  type Sample,
  UsdCounterFamily,
  type VisitSeries,
} from "./metric-family.ts";

export interface GatewayMetrics extends Metrics {
  /** With labels as in the plugin API; with a function, a number read at each scrape. */
  gauge(name: string, help: string, labels: readonly string[]): MetricFamily;
  gauge(name: string, help: string, read: () => number): void;
  /** Numbers with labels, read at each scrape. */
  gauges(name: string, help: string, labels: readonly string[], read: () => MaybePromise<Readings>): void;
  /** Calls `visit` with each series of a counter, histogram or labeled gauge; not at all when there is none of that name. */
  each(name: string, visit: VisitSeries): void;
  /** The text of `/metrics`. */
  text(): Promise<string>;
  readonly contentType: string;
  /** A reload was tried. `at`: Unix milliseconds. */
  reloaded(outcome: ReloadMark): void;
  close(): void;
}

/** Each a value and, in the order of the labels, what it is of. */
export type Readings = readonly (readonly [value: number, ...labelValues: readonly string[]])[];

export interface ReloadMark {
  readonly ok: boolean;
  readonly at: number;
  readonly hash: string;
  /** Of git; "": not known. */
  readonly revision: string;
  readonly generation: number;
}

/** Prometheus' text format, in the version that prom-client writes by default. */
const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

type AnyFamily = MetricFamily & Readable & { each(visit: VisitSeries): void };

export function createMetrics(): GatewayMetrics {
  const families = new Map<string, AnyFamily>();
  const readable: Readable[] = [];
  const loop = new LoopDelay();
  let inUse: Readings = [];
  let lastReload = 0;
  let appliedAtSeconds = 0;

  /** The family of that name, shared by all who ask for it. */
  function family(name: string, make: () => AnyFamily): MetricFamily {
    const known = families.get(name);
    if (known !== undefined) return known;
    const made = make();
    families.set(name, made);
    readable.push(made);
    return made;
  }

  function gauge(name: string, help: string, labels: readonly string[]): MetricFamily;
  function gauge(name: string, help: string, read: () => number): void;
  function gauge(
    name: string,
    help: string,
    how: readonly string[] | (() => number),
  ): MetricFamily | undefined {
    if (typeof how !== "function") return family(name, () => new GaugeFamily(name, help, how));
    readable.push(new ReadGauge(name, help, () => [{ labels: {}, value: how() }]));
    return undefined;
  }

  const metrics: GatewayMetrics = {
    counter: (name, help, labels) => family(name, () => counterFamily(name, help, labels)),
    histogram: (name, help, labels, buckets) =>
      family(name, () => new HistogramFamily(name, help, labels, buckets)),
    gauge,
    gauges(name, help, labels, read) {
      readable.push(new ReadGauge(name, help, async () => samples(labels, await read())));
    },
    each: (name, visit) => families.get(name)?.each(visit),
    text: () => written(readable),
    contentType: CONTENT_TYPE,
    reloaded({ ok, at, hash, revision, generation }) {
      lastReload = ok ? 1 : 0;
      if (!ok) return;
      appliedAtSeconds = at / 1000;
      inUse = [[1, hash, String(generation), revision]];
    },
    close: () => loop.close(),
  };
  metrics.gauges(
    "sluice_config_info",
    "The configuration in use",
    ["hash", "generation", "revision"],
    () => inUse,
  );
  gauge(
    "sluice_config_last_reload_successful",
    "1 when the last reload was applied, 0 when it was refused",
    () => lastReload,
  );
  gauge(
    "sluice_config_last_reload_success_timestamp_seconds",
    "When a configuration was last applied",
    () => appliedAtSeconds,
  );
  registerProcessGauges(metrics, loop);
  return metrics;
}

function registerProcessGauges(metrics: Pick<GatewayMetrics, "gauge">, loop: LoopDelay): void {
  metrics.gauge("sluice_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  metrics.gauge(
    "sluice_event_loop_delay_p99_seconds",
    "Event-loop delay since the last scrape",
    () => loop.takeP99Ms() / 1000,
  );
}

function samples(labels: readonly string[], readings: Readings): readonly Sample[] {
  return readings.map(([value, ...values]) => ({
    labels: Object.fromEntries(labels.map((label, i) => [label, values[i] ?? ""])),
    value,
  }));
}

/** Loads prom-client at the first scrape, since it would take 40 ms of every start. */
async function written(families: readonly Readable[]): Promise<string> {
  const { Registry } = await import("prom-client");
  const registry = new Registry();
  let money = "";
  for (const one of families) {
    if (one instanceof UsdCounterFamily) {
      money += `\n${one.text()}`;
      continue;
    }
    // A registry asks a metric for its name, help, type and values, which is what a family has.
    registry.registerMetric(one as unknown as Metric);
  }
  return (await registry.metrics()) + money;
}

/** Sums shown in one scrape. */
const SUMS_MAX = 10_000;
/** As plugins/budget/index.ts names sums: whose, the project, and the endpoint's slug or the token's id. */
const SPEND_KEY = /^spend:(token:)?([^/]+)\/(.+)$/;

/** Once for the life of the store. */
export function registerStoreGauges(
  metrics: GatewayMetrics,
  store: Pick<StateStore, "driver" | "health" | "sums">,
  clock: Clock,
): void {
  metrics.gauges("sluice_state_healthy", "1 while the state store answers", ["driver"], () =>
    andThen(store.health(), ({ ok }): Readings => [[ok ? 1 : 0, store.driver]]),
  );
  metrics.gauges(
    "sluice_budget_usd",
    "Money of this month: settled, or reserved for open calls",
    ["of", "project", "name", "sum"],
    () => andThen(store.sums(), (sums) => readingsOf(sums, monthOf(clock.nowMs()))),
  );
}

function readingsOf(sums: readonly SpendSum[], now: string): Readings {
  return sums
    .filter(({ month }) => month === now)
    .slice(0, SUMS_MAX)
    .flatMap(({ key, settledNanoUsd, reservedNanoUsd }): Readings => {
      const [, token, project = "", name = ""] = SPEND_KEY.exec(key) ?? [];
      if (name === "") return [];
      const whose = [token === undefined ? "endpoint" : "token", project, name] as const;
      return [
        [settledNanoUsd / 1e9, ...whose, "settled"],
        [reservedNanoUsd / 1e9, ...whose, "reserved"],
      ];
    });
}

/** The counts of one host. */
export interface ConnectionCounts {
  readonly host: string;
  readonly inUse: number;
  readonly idle: number;
  readonly exhausted: number;
}

export function registerConnectionMetrics(
  metrics: Pick<GatewayMetrics, "gauges">,
  source: { connections(): readonly ConnectionCounts[] },
): void {
  metrics.gauges(
    "sluice_provider_connections",
    "Connections to the hosts of providers, see providers.*.max_connections",
    ["host", "state"],
    () =>
      source.connections().flatMap(({ host, inUse, idle }): [number, string, string][] => [
        [inUse, host, "in_use"],
        [idle, host, "idle"],
      ]),
  );
  metrics.gauges(
    "sluice_provider_connections_exhausted",
    "Attempts refused since the start because all connections to the host were in use",
    ["host"],
    () => source.connections().map(({ host, exhausted }): [number, string] => [exhausted, host]),
  );
}
