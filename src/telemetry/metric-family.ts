/** Counters, histograms and gauges as plain numbers, in the shape that a Prometheus registry reads when it is scraped. */
import { isNanoUsd, NANO_PER_USD, NanoUsdSum } from "../base/money.ts";
import type { MetricFamily } from "../plugin/host.ts";
import type { MaybePromise } from "../plugin/index.ts";

/** Of one family. Labels are configured names; what is beyond is added up under OTHER, so that no mistake eats memory. */
export const SERIES_MAX = 100_000;
const OTHER = "other";

export interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface Samples {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "histogram" | "gauge";
  readonly values: readonly Sample[];
  readonly aggregator: "sum";
}

/** What a registry asks a metric for. */
export interface Readable {
  readonly name: string;
  readonly help: string;
  readonly type: Samples["type"];
  get(): Promise<Samples>;
}

/** A number, or several with labels, read at each scrape. */
export class ReadGauge implements Readable {
  readonly type = "gauge";
  readonly name: string;
  readonly help: string;
  readonly #read: () => MaybePromise<readonly Sample[]>;

  constructor(name: string, help: string, read: () => MaybePromise<readonly Sample[]>) {
    this.name = name;
    this.help = help;
    this.#read = read;
  }

  async get(): Promise<Samples> {
    const { name, help, type } = this;
    return { name, help, type, values: await this.#read(), aggregator: "sum" };
  }
}

type Add = (value: number) => void;

/** `value`: of a histogram, how often something was observed. */
export type VisitSeries = (labels: Readonly<Record<string, string>>, value: number) => void;

/** Series by the values of their labels, one level a label: finding one makes no key of them all. */
interface Branch {
  readonly branches: Map<string, Branch>;
  add: Add | undefined;
}

/** What both have: a name, and one set of numbers per combination of label values. */
abstract class Family<State> implements MetricFamily, Readable {
  abstract readonly type: Samples["type"];
  readonly name: string;
  readonly help: string;
  readonly #labels: readonly string[];
  readonly #root: Branch = { branches: new Map(), add: undefined };
  readonly #series: { readonly labels: Record<string, string>; readonly state: State }[] = [];
  #other: Add | undefined;

  constructor(name: string, help: string, labels: readonly string[]) {
    this.name = name;
    this.help = help;
    this.#labels = labels;
  }

  abstract get(): Promise<Samples>;
  protected abstract empty(): State;
  protected abstract adder(state: State): Add;
  protected abstract numberOf(state: State): number;

  series(...values: readonly string[]): Add {
    let branch = this.#root;
    for (const value of values) {
      let next = branch.branches.get(value);
      if (next === undefined) {
        if (this.#series.length >= SERIES_MAX) return (this.#other ??= this.#begin(values.map(() => OTHER)));
        branch.branches.set(value, (next = { branches: new Map(), add: undefined }));
      }
      branch = next;
    }
    return (branch.add ??= this.#begin(values));
  }

  /** Calls `visit` with each series. */
  each(visit: VisitSeries): void {
    for (const { labels, state } of this.#series) visit(labels, this.numberOf(state));
  }

  protected all(): readonly { readonly labels: Record<string, string>; readonly state: State }[] {
    return this.#series;
  }

  #begin(values: readonly string[]): Add {
    const labels = Object.fromEntries(this.#labels.map((label, i) => [label, values[i] ?? ""]));
    const state = this.empty();
    this.#series.push({ labels, state });
    return this.adder(state);
  }
}

interface Single {
  value: number;
}

/** One number a series. */
abstract class SingleFamily extends Family<Single> {
  get(): Promise<Samples> {
    const values = this.all().map(({ labels, state }) => ({ labels, value: state.value }));
    const { name, help, type } = this;
    return Promise.resolve({ name, help, type, values, aggregator: "sum" });
  }

  protected empty(): Single {
    return { value: 0 };
  }

  protected numberOf({ value }: Single): number {
    return value;
  }
}

/** A counter of money is exact to the nano-dollar, however large it grows; other counters are plain numbers. */
export function counterFamily(
  name: string,
  help: string,
  labels: readonly string[],
): CounterFamily | UsdCounterFamily {
  const make = name.endsWith("_usd_total") ? UsdCounterFamily : CounterFamily;
  return new make(name, help, labels);
}

/** Sums whole nano-dollars: each amount in USD is that of one call, whose nano-dollars a number still tells apart. */
export class UsdCounterFamily extends Family<NanoUsdSum> {
  readonly type = "counter";

  get(): Promise<Samples> {
    const values = this.all().map(({ labels, state }) => ({ labels, value: state.value / NANO_PER_USD }));
    const { name, help, type } = this;
    return Promise.resolve({ name, help, type, values, aggregator: "sum" });
  }

  /** In Prometheus' format with all digits, which the registry's numbers would round. */
  text(): string {
    const { name, help, type } = this;
    const lines = this.all().map(({ labels, state }) => {
      const inner = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
      return `${name}${inner.length === 0 ? "" : `{${inner.join(",")}}`} ${state.usdText}`;
    });
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
  }

  protected empty(): NanoUsdSum {
    return new NanoUsdSum();
  }

  protected numberOf({ value }: NanoUsdSum): number {
    return value / NANO_PER_USD;
  }

  protected adder(state: NanoUsdSum): Add {
    return (usd) => {
      const nanoUsd = Math.round(usd * NANO_PER_USD);
      if (isNanoUsd(nanoUsd)) state.add(nanoUsd);
    };
  }
}

export class CounterFamily extends SingleFamily {
  readonly type = "counter";

  protected adder(state: Single): Add {
    return (value) => {
      state.value += value;
    };
  }
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", '"': '\\"' };

function escaped(label: string): string {
  return label.replace(/[\\\n"]/g, (found) => ESCAPES[found] ?? found);
}

/** Shows what it was given last. */
export class GaugeFamily extends SingleFamily {
  readonly type = "gauge";

  protected adder(state: Single): Add {
    return (value) => {
      state.value = value;
    };
  }
}

interface Buckets {
  /** One more than bounds: the last is +Inf. Not cumulative until they are read. */
  readonly counts: number[];
  sum: number;
}

export class HistogramFamily extends Family<Buckets> {
  readonly type = "histogram";
  readonly #bounds: readonly number[];

  /** `bounds`: ascending. */
  constructor(name: string, help: string, labels: readonly string[], bounds: readonly number[]) {
    super(name, help, labels);
    this.#bounds = bounds;
  }

  get(): Promise<Samples> {
    const values: Sample[] = [];
    for (const { labels, state } of this.all()) {
      let count = 0;
      state.counts.forEach((n, i) => {
        count += n;
        const le = this.#bounds[i] ?? "+Inf";
        values.push({ metricName: `${this.name}_bucket`, labels: { ...labels, le }, value: count });
      });
      values.push({ metricName: `${this.name}_sum`, labels, value: state.sum });
      values.push({ metricName: `${this.name}_count`, labels, value: count });
    }
    const { name, help, type } = this;
    return Promise.resolve({ name, help, type, values, aggregator: "sum" });
  }

  protected numberOf({ counts }: Buckets): number {
    return counts.reduce((sum, count) => sum + count, 0);
  }

  protected empty(): Buckets {
    return { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 };
  }

  protected adder(state: Buckets): Add {
    const bounds = this.#bounds;
    return (value) => {
      let i = 0;
      while (i < bounds.length && value > (bounds[i] ?? 0)) i++;
      state.counts[i] = (state.counts[i] ?? 0) + 1;
      state.sum += value;
    };
  }
}
