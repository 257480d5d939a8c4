/**
 * Admissions, reservations and sums in Redis. All that is asked in one turn of the event loop goes out as one script
 * call, and the ends of calls go with it: no call waits for more than its own admission. It decides nothing itself.
 */
import { monthOf } from "../../base/month.ts";
import type {
  Admission,
  Clock,
  Logger,
  Reservation,
  Spending,
  SpendSum,
  StoreClaim,
} from "../../plugin/index.ts";
import { LEASE_MS } from "../../plugin/index.ts";
import { type Ask, askOf, HeldReservation, requireAmount } from "./ask.ts";
import { LEDGER } from "./ledger-script.ts";
import type { RedisLink } from "./link.ts";
import { Outbox } from "./outbox.ts";
import { asked } from "./script.ts";

/** Ends kept while the server is away. Beyond them a lease runs out, and settles the input estimate. */
export const ENDS_MAX = 10_000;
/** Admissions under way; the next is as one of a lost server. */
const ADMITS_MAX = 10_000;
/** Of one script call, so that none holds the server up for long. */
const ADMITS_PER_CALL = 64;
const ENDS_PER_CALL = 256;
const RENEWS_PER_CALL = 512;
/** Leases that ran out, looked at by each call, and by the one a process makes when a lease may have run out. */
const LAPSES_PER_CALL = 32;
const LAPSES_PER_SWEEP = 256;
/** After an error of a server that is still there. */
const RETRY_MS = 1000;
const PAGE = 1000;

export interface LedgerOptions {
  readonly link: RedisLink;
  readonly prefix: string;
  /** No other process's: begins the ids of reservations. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onUnavailable: "deny" | "allow";
  /** undefined: the server's time. */
  readonly serverTimeMs: (() => number) | undefined;
}

/** With a month and sums: a reservation that may not stand in Redis. */
type End =
  | readonly [id: string, costNanoUsd: number]
  | readonly [id: string, costNanoUsd: number, month: string, sums: readonly string[]];

