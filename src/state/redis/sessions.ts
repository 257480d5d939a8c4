/**
 * Conversations in Redis, held by one call at a time over all replicas. A waiting call is notified by a message
 * when it is next, and polls every few seconds in case that message was lost. Locks are leases, renewed while calls run.
 */
import type { Cancellable, Logger, Random } from "../../plugin/host.ts";
import type { Clock, Message, OpenSession } from "../../plugin/index.ts";
import { countCharacters } from "../../plugin/index.ts";
import type { SessionStore } from "../../plugin/store.ts";
import type { LedgerMetrics } from "./ledger-metrics.ts";
import { LOST, type RedisLink } from "./link.ts";
import { asked, type Script } from "./script.ts";
import { BUSY, MISSING, SESSION_LEASE_MS, SESSION_SCRIPTS, turnChannel, WAIT } from "./session-scripts.ts";

/** How often locks are renewed and those who wait ask again. */
const BEAT_MS = SESSION_LEASE_MS / 10;
const HELD_PER_CALL = 256;
/** Ends of calls kept while the server is away; beyond them a lock ends by its lease. */
const UNLEFT_MAX = 10_000;
/** Conversations whose owners are written by one script call, about. */
const SCANNED_PER_CALL = 256;
/** Between two log lines about turns that were not stored. */
const LOG_EVERY_MS = 10_000;

export interface RedisSessionsOptions {
  readonly link: RedisLink;
  readonly prefix: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly maxSessions: number;
  readonly onUnavailable: "deny" | "allow";
  readonly log: Logger;
  readonly metrics: LedgerMetrics | undefined;
  readonly serverTimeMs: (() => number) | undefined;
}

type Opened = OpenSession | "missing" | "busy" | "unavailable";

/** One call's use of one conversation, from its first question to its close. */
interface Use {
  readonly id: string;
  readonly owner: string;
  readonly token: string;
  readonly ttlMs: number;
}

export class RedisSessions implements SessionStore {
  readonly #options: RedisSessionsOptions;
  readonly #held = new Map<string, Use>();
  /** Waiting calls and their callbacks, by token. */
  readonly #waiting = new Map<string, { readonly use: Use; readonly resolve: (opened: Opened) => void }>();
  /** By token: left while the server was away. */
  readonly #unleft = new Map<string, Use>();
  /** Adds to the metric. */
  readonly #unkept: (turns: number) => void;
  #unkeptTurns = 0;
  #isLogging = false;
  #reowning: Promise<void> = Promise.resolve();
  #count = 0;
  #beating = false;
  #closed = false;

