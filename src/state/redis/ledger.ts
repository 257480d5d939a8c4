/**
 * Admissions, reservations and sums in Redis. All requests of one event-loop iteration are sent as one script
 * call, and the ends of calls go with it: no call waits for more than its own admission. It decides nothing itself.
 */

import { isNanoUsd, settleableNanoUsd } from "../../base/money.ts";
import type { Logger } from "../../plugin/host.ts";
import type { Clock } from "../../plugin/index.ts";
import type {
  Admission,
  Rename,
  RenameEdit,
  Reservation,
  Spending,
  SpendSum,
  StoreClaim,
} from "../../plugin/store.ts";
import { LEASE_MS } from "../../plugin/store.ts";
import { type Ask, askOf, HeldReservation } from "./ask.ts";
import type { Continuity } from "./continuity.ts";
import { ENDS_BYTES_MAX, LostCosts, PendingEnds } from "./ends.ts";
import { STALE } from "./guard-script.ts";
import { type LedgerMetrics, showQueues } from "./ledger-metrics.ts";
import { LEDGER } from "./ledger-script.ts";
import type { RedisLink } from "./link.ts";
import { PendingRenames, renamesOf } from "./renames.ts";
import { asked } from "./script.ts";
import type { End, SpillFiles } from "./spill-files.ts";
import { spendingOf, sumsOf } from "./sums.ts";

/** Admissions under way; the next is as one of a lost server. */
const ADMITS_MAX = 10_000;
/** Of one script call, so that none holds the server up for long. */
const ADMITS_PER_CALL = 64;
const ENDS_PER_CALL = 256;
const RENEWS_PER_CALL = 512;
const RESTORES_PER_CALL = 128;
/** Expired leases checked by each call, and by the one a process makes when a lease may have expired. */
const LAPSES_PER_CALL = 32;
const LAPSES_PER_SWEEP = 256;
/** After an error of a server that is still there. */
const RETRY_MS = 1000;
/** Times that one admission is sent: each time but the last, data was lost. */
const TRIES_MAX = 3;
/** Begins the verdict of the script on an admission that has rate windows; a refusal begins with an index. */
const ADMITTED = -1;
/** The script's answer to an admission after an unconfirmed loss of data. */
const DENIED = -1;
/** Between two log lines about calls beyond ADMITS_MAX. */
const SHED_LOG_MS = 10_000;

export interface LedgerOptions {
  readonly link: RedisLink;
  readonly continuity: Continuity;
  readonly prefix: string;
  /** Unique to this process: begins the ids of reservations. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onUnavailable: "deny" | "allow";
  readonly onDataLoss: "deny" | "allow";
  readonly files: SpillFiles | undefined;
  readonly metrics: LedgerMetrics | undefined;
  /** Memory for ends that Redis has not acknowledged. Default ENDS_BYTES_MAX. */
  readonly endsBytesMax: number | undefined;
}

interface Waiting {
  readonly callId: string;
  readonly ask: Ask;
  readonly resolve: (admission: Admission) => void;
  tries: number;
}

/** What one script call was asked. */
interface Batch {
  readonly epoch: string;
  readonly asks: Waiting[];
  readonly ends: readonly End[];
  readonly restores: readonly HeldReservation[];
  readonly renames: ReturnType<PendingRenames["take"]>;
}

const UNAVAILABLE: Admission = {
  admitted: false,
  refused: "unavailable",
  retryAfterSeconds: 1,
  spentNanoUsd: 0,
};
const UNRESERVED: Admission = { admitted: true, reservation: undefined };