interface Waiting {
  readonly callId: string;
  readonly ask: Ask;
  readonly resolve: (admission: Admission) => void;
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
  readonly #ends = new Outbox<End>(ENDS_MAX);
  readonly #inFlight = new Set<Promise<void>>();
  #asks: Waiting[] = [];
  #renews: string[] = [];
  #admitting = 0;
  #count = 0;
  #scheduled = false;
  #sweepDue = false;
  #retrying = false;
  #overflowing = false;
  #closed = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
    options.link.onChange(
      () => this.#send(),
      () => {},
    );
    this.#sweepLater();
  }

  admit(callId: string, claims: readonly StoreClaim[]): Admission | Promise<Admission> {
    if (claims.length === 0) return UNRESERVED;
    if (this.#closed) return UNAVAILABLE;
    this.#count += 1;
    const ask = askOf(`${this.#options.instance}.${this.#count.toString(36)}`, claims);
    if (!this.#options.link.up || this.#admitting >= ADMITS_MAX) return this.#unsure(callId, ask);
    this.#admitting += 1;
    return new Promise((resolve) => {
      this.#asks.push({ callId, ask, resolve });
      this.#schedule();
    });
  }

  /** Kept until Redis has it; nobody waits for that. Throws on a second end. */
  end(reservation: Reservation, costNanoUsd: number): void {
    requireAmount(costNanoUsd);
    if (!(reservation instanceof HeldReservation))
      throw new TypeError("a reservation of another store was ended");
    const { id, isSure } = reservation.end();
    this.#keep(isSure ? [id, costNanoUsd] : [id, costNanoUsd, reservation.month, reservation.sums()]);
    this.#schedule();
  }

  renew(reservations: readonly Reservation[]): void {
    for (const reservation of reservations) {
      if (reservation instanceof HeldReservation && reservation.isOpen) this.#renews.push(reservation.id);
    }
    this.#schedule();
  }

  async spending(key: string, month: string): Promise<Spending> {
    this.#send();
    const { link, prefix } = this.#options;
    const [settled, reserved] = await Promise.all([
      link.command("HGET", `${prefix}:settled:${month}`, key),
      link.command("HGET", `${prefix}:reserved:${month}`, key),
    ]);
    return { settledNanoUsd: amountOf(settled), reservedNanoUsd: amountOf(reserved) };
  }

  /** Read in pages: sums that change meanwhile may be of different moments. Empty when the server is lost. */
  async sums(): Promise<readonly SpendSum[]> {
    this.#send();
    const { link, prefix } = this.#options;
    const sums: SpendSum[] = [];
    for (const month of textsOf(await link.command("SMEMBERS", `${prefix}:months`))) {
      const settled = await this.#amounts(`${prefix}:settled:${month}`);
      const reserved = await this.#amounts(`${prefix}:reserved:${month}`);
      for (const key of new Set([...settled.keys(), ...reserved.keys()])) {
        sums.push({
          key,
          month,
          settledNanoUsd: settled.get(key) ?? 0,
          reservedNanoUsd: reserved.get(key) ?? 0,
        });
      }
    }
    return sums;
  }

  /** Sends what is left, as long as the server answers; from now on nothing is admitted. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#options.link.up && (this.#ends.size > 0 || this.#inFlight.size > 0)) {
      this.#send();
      const before = this.#ends.size;
      await Promise.all(this.#inFlight);
      if (this.#ends.size >= before) break;
    }
  }

  async #amounts(key: string): Promise<Map<string, number>> {
    const amounts = new Map<string, number>();
    let cursor = "0";
    do {
      const reply = await this.#options.link.command("HSCAN", key, cursor, "COUNT", PAGE);
      const [next, fields] = Array.isArray(reply) ? reply : [];
      const texts = textsOf(fields);
      for (let at = 0; at + 1 < texts.length; at += 2) amounts.set(texts[at] ?? "", amountOf(texts[at + 1]));
      cursor = typeof next === "string" ? next : "0";
    } while (cursor !== "0");
    return amounts;
  }

  /** At the end of this turn of the loop, when all that will be asked in it is there. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#send());
  }

  #send(): void {
    this.#scheduled = false;
    if (!this.#options.link.up) {
      for (const waiting of this.#asks.splice(0)) this.#lost(waiting);
      this.#renews = [];
      return;
    }
    while (this.#asks.length + this.#ends.unsent + this.#renews.length > 0 || this.#sweepDue) this.#sendOne();
  }

  #sendOne(): void {
    const asks = this.#asks.splice(0, ADMITS_PER_CALL);
    const ends = this.#ends.take(ENDS_PER_CALL);
    const renews = this.#renews.splice(0, RENEWS_PER_CALL);
    const lapses = this.#sweepDue ? LAPSES_PER_SWEEP : LAPSES_PER_CALL;
    this.#sweepDue = false;
    const now = this.#options.serverTimeMs?.();
    const admits = asks.map(({ ask }) => ask);
    const exchange = this.#options.link
      .run(LEDGER, asked({ now, renews, ends, lapses, admits }))
      .then((reply) => {
        this.#inFlight.delete(exchange);
        if (Array.isArray(reply)) {
          this.#ends.answered(ends);
          for (const [index, waiting] of asks.entries()) this.#decided(waiting, reply[0], reply[index + 1]);
          return;
        }
        this.#ends.lost(ends);
        for (const waiting of asks) this.#lost(waiting);
        this.#retryLater();
      });
    this.#inFlight.add(exchange);
  }

  #decided({ callId, ask, resolve }: Waiting, month: unknown, verdict: unknown): void {
    this.#admitting -= 1;
    if (Array.isArray(verdict)) {
      const [refused, waitMs, spentNanoUsd] = verdict.map(Number);
      const retryAfterSeconds = waitMs === 0 ? 0 : Math.max(1, Math.ceil((waitMs ?? 0) / 1000));
      resolve({ admitted: false, refused: refused ?? 0, retryAfterSeconds, spentNanoUsd: spentNanoUsd ?? 0 });
    } else if (ask[3].length === 0) resolve(UNRESERVED);
    else resolve({ admitted: true, reservation: new HeldReservation(callId, ask, String(month), true) });
  }

  /** It was sent, perhaps: what Redis may have reserved for it must not wait for its lease. */
  #lost({ callId, ask, resolve }: Waiting): void {
    this.#admitting -= 1;
    if (this.#options.onUnavailable === "deny" && ask[3].length > 0)
      this.#keep([ask[0], 0, this.#month(), []]);
    resolve(this.#unsure(callId, ask));
  }

  #unsure(callId: string, ask: Ask): Admission {
    if (this.#options.onUnavailable === "deny") return UNAVAILABLE;
    if (ask[3].length === 0) return UNRESERVED;
    return { admitted: true, reservation: new HeldReservation(callId, ask, this.#month(), false) };
  }

  #month(): string {
    return monthOf(this.#options.clock.nowMs());
  }

  #keep(end: End): void {
    const kept = this.#ends.push(end);
    if (!kept && !this.#overflowing) {
      this.#options.log.error(
        { kept: ENDS_MAX },
        "too many calls ended while redis is lost: those beyond cost their input estimate",
      );
    }
    this.#overflowing = !kept;
  }

  /** The server is there and answers with errors (no memory, say): what is kept is tried again, not at once. */
  #retryLater(): void {
    if (this.#retrying || this.#closed || !this.#options.link.up || this.#ends.unsent === 0) return;
    this.#retrying = true;
    this.#options.clock.after(RETRY_MS, () => {
      this.#retrying = false;
      this.#send();
    });
  }

  #sweepLater(): void {
    this.#options.clock.after(LEASE_MS / 2, () => {
      if (this.#closed) return;
      this.#sweepDue = this.#options.link.up;
      this.#send();
      // Not before what was sent is answered: a clock that is turned far ahead sweeps once.
      void Promise.all(this.#inFlight).then(() => this.#sweepLater());
    });
  }
}

function amountOf(reply: unknown): number {
  return typeof reply === "string" ? Number(reply) : 0;
}

function textsOf(reply: unknown): readonly string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
