/**
 * What the plugins of an offline run are handed: a platform without network, whose clock, store, log and random source
 * are those of the case that is running. Plugins are set up once and meet many cases.
 */
import type { VirtualClock } from "../base/virtual-clock.ts";
import type { HttpAnswer, HttpFailure, Logger, Metrics, Random, StoreSlice } from "../plugin/host.ts";
import type { Clock, StateStore } from "../plugin/index.ts";

/** One line of the operational log. */
export interface LogLine {
  readonly level: "warn" | "error";
  readonly message: string;
  readonly fields: object;
}

/** What a case brings. */
export interface CaseResources {
  readonly clock: VirtualClock;
  readonly store: StateStore;
  readonly log: LogLine[];
  /** What the network was asked for, and was refused: it is closed. */
  readonly closed: string[];
}

/** Lines kept of one case. */
const LOG_LINES_MAX = 100;
/** Refused uses of the network kept of one case. */
const CLOSED_MAX = 100;

/** Between two cases the monotonic clock moves on by a month, so that nothing of a case before is still open. */
const BETWEEN_CASES_MS = 31 * 86_400_000;

const NO_FAMILY = { series: () => () => undefined };

/** Nobody reads the numbers of an offline run. */
export const NO_METRICS: Metrics = {
  counter: () => NO_FAMILY,
  histogram: () => NO_FAMILY,
  gauge: () => NO_FAMILY,
};

export class CasePlatform {
  #case: CaseResources;
  #monotonicBaseMs = 0;
  readonly clock: Clock;
  readonly store: StateStore;
  readonly log: Logger;
  readonly random: SeededRandom = new SeededRandom();
  readonly http: { readonly fetch: (url: string) => Promise<HttpAnswer | HttpFailure> };
  readonly metrics = NO_METRICS;
  readonly requestLog = { enabled: false, write: () => undefined };

  constructor(first: CaseResources) {
    this.#case = first;
    const current = (): CaseResources => this.#case;
    this.clock = {
      nowMs: () => current().clock.nowMs(),
      monotonicMs: () => this.#monotonicBaseMs + current().clock.monotonicMs(),
      after: (delayMs, run) => current().clock.after(delayMs, run),
    };
    this.store = switchedStore(() => current().store);
    this.log = keepingLog(() => current().log);
    this.http = {
      fetch: (url) => {
        const shown = originOf(url);
        this.refused(`a request to ${shown}`);
        return Promise.resolve({ failed: "unreachable", detail: `${shown}: ${NETWORK_CLOSED}` });
      },
    };
  }

  get current(): CaseResources {
    return this.#case;
  }

  /** Everything from now on belongs to this case. */
  use(next: CaseResources): void {
    this.#monotonicBaseMs += this.#case.clock.monotonicMs() + BETWEEN_CASES_MS;
    this.#case = next;
    this.random.reset();
  }

  /** Notes a use of the network that was refused. */
  refused(what: string): void {
    const { closed } = this.#case;
    if (closed.length < CLOSED_MAX && !closed.includes(what)) closed.push(what);
  }
}

export const NETWORK_CLOSED = "the network is closed in an offline run";

/** The rest of a URL may be secret. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "an unknown address";
}

/** UUIDs and fractions that are the same in every run: xorshift32 from a fixed seed. */
class SeededRandom implements Random {
  #state = SEED;

  reset(): void {
    this.#state = SEED;
  }

  uuid(): string {
    let hex = "";
    while (hex.length < 32) hex += this.#next().toString(16).padStart(8, "0");
    const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 3) | 8).toString(16);
    const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
    return [...parts, variant + hex.slice(17, 20), hex.slice(20, 32)].join("-");
  }

  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  #next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state;
  }
}

const SEED = 0x9e3779b9;

function keepingLog(lines: () => LogLine[]): Logger {
  const keep =
    (level: LogLine["level"]) =>
    (fields: object, message: string): void => {
      const kept = lines();
      if (kept.length < LOG_LINES_MAX) kept.push({ level, message, fields });
    };
  return { debug: () => undefined, info: () => undefined, warn: keep("warn"), error: keep("error") };
}

/** A store that is another one in each case. */
function switchedStore(store: () => StateStore): StateStore {
  return {
    driver: "memory",
    admit: (callId, claims) => store().admit(callId, claims),
    renew: (reservations) => store().renew(reservations),
    settle: (reservation, costNanoUsd) => store().settle(reservation, costNanoUsd),
    release: (reservation) => store().release(reservation),
    spending: (key, month) => store().spending(key, month),
    sums: () => store().sums(),
    sessions: {
      open: (...asked) => store().sessions.open(...asked),
      historyCharacters: (owner, id) => store().sessions.historyCharacters(owner, id),
      delete: (owner, id) => store().sessions.delete(owner, id),
      ownerOf: (id) => store().sessions.ownerOf(id),
    },
    overrides: {
      list: () => store().overrides.list(),
      set: (override) => store().overrides.set(override),
      delete: (key) => store().overrides.delete(key),
      watch: (changed) => store().overrides.watch(changed),
    },
    audit: {
      append: (records) => store().audit.append(records),
      query: (filter) => store().audit.query(filter),
    },
    slice: (namespace) => switchedSlice(() => store().slice?.(namespace)),
    health: () => store().health(),
    close: () => undefined,
  };
}

function switchedSlice(slice: () => StoreSlice | undefined): StoreSlice {
  return {
    get: (key) => slice()?.get(key),
    set: (key, value, ttlSeconds) => slice()?.set(key, value, ttlSeconds) ?? false,
    delete: (key) => slice()?.delete(key) ?? false,
    increment: (key, by, ttlSeconds) => slice()?.increment(key, by, ttlSeconds),
  };
}
