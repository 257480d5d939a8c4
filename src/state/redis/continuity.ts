/**
 * Notices when Redis has lost data: it was emptied, restarted without its last writes, or replaced by a replica that
 * lags behind. Every process remembers the epoch and the number of writes that Redis last told it; scripts refuse to run
 * on other data until CHECK has recorded the loss and this process has put back what it remembers.
 */
import { BudgetMonth } from "../../base/month.ts";
import type { Logger, Timer } from "../../plugin/host.ts";
import type { Clock } from "../../plugin/index.ts";
import { CHECK } from "./guard-script.ts";
import type { RedisLink } from "./link.ts";
import { asked } from "./script.ts";

const POLL_MS = 1000;
/** Steps of the server's clock shorter than that are not logged. */
const LOGGED_STEP_MS = 1000;

export interface ContinuityOptions {
  readonly link: RedisLink;
  /** Unique to this process. */
  readonly instance: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onDataLoss: "deny" | "allow";
  /** undefined: the server's own time. */
  readonly serverTimeMs: (() => number) | undefined;
}

/** What every guarded script is asked with. */
export interface GuardAsk {
  readonly now: number | undefined;
  readonly epoch: string;
  readonly seq: number;
  readonly expect: number | undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  emptied: "redis has lost its data: it was emptied, or restarted without persistence",
  rewound:
    "redis has lost its last writes: it was restored from an older copy, or an older replica took over",
  replaced: "redis holds other data than before: it was restored, or another server took its place",
};

export class Continuity {
  readonly #options: ContinuityOptions;
  readonly #whenReady: (() => void)[] = [];
  readonly #whenSettled: (() => void)[] = [];
  readonly #whenDown: (() => void)[] = [];
  readonly #whenLost: (() => void)[] = [];
  readonly #whenConfirmed: (() => void)[] = [];
  #epoch = "";
  #seq = 0;
  #month: string | undefined;
  readonly #ownMonth = new BudgetMonth();
  #lost = "";
  #offsetMs: number | undefined;
  /** `now` of the scripts, and this process's monotonic clock at the request. */
  #timeMs: number | undefined;
  #readAtMs = 0;
  #state: "ready" | "checking" | "down" = "down";
  #checking = false;
  #again = false;
  #poll: Timer | undefined;
  #closed = false;

  constructor(options: ContinuityOptions) {
    this.#options = options;
    options.link.onChange(
      () => this.#recheck(),
      () => this.#down(),
    );
    this.#pollLater();
  }

  /** `ready`: scripts may be sent. `checking`: they wait for `ready` or `down`. `down`: they cannot be sent. */
  get state(): "ready" | "checking" | "down" {
    return this.#state;
  }

