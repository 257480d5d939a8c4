/**
 * Clients against a store through some months on a virtual clock: calls of every length, end and cost, over shared
 * windows, budgets and conversations. After every event the books are checked. A failure names its seed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isPromise, type OpenSession } from "../../src/plugin/index.ts";
import { memoryStore } from "../../src/state/memory.ts";
import type { Reservation, StateStore } from "../../src/state/store.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "../state/claims.ts";
import { countingRandom } from "../state/counting-random.ts";
import { fullestSpan } from "../state/naive-store.ts";

interface Endpoint {
  readonly key: string;
  /** Calls in 60 s. */
  readonly minute: number;
  /** Calls in 3,600 s. */
  readonly hour: number;
  readonly capNanoUsd: number | undefined;
}

const SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);
const EVENTS = 400;
const ENDPOINTS: readonly [Endpoint, Endpoint] = [
  { key: "a", minute: 3, hour: 40, capNanoUsd: 900 },
  { key: "b", minute: 10, hour: 25, capNanoUsd: undefined },
];
const TOKEN = { key: "token", capNanoUsd: 2000 };

/** What ought to stand against one sum of one month. */
interface Account {
  settledNanoUsd: number;
  reservedNanoUsd: number;
  /** How far costs were above their estimates, summed: only by so much may the cap be passed. */
  underestimatedNanoUsd: number;
}

class Simulation {
  readonly clock: VirtualClock = virtualClock(Date.UTC(2026, 9, 31, 20));
  readonly store: StateStore;
  readonly #random: () => number;
  readonly #accounts = new Map<string, Account>();
  readonly #admittedMs = new Map<string, number[]>(ENDPOINTS.map(({ key }) => [key, []]));
  /** Turns that each conversation must hold, by id. */
  readonly #turns = new Map<string, number>();
  readonly #tasks: Promise<void>[] = [];

  constructor(seed: number) {
    this.#random = seededFraction(seed);
    this.store = memoryStore({ clock: this.clock, random: countingRandom(), maxSessions: 1000 });
  }

  async run(): Promise<void> {
    for (let event = 0; event < EVENTS; event += 1) {
      // Mostly crowded minutes, now and then a quiet hour or a jump of days over the end of a month.
      const span = this.#pick([0, 50, 5000, 5000, 30_000, HOUR_MS, 30 * HOUR_MS]);
      this.clock.advance(Math.floor(this.#random() * span));
      this.#call();
      if (this.#random() < 0.3) this.#tasks.push(this.#converse());
      this.#checkBooks();
      await settled();
    }
    while (this.clock.pendingTimers() > 0) {
      this.clock.advance(MINUTE_MS);
      await settled();
    }
    await Promise.all(this.#tasks);
    this.#checkBooks();
    this.#checkEnd();
  }

  #call(): void {
    const endpoint = this.#pick(ENDPOINTS);
    const estimateNanoUsd = Math.floor(this.#random() * 60);
    const answer = this.store.admit("call", [
      rate(`${endpoint.key} minute`, endpoint.minute),
      rate(`${endpoint.key} hour`, endpoint.hour, HOUR_MS),
      spend(endpoint.key, estimateNanoUsd, endpoint.capNanoUsd),
      spend(TOKEN.key, estimateNanoUsd, TOKEN.capNanoUsd),
    ]);
    assert.ok(!isPromise(answer));
    if (!answer.admitted) return;
    const { reservation } = answer;
    assert.ok(reservation !== undefined);
    this.#admittedMs.get(endpoint.key)?.push(this.clock.nowMs());
    for (const { key } of reservation.entries) {
      this.#account(key, reservation.month).reservedNanoUsd += estimateNanoUsd;
    }
    this.clock.after(Math.floor(this.#random() * 2 * MINUTE_MS), () =>
      this.#end(reservation, estimateNanoUsd),
    );
  }

  #end(reservation: Reservation, estimateNanoUsd: number): void {
    const accepted = this.#random() < 0.8;
    const costNanoUsd = accepted ? Math.floor(this.#random() * 70) : 0;
    if (accepted) this.store.settle(reservation, costNanoUsd);
    else this.store.release(reservation);
    for (const { key } of reservation.entries) {
      const account = this.#account(key, reservation.month);
      account.reservedNanoUsd -= estimateNanoUsd;
      account.settledNanoUsd += costNanoUsd;
      account.underestimatedNanoUsd += Math.max(0, costNanoUsd - estimateNanoUsd);
    }
    this.#checkBooks();
  }

  async #converse(): Promise<void> {
    const known = [...this.#turns.keys()];
    const id = this.#random() < 0.3 ? undefined : known[Math.floor(this.#random() * known.length)];
    const session = await this.store.sessions.open("chat/owner", id, 400 * 24 * HOUR_MS);
    if (typeof session === "string") {
      assert.equal(session, "busy");
      return;
    }
    assert.equal(
      session.history.length,
      this.#turns.get(session.id) ?? 0,
      "a turn was lost or seen too early",
    );
    await new Promise<void>((resolve) => {
      this.clock.after(Math.floor(this.#random() * MINUTE_MS), resolve);
    });
    if (this.#random() < 0.7) this.#saveTurn(session);
    session.close();
  }

  #saveTurn(session: OpenSession): void {
    session.save([...session.history, { role: "user", content: "turn" }]);
    this.#turns.set(session.id, session.history.length + 1);
  }

  #checkBooks(): void {
    for (const [name, account] of this.#accounts) {
      const [key = "", month = ""] = name.split(" ");
      const { settledNanoUsd, reservedNanoUsd, underestimatedNanoUsd } = account;
      assert.deepEqual(this.store.spending(key, month), { settledNanoUsd, reservedNanoUsd }, name);
      const cap =
        [...ENDPOINTS, TOKEN].find((one) => one.key === key)?.capNanoUsd ?? Number.POSITIVE_INFINITY;
      assert.ok(settledNanoUsd + reservedNanoUsd <= cap + underestimatedNanoUsd, `${name} passed its cap`);
    }
  }

  #checkEnd(): void {
    for (const [name, account] of this.#accounts) assert.equal(account.reservedNanoUsd, 0, name);
    for (const { key, minute, hour } of ENDPOINTS) {
      const times = this.#admittedMs.get(key) ?? [];
      assert.ok(times.length > 0);
      assert.ok(fullestSpan(times, MINUTE_MS) <= minute, `${key} passed its limit a minute`);
      assert.ok(fullestSpan(times, HOUR_MS) <= hour, `${key} passed its limit an hour`);
    }
  }

  #account(key: string, month: string): Account {
    const name = `${key} ${month}`;
    const known = this.#accounts.get(name);
    if (known !== undefined) return known;
    const made = { settledNanoUsd: 0, reservedNanoUsd: 0, underestimatedNanoUsd: 0 };
    this.#accounts.set(name, made);
    return made;
  }

  #pick<T>(from: readonly [T, ...T[]]): T {
    return from[Math.floor(this.#random() * from.length)] ?? from[0];
  }
}

/** Lets everything that a timer has resolved run to its next wait. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The mulberry32 generator: the same numbers for the same seed. */
function seededFraction(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

for (const seed of SEEDS) {
  test(`the books are right after every event, whatever comes between (seed ${seed})`, () =>
    new Simulation(seed).run());
}