export class RedisLedger {
  readonly #options: LedgerOptions;
  readonly #ends: PendingEnds;
  readonly #lostCosts: LostCosts;
  readonly #shed: (count: number) => void;
  readonly #inFlight = new Set<Promise<void>>();
  /** Reservations that Redis holds, by id. */
  readonly #open = new Map<string, HeldReservation>();
  readonly #renames = new PendingRenames();
  #asks: Waiting[] = [];
  #renews: HeldReservation[] = [];
  #restores: HeldReservation[] = [];
  #admitting = 0;
  #count = 0;
  #scheduled = false;
  #sweepDue = false;
  #retrying = false;
  #isShedding = false;
  #closed = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
    const { instance, clock, log, files, metrics, continuity } = options;
    const usd = metrics?.counter(
      "sluice_state_lost_usd_total",
      "Costs of calls in USD that could not be kept while Redis was away",
      [],
    );
    this.#lostCosts = new LostCosts(clock, log, usd?.series() ?? (() => {}));
    this.#shed =
      metrics
        ?.counter("sluice_state_admissions_shed_total", "Calls beyond the 10,000 that may wait for Redis", [])
        .series() ?? (() => {});
    const bytesMax = options.endsBytesMax ?? ENDS_BYTES_MAX;
    this.#ends = new PendingEnds({ instance, lost: this.#lostCosts, files, bytesMax });
    if (metrics !== undefined) showQueues(metrics, this.#ends, () => this.#admitting);
    continuity.onChange(
      () => this.#send(),
      () => this.#send(),
    );
    continuity.onLoss(() => this.#restoreAll());
    this.#sweepLater();
  }

  admit(callId: string, claims: readonly StoreClaim[]): Admission | Promise<Admission> {
    if (claims.length === 0) return UNRESERVED;
    if (this.#closed) return UNAVAILABLE;
    this.#count += 1;
    const ask = askOf(`${this.#options.instance}.${this.#count.toString(36)}`, claims);
    if (this.#options.continuity.state === "down") return this.#unsure(callId, ask, "unasked");
    if (this.#admitting >= ADMITS_MAX) return this.#overloaded(callId, ask);
    this.#admitting += 1;
    return new Promise((resolve) => {
      this.#asks.push({ callId, ask, resolve, tries: 0 });
      this.#schedule();
    });
  }

  /** Kept until Redis has it; not awaited. Throws on a second end. */
  end(reservation: Reservation, cost: number): void {
    if (!(reservation instanceof HeldReservation))
      throw new TypeError("a reservation of another store was ended");
    reservation.end();
    const { id, month, place, entries } = reservation;
    // Whatever the cost is, the reservation ends.
    const costNanoUsd = isNanoUsd(cost)
      ? cost
      : entries.map(({ estimateNanoUsd }) => settleableNanoUsd(cost, estimateNanoUsd));
    this.#open.delete(id);
    if (place === "unasked") this.#ends.add(month, reservation.sums(), costNanoUsd);
    else {
      const epoch = place === "asked" ? "" : place.epoch;
      this.#ends.push({ id, costNanoUsd, month, sums: reservation.sums(), epoch });
    }
    this.#schedule();
  }

  renew(reservations: readonly Reservation[]): void {
    for (const reservation of reservations) {
      if (reservation instanceof HeldReservation) this.#renews.push(reservation);
    }
    this.#schedule();
  }

  async spending(key: string, month: string): Promise<Spending> {
    await this.#options.continuity.settled();
    this.#send();
    return spendingOf(this.#options, key, month);
  }

  async sums(): Promise<readonly SpendSum[]> {
    await this.#options.continuity.settled();
    this.#send();
    return sumsOf(this.#options);
  }

  /** See `StateStore.rename`: what is not done now is done by the first script call that can be sent. */
  async rename(edit: RenameEdit): Promise<readonly Rename[] | undefined> {
    const { continuity, link, prefix } = this.#options;
    this.#renames.add(edit);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      await continuity.settled();
      this.#send();
      await Promise.all(this.#inFlight);
      if (this.#renames.isEmpty) break;
    }
    if (!this.#renames.isEmpty || continuity.state !== "ready") return undefined;
    const fields = await link.command("HGETALL", `${prefix}:renamed`);
    return Array.isArray(fields) ? renamesOf(fields.map(String)) : undefined;
  }

  /**
   * Sends what is left, as long as the server answers; the rest goes to a file of `state.directory`. From now on nothing
   * is admitted.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const { continuity } = this.#options;
    await continuity.settled();
    while (continuity.state === "ready" && (this.#ends.hasUnsent || this.#inFlight.size > 0)) {
      this.#send();
      const before = this.#ends.size;
      await Promise.all(this.#inFlight);
      if (this.#ends.size >= before) break;
    }
    this.#ends.close();
    this.#lostCosts.flush();
  }

  /** At the end of this event-loop iteration, with all its requests. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#send());
  }

  #send(): void {
    this.#scheduled = false;
    const { state } = this.#options.continuity;
    if (state === "down") {
      for (const waiting of this.#asks.splice(0)) this.#lost(waiting, "unasked");
      this.#renews = [];
    }
    if (state !== "ready") return;
    this.#renews = this.#renews.filter(({ isOpen }) => isOpen);
    this.#restores = this.#restores.filter(({ isOpen }) => isOpen);
    while (this.#hasUnsent()) this.#sendOne();
  }

  #hasUnsent(): boolean {
    const waiting = this.#asks.length + this.#renews.length + this.#restores.length;
    return waiting > 0 || this.#ends.hasUnsent || this.#sweepDue || !this.#renames.isEmpty;
  }

  #sendOne(): void {
    const { continuity, link, onDataLoss } = this.#options;
    const guard = continuity.ask();
    // Nothing is admitted under a name that is about to become another.
    const asks = this.#renames.isLong ? [] : this.#asks.splice(0, ADMITS_PER_CALL);
    const renames = this.#renames.take();
    const ends = this.#ends.take(ENDS_PER_CALL);
    const restores = this.#restores.splice(0, RESTORES_PER_CALL);
    const sweep = this.#sweepDue;
    this.#sweepDue = false;
    const batch = { epoch: guard.epoch, asks, ends, restores, renames };
    const ask = {
      ...guard,
      month: continuity.ownMonth(),
      deny: onDataLoss === "deny",
      renames,
      restores: restores.map((reservation) => reservation.held()),
      renews: this.#renews.splice(0, RENEWS_PER_CALL).map(({ id }) => id),
      ends: ends.map((end) => shortened(end, guard.epoch)),
      lapses: sweep ? LAPSES_PER_SWEEP : LAPSES_PER_CALL,
      sweep,
      admits: asks.map((waiting) => waiting.ask),
    };
    const exchange = link.run(LEDGER, asked(ask)).then((reply) => {
      this.#inFlight.delete(exchange);
      if (!Array.isArray(reply)) this.#unanswered(batch);
      else if (reply[0] === STALE) this.#stale(batch);
      else this.#answered(batch, reply);
    });
    this.#inFlight.add(exchange);
  }

  #answered({ epoch, asks, ends, restores }: Batch, [seq, month, ...verdicts]: readonly unknown[]): void {
    const { continuity } = this.#options;
    if (epoch === continuity.epoch) continuity.saw(Number(seq), String(month));
    this.#ends.answered(ends);
    for (const reservation of restores) if (epoch === continuity.epoch) reservation.moveTo({ epoch });
    if (continuity.denied && verdicts.some((verdict) => verdict !== DENIED)) continuity.refresh();
    for (const [index, waiting] of asks.entries()) this.#decided(waiting, epoch, month, verdicts[index]);
  }

  /** Nothing of it was done: all of it is sent again on the data that is there now. */
  #stale({ epoch, asks, ends, restores, renames }: Batch): void {
    this.#renames.again(renames);
    this.#ends.unanswered(ends);
    this.#restores.push(...restores);
    const again: Waiting[] = [];
    for (const waiting of asks) {
      waiting.tries += 1;
      if (waiting.tries < TRIES_MAX) again.push(waiting);
      else this.#lost(waiting, "unasked");
    }
    this.#asks = [...again, ...this.#asks];
    this.#options.continuity.stale(epoch);
    if (this.#options.continuity.state === "ready") this.#schedule();
  }

  #unanswered({ asks, ends, restores, renames }: Batch): void {
    this.#renames.again(renames);
    this.#ends.unanswered(ends);
    this.#restores.push(...restores);
    for (const waiting of asks) this.#lost(waiting, "asked");
    this.#retryLater();
  }

  #decided({ callId, ask, resolve }: Waiting, epoch: string, month: unknown, verdict: unknown): void {
    this.#admitting -= 1;
    if (verdict === DENIED) return resolve(UNAVAILABLE);
    const numbers = Array.isArray(verdict) ? verdict.map(Number) : [ADMITTED];
    const [first, waitMs, spentNanoUsd] = numbers;
    const windows = numbers.length > 1 ? numbers.slice(1) : undefined;
    if (first !== ADMITTED) {
      const retryAfterSeconds = waitMs === 0 ? 0 : Math.max(1, Math.ceil((waitMs ?? 0) / 1000));
      resolve({ admitted: false, refused: first ?? 0, retryAfterSeconds, spentNanoUsd: spentNanoUsd ?? 0 });
    } else if (ask[3].length === 0)
      resolve(windows === undefined ? UNRESERVED : { admitted: true, reservation: undefined, windows });
    else {
      const isLost = epoch !== this.#options.continuity.epoch;
      const reservation = new HeldReservation(callId, ask, String(month), isLost ? "asked" : { epoch });
      this.#open.set(reservation.id, reservation);
      if (isLost) this.#restores.push(reservation);
      resolve({ admitted: true, reservation, ...(windows !== undefined && { windows }) });
    }
  }

  /** `asked`: what Redis may have reserved for it must not wait for its lease. */
  #lost({ callId, ask, resolve }: Waiting, place: "asked" | "unasked"): void {
    this.#admitting -= 1;
    if (this.#options.onUnavailable === "deny" && place === "asked" && ask[3].length > 0) {
      const month = this.#options.continuity.month;
      this.#ends.push({ id: ask[0], costNanoUsd: 0, month, sums: [], epoch: "" });
    }
    resolve(this.#unsure(callId, ask, place));
  }

  #overloaded(callId: string, ask: Ask): Admission {
    this.#shed(1);
    if (!this.#isShedding) {
      this.#isShedding = true;
      const effect = this.#options.onUnavailable === "deny" ? "refused" : "admitted without limits";
      this.#options.log.error({ waiting: ADMITS_MAX }, `redis is too slow: calls are ${effect} meanwhile`);
      this.#options.clock.after(SHED_LOG_MS, () => (this.#isShedding = false));
    }
    return this.#unsure(callId, ask, "unasked");
  }

  #unsure(callId: string, ask: Ask, place: "asked" | "unasked"): Admission {
    if (this.#options.onUnavailable === "deny") return UNAVAILABLE;
    if (ask[3].length === 0) return UNRESERVED;
    const { month } = this.#options.continuity;
    return { admitted: true, reservation: new HeldReservation(callId, ask, month, place) };
  }

  /** Data was lost: whether Redis still holds what it held for open calls is not known. */
  #restoreAll(): void {
    this.#renames.restore();
    const waiting = new Set(this.#restores);
    for (const reservation of this.#open.values()) {
      reservation.moveTo("asked");
      if (!waiting.has(reservation)) this.#restores.push(reservation);
    }
  }

  /** The server is there and answers with errors (no memory, say): what is kept is tried again, not at once. */
  #retryLater(): void {
    const { state } = this.#options.continuity;
    if (this.#retrying || this.#closed || state !== "ready" || !this.#hasUnsent()) return;
    this.#retrying = true;
    this.#options.clock.after(RETRY_MS, () => {
      this.#retrying = false;
      this.#send();
    });
  }

  #sweepLater(): void {
    this.#options.clock.after(LEASE_MS / 2, () => {
      if (this.#closed) return;
      void this.#sweep().then(() => this.#sweepLater());
    });
  }

  /** Answers when Redis does, and asks after the timers that are due: a virtual clock may run many at once. */
  async #sweep(): Promise<void> {
    await Promise.resolve();
    this.#sweepDue = this.#options.continuity.state === "ready";
    this.#send();
    await Promise.all(this.#inFlight);
  }
}

/** Redis holds the reservation in this very epoch: its own record says which sums it is against. */
function shortened({ id, costNanoUsd, month, sums, epoch }: End, current: string): readonly unknown[] {
  return epoch === current ? [id, costNanoUsd] : [id, costNanoUsd, month, sums];
}