  /** Answers when the state is not `checking`. */
  settled(): Promise<void> {
    if (this.#state !== "checking") return Promise.resolve();
    return new Promise((resolve) => this.#whenSettled.push(resolve));
  }

  /** Data was lost and no operator has confirmed it: calls are refused. */
  get denied(): boolean {
    return this.#options.onDataLoss === "deny" && this.#lost !== "";
  }

  get epoch(): string {
    return this.#epoch;
  }

  /** `YYYY-MM`: the later of Redis's last answer and this process's clock. */
  get month(): string {
    const own = this.ownMonth();
    return this.#month !== undefined && this.#month > own ? this.#month : own;
  }

  /** By this process's clock alone; a step of it counts only when it lasts. */
  ownMonth(): string {
    const { clock } = this.#options;
    this.#ownMonth.turn(clock.nowMs(), clock.monotonicMs());
    return this.#ownMonth.current;
  }

  /** `ready`: scripts may be sent. `down`: they no longer may, the connection broke. */
  onChange(ready: () => void, down: () => void): void {
    this.#whenReady.push(ready);
    this.#whenDown.push(down);
  }

  /** Called when data was lost, before `ready`: what this process remembers has to be sent again. */
  onLoss(run: () => void): void {
    this.#whenLost.push(run);
  }

  /** Called when calls are no longer refused because of a loss. */
  onConfirmed(run: () => void): void {
    this.#whenConfirmed.push(run);
  }

  ask(): GuardAsk {
    const { serverTimeMs, clock } = this.#options;
    const expect =
      this.#timeMs === undefined
        ? undefined
        : Math.floor(this.#timeMs + clock.monotonicMs() - this.#readAtMs);
    return { now: serverTimeMs?.(), epoch: this.#epoch, seq: this.#seq, expect };
  }

  /** What a guarded script has answered. */
  saw(seq: number, month?: string): void {
    if (seq > this.#seq) this.#seq = seq;
    if (month !== undefined) this.#month = month;
  }

  /** A script that was asked with this epoch answered STALE. */
  stale(epoch: string): void {
    if (epoch === this.#epoch) this.#recheck();
  }

  /** Asks before the next poll is due: an answer shows that something has changed. */
  refresh(): void {
    if (this.#options.link.up && !this.#checking) void this.#check();
  }

  close(): void {
    this.#closed = true;
    this.#poll?.cancel();
  }

  /** Nothing else is sent until CHECK is answered. */
  #recheck(): void {
    this.#state = "checking";
    if (this.#checking) this.#again = true;
    else void this.#check();
  }

  async #check(): Promise<void> {
    this.#checking = true;
    const askedAtMs = this.#options.clock.monotonicMs();
    const reply = await this.#asked();
    this.#checking = false;
    if (Array.isArray(reply)) this.#checked(reply, askedAtMs);
    else if (this.#state === "checking" && !this.#again) this.#down();
    if (!this.#again) return;
    this.#again = false;
    if (this.#options.link.up) void this.#check();
  }

  #asked(): Promise<unknown> {
    const { link, instance, onDataLoss } = this.#options;
    const about = { instance, told: this.#month, deny: onDataLoss === "deny" };
    return link.run(CHECK, asked({ ...this.ask(), ...about, month: this.ownMonth() }));
  }

  #checked([epoch, seq, lost, serverMs, offset, reason, month]: readonly unknown[], askedAtMs: number): void {
    if (this.#epoch !== String(epoch)) {
      this.#epoch = String(epoch);
      this.#seq = 0;
    }
    this.saw(Number(seq), String(month));
    this.#timeMs = Number(serverMs) + Number(offset);
    this.#readAtMs = askedAtMs;
    this.#noteOffset(Number(offset));
    this.#noteLoss(String(lost), String(reason));
    if (reason !== "") for (const run of this.#whenLost) run();
    if (this.#state === "ready" || this.#again || !this.#options.link.up) return;
    this.#state = "ready";
    for (const run of [...this.#whenReady, ...this.#whenSettled.splice(0)]) run();
  }

  #down(): void {
    this.#state = "down";
    for (const run of [...this.#whenDown, ...this.#whenSettled.splice(0)]) run();
  }

  #noteOffset(offsetMs: number): void {
    const stepMs = offsetMs - (this.#offsetMs ?? offsetMs);
    this.#offsetMs = offsetMs;
    if (Math.abs(stepMs) < LOGGED_STEP_MS) return;
    this.#options.log.warn(
      { step_seconds: -stepMs / 1000 },
      "the clock of the redis server was set: rate windows and leases continue as if it was not",
    );
  }

  #noteLoss(lost: string, reason: string): void {
    const { log, onDataLoss } = this.#options;
    const wasDenied = this.denied;
    this.#lost = lost;
    if (reason !== "") {
      const effect =
        onDataLoss === "allow"
          ? "limits and budgets begin anew (state.on_data_loss: allow)"
          : "calls are refused until `sluice state confirm` (state.on_data_loss: deny)";
      const known = "overrides and open reservations that this process knows are put back";
      log.error({ reason }, `${REASONS[reason] ?? REASONS["replaced"]}; ${known}; ${effect}`);
      return;
    }
    if (this.denied && !wasDenied)
      log.error({}, "redis has lost data: calls are refused until `sluice state confirm`");
    if (wasDenied && !this.denied) {
      log.warn({}, "the loss of data in redis was confirmed: calls are admitted again");
      for (const run of this.#whenConfirmed) run();
    }
  }

  /** The next poll follows the answer, and asks after the timers that are due: a virtual clock may run many at once. */
  #pollLater(): void {
    this.#poll = this.#options.clock.after(POLL_MS, () => void this.#pollOnce());
  }

  async #pollOnce(): Promise<void> {
    await Promise.resolve();
    if (this.#options.link.up && !this.#checking) await this.#check();
    if (!this.#closed) this.#pollLater();
  }
}
