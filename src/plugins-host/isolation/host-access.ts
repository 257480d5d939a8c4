/**
 * The gateway's side of an isolated guardrail's host: answers its questions, and writes its log lines and measurements,
 * bounded in number, size and names. One for each guardrail, so that the bounds hold over restarts of its process.
 */
import type { Host } from "../../plugin/index.ts";
import {
  type HostQuestion,
  LOG_LINES_MAX,
  type LogLine,
  MEASUREMENTS_MAX,
  type Measurement,
  QUESTIONS_MAX,
} from "./messages.ts";

/** Metric names and series of one guardrail, over its whole life. */
const FAMILIES_MAX = 50;
const SERIES_MAX = 1000;
/**
 * Messages beyond the bounds that a process may send, and how many of them a second are forgiven: a verdict that comes
 * too late is one. A process keeps the bounds by itself unless a plugin writes messages of its own.
 */
const EXCESS_MAX = 1000;
const FORGIVEN_PER_SECOND = 100;
/** Fields that say who logged a line and when. */
const RESERVED_FIELDS = ["plugin", "level", "time", "msg"];

export class HostAccess {
  readonly #host: Host;
  readonly #logLines = new Allowance(LOG_LINES_MAX);
  readonly #measurements = new Allowance(MEASUREMENTS_MAX);
  readonly #families = new Map<string, string>();
  readonly #series = new Map<string, (value: number) => void>();
  #questions = 0;
  #excess = 0;
  #strayedAtMs = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  /** A process has been started. */
  started(): void {
    this.#excess = 0;
  }

  /** A judgement has begun. */
  begun(): void {
    this.#measurements.add(MEASUREMENTS_MAX);
  }

  /** True after a process has sent more than it may, again and again. */
  get isFlooded(): boolean {
    return this.#excess > EXCESS_MAX;
  }

  /** A message that nothing was waiting for. */
  stray(): void {
    const nowMs = performance.now();
    const forgiven = ((nowMs - this.#strayedAtMs) * FORGIVEN_PER_SECOND) / 1000;
    this.#strayedAtMs = nowMs;
    this.#excess = Math.max(0, this.#excess - forgiven) + 1;
  }

  /** `reply` is called once, with undefined if there is no answer; never, if too many questions are open. */
  ask(request: HostQuestion, reply: (value: unknown) => void): void {
    if (this.#questions >= QUESTIONS_MAX) return this.stray();
    this.#questions++;
    const settle = (value: unknown): void => {
      this.#questions--;
      reply(value);
    };
    // In a promise: a question with invalid arguments throws.
    Promise.resolve()
      .then(() => this.#answer(request))
      .then(settle, () => settle(undefined));
  }

  log({ level, fields, message }: LogLine): void {
    if (!this.#logLines.take()) return this.stray();
    this.#host.log[level](fieldsFrom(fields), message);
  }

  measure(measurement: Measurement): void {
    if (!this.#measurements.take()) return this.stray();
    this.#seriesOf(measurement)?.(measurement.value);
  }

  #answer({ what, args }: HostQuestion): unknown {
    const { fetch, store } = this.#host;
    const [first, second, third] = args;
    if (typeof first !== "string") throw new TypeError("the first argument must be a string");
    // The host checks them: it is called with whatever a plugin passes in the gateway's process as well.
    if (what === "fetch") return fetch(first, second as never);
    if (what === "set" || what === "increment") return store[what](first, second as never, third as never);
    return store[what](first);
  }

  /** undefined: the name is taken by a metric of another shape, or there are too many. */
  #seriesOf({
    type,
    name,
    help,
    labels,
    buckets,
    values,
  }: Measurement): ((value: number) => void) | undefined {
    const shape = JSON.stringify([type, labels, buckets]);
    const knownShape = this.#families.get(name);
    if (knownShape === undefined ? this.#families.size >= FAMILIES_MAX : knownShape !== shape)
      return undefined;
    this.#families.set(name, shape);
    const key = JSON.stringify([name, values]);
    const known = this.#series.get(key);
    if (known !== undefined || this.#series.size >= SERIES_MAX) return known;
    const { metrics } = this.#host;
    const family =
      type === "histogram"
        ? metrics.histogram(name, help, labels, buckets)
        : metrics[type](name, help, labels);
    const series = family.series(...values);
    this.#series.set(key, series);
    return series;
  }
}

/** A number per second; at most twice as many at once, since two clocks count the seconds. */
class Allowance {
  readonly #perSecond: number;
  #left: number;
  #countedAtMs = performance.now();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = 2 * perSecond;
  }

  add(count: number): void {
    this.#left = Math.min(2 * this.#perSecond, this.#left + count);
  }

  /** False: none is left. */
  take(): boolean {
    // Real time, whatever clock calls run on: the process sends in real time.
    const nowMs = performance.now();
    this.add(((nowMs - this.#countedAtMs) * this.#perSecond) / 1000);
    this.#countedAtMs = nowMs;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

function fieldsFrom(json: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(json);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return {};
    return Object.fromEntries(Object.entries(parsed).filter(([name]) => !RESERVED_FIELDS.includes(name)));
  } catch {
    return {};
  }
}