  constructor(options: RedisSessionsOptions) {
    this.#options = options;
    const lost = options.metrics?.counter(
      "sluice_state_lost_session_turns_total",
      "Turns of sessions that could not be stored while Redis was away",
      [],
    );
    this.#unkept = lost?.series() ?? (() => {});
    options.link.listen(turnChannel(options.prefix, options.instance), (token) => this.#askAgain(token));
    options.link.onChange(
      () => this.#leaveLate(),
      () => this.#loseWaiting(),
    );
  }

  async open(owner: string, id: string | undefined, ttlMs: number, caller?: Cancellable): Promise<Opened> {
    if (this.#closed) return "busy";
    this.#count += 1;
    const token = `${this.#options.instance}.${this.#count.toString(36)}`;
    if (id === undefined) return this.#make({ id: this.#options.random.uuid(), owner, token, ttlMs });
    const use = { id, owner, token, ttlMs };
    const answer = await this.#claim(use);
    return answer === WAIT ? this.#wait(use, caller) : this.#opened(use, answer);
  }

  async historyCharacters(owner: string, id: string): Promise<number> {
    const characters = await this.#run(SESSION_SCRIPTS.peek, { id, owner });
    return typeof characters === "number" ? characters : 0;
  }

  async ownerOf(id: string): Promise<string | undefined> {
    const owner = await this.#run(SESSION_SCRIPTS.owner, { id });
    return typeof owner === "string" && owner !== "" ? owner : undefined;
  }

  async delete(owner: string, id: string): Promise<boolean> {
    return (await this.#run(SESSION_SCRIPTS.delete, { id, owner })) === 1;
  }

  /**
   * Writes the present owner into every conversation that may have another. Each is read under its present owner anyway
   * as long as its rename stands. Without an answer the rest is done by the next call.
   */
  writeOwners(): Promise<void> {
    this.#reowning = this.#reowning.then(() => this.#writeOwners());
    return this.#reowning;
  }

  async #writeOwners(): Promise<void> {
    const { link, prefix } = this.#options;
    const renaming = await link.command("SMEMBERS", `${prefix}:renaming`);
    if (!Array.isArray(renaming) || renaming.length === 0) return;
    let cursor = "0";
    do {
      const reply = await link.command("ZSCAN", `${prefix}:recent`, cursor, "COUNT", SCANNED_PER_CALL);
      const [next, members] = Array.isArray(reply) ? reply : [];
      if (typeof next !== "string" || !Array.isArray(members)) return;
      const ids = members.filter((_, at) => at % 2 === 0);
      if (ids.length > 0 && (await this.#run(SESSION_SCRIPTS.reown, { ids })) === LOST) return;
      cursor = next;
    } while (cursor !== "0");
    await link.command("SREM", `${prefix}:renaming`, ...renaming.map(String));
  }

  /** From now on nothing is opened, and waiting calls get `busy`. */
  close(): void {
    this.#closed = true;
    for (const token of [...this.#waiting.keys()]) this.#giveUp(token);
    for (const use of this.#held.values()) this.#leave(use);
    this.#held.clear();
  }

  /**
   * With the server lost, `allow` lets a new conversation be held for its one call, though it cannot be kept: the
   * call goes on. One to be resumed cannot be read, and is unavailable whatever the policy.
   */
  async #make(use: Use): Promise<Opened> {
    const { id, owner, token, ttlMs: ttl } = use;
    const made = await this.#run(SESSION_SCRIPTS.make, { id, owner, token, ttl });
    if (made !== LOST) return this.#hold(use, []);
    this.#leave(use);
    return this.#options.onUnavailable === "allow" ? this.#hold(use, []) : "unavailable";
  }

  #claim({ id, owner, token, ttlMs: ttl }: Use): Promise<unknown> {
    return this.#run(SESSION_SCRIPTS.claim, { id, owner, token, ttl });
  }

  #opened(use: Use, answer: unknown): Opened {
    if (typeof answer === "string") return this.#hold(use, historyOf(answer));
    if (answer === MISSING) return "missing";
    if (answer === BUSY) return "busy";
    this.#leave(use);
    return "unavailable";
  }

  #wait(use: Use, caller: Cancellable | undefined): Promise<Opened> {
    return new Promise((resolve) => {
      const { token } = use;
      const leave = (): void => this.#giveUp(token);
      this.#waiting.set(token, {
        use,
        resolve(opened) {
          caller?.signal.removeEventListener("abort", leave);
          resolve(opened);
        },
      });
      if (caller?.signal.aborted) return leave();
      caller?.signal.addEventListener("abort", leave, { once: true });
      this.#beat();
      // It may have been notified before it was registered here.
      void this.#askAgain(token);
    });
  }

  async #askAgain(token: string): Promise<void> {
    const waiting = this.#waiting.get(token);
    if (waiting === undefined) return;
    const answer = await this.#claim(waiting.use);
    if (answer === WAIT || !this.#waiting.delete(token)) return;
    waiting.resolve(this.#opened(waiting.use, answer));
  }

  #giveUp(token: string): void {
    const waiting = this.#waiting.get(token);
    if (waiting === undefined) return;
    this.#waiting.delete(token);
    this.#leave(waiting.use);
    waiting.resolve("busy");
  }

  #loseWaiting(): void {
    for (const [token, { use, resolve }] of [...this.#waiting]) {
      this.#waiting.delete(token);
      this.#leave(use);
      resolve("unavailable");
    }
  }

  #hold(use: Use, history: readonly Message[]): OpenSession {
    this.#held.set(use.token, use);
    this.#beat();
    const { onUnavailable } = this.#options;
    let saved = false;
    let closed = false;
    let isKept = true;
    return {
      id: use.id,
      history,
      save: (next) => {
        if (saved || closed) throw new Error("a conversation was saved twice, or after it was closed");
        saved = true;
        return this.#save(use, next).then((kept) => {
          isKept = kept;
        });
      },
      get isUnsaved() {
        return !isKept && onUnavailable === "deny";
      },
      close: () => {
        if (closed) return;
        closed = true;
        this.#held.delete(use.token);
        this.#leave(use);
      },
    };
  }

  /** False: the server is lost, and the change with it. */
  async #save({ id, token, ttlMs: ttl }: Use, history: readonly Message[]): Promise<boolean> {
    const about = { id, token, ttl, characters: countCharacters(history), max: this.#options.maxSessions };
    if ((await this.#run(SESSION_SCRIPTS.save, about, JSON.stringify(history))) !== LOST) return true;
    this.#unkept(1);
    this.#unkeptTurns += 1;
    this.#logUnkept();
    return false;
  }

  /** The first at once, those after it together. */
  #logUnkept(): void {
    if (this.#unkeptTurns === 0 || this.#isLogging) return;
    const effect =
      this.#options.onUnavailable === "deny"
        ? "their calls are answered 503 (state.on_unavailable: deny)"
        : "their answers went out and the conversations do not know them (state.on_unavailable: allow)";
    this.#options.log.error(
      { turns: this.#unkeptTurns },
      `turns of sessions were not stored: redis is lost; ${effect}`,
    );
    this.#unkeptTurns = 0;
    this.#isLogging = true;
    this.#options.clock.after(LOG_EVERY_MS, () => {
      this.#isLogging = false;
      this.#logUnkept();
    });
  }

  /** Safe to ask twice: a token is used once. */
  #leave(use: Use): void {
    const { id, token } = use;
    void this.#run(SESSION_SCRIPTS.leave, { id, token }).then((answer) => {
      if (answer === LOST && this.#unleft.size < UNLEFT_MAX) this.#unleft.set(token, use);
    });
  }

  #leaveLate(): void {
    const uses = [...this.#unleft.values()];
    this.#unleft.clear();
    for (const use of uses) this.#leave(use);
  }

  /** Set again at once and not when answers are there, so that a clock turned far ahead beats all the way. */
  #beat(): void {
    if (this.#beating) return;
    this.#beating = true;
    this.#options.clock.after(BEAT_MS, () => {
      this.#beating = false;
      if (this.#closed || this.#held.size + this.#waiting.size === 0) return;
      this.#beat();
      const held = [...this.#held.values()].map(({ id, token, ttlMs }) => [id, token, ttlMs]);
      for (let at = 0; at < held.length; at += HELD_PER_CALL) {
        void this.#run(SESSION_SCRIPTS.hold, { held: held.slice(at, at + HELD_PER_CALL) });
      }
      for (const token of this.#waiting.keys()) void this.#askAgain(token);
    });
  }

  #run(script: Script, ask: object, ...texts: readonly string[]): Promise<unknown> {
    const now = this.#options.serverTimeMs?.();
    return this.#options.link.run(script, asked({ ...ask, now }), ...texts);
  }
}

/** Written by `save` alone. */
function historyOf(text: string): readonly Message[] {
  // As `save` was given it: only this store writes under its prefix.
  return JSON.parse(text) as readonly Message[];
}
