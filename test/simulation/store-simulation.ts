/**
 * One seed's life of a store on a virtual clock: calls of every length, end and cost over shared windows, budgets and
 * conversations of endpoints that are renamed, through some months; on files besides, with disks that fail and heal,
 * kills, and clocks that are set back. After every event the books are checked.
 */
import assert from "node:assert/strict";
import type { StateStore } from "../../src/plugin/index.ts";
import { isPromise, type OpenSession } from "../../src/plugin/index.ts";
import type { Reservation } from "../../src/plugin/store.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "../../src/testing/store-claims.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { countingRandom } from "../state/counting-random.ts";
import { openFileStore } from "../state/file-kit.ts";
import { auditRecordOf, overrideOf } from "../state/life.ts";
import { diskError, type MemoryDisk, memoryDisk } from "../state/memory-files.ts";
import { fullestSpan } from "../state/naive-store.ts";
import { seededFraction } from "../state/seeded.ts";

interface Endpoint {
  readonly key: string;
  /** Calls in 60 s. */
  readonly minute: number;
  /** Calls in 3,600 s. */
  readonly hour: number;
  readonly capNanoUsd: number | undefined;
}

const EVENTS = 60;
const ENDPOINTS: readonly [Endpoint, Endpoint] = [
  { key: "a", minute: 3, hour: 40, capNanoUsd: 900 },
  { key: "b", minute: 10, hour: 25, capNanoUsd: undefined },
];
const TOKEN = { key: "token", capNanoUsd: 2000 };
const SESSION_TTL_MS = 400 * 24 * HOUR_MS;
/** Turns of the event loop in which a disk in memory has done all that it was asked. */
const DISK_TURNS = 3;

/** How often an endpoint is called by a name that it had before, as on a replica that is behind. */
const BEHIND = 0.2;

/** What ought to stand against one sum of one month. */
interface Account {
  settledNanoUsd: number;
  reservedNanoUsd: number;
  /** How far costs were above their estimates, summed: only by so much may the cap be passed. */
  underestimatedNanoUsd: number;
}

export class StoreSimulation {
  readonly #seed: number;
  readonly #fraction: () => number;
  /** undefined: the store is in memory alone. */
  #disk: MemoryDisk | undefined;
  readonly #onError: "degrade" | "refuse";
  #store: StateStore;
  #clock: VirtualClock = virtualClock(Date.UTC(2026, 9, 31, 20));
  /** How far the clock has been set back in all. */
  #setBackMs = 0;
  #latestMonth = "";
  readonly #accounts = new Map<string, Account>();
  readonly #admittedMs = new Map<string, number[]>(ENDPOINTS.map(({ key }) => [key, []]));
  /** Of calls under way. */
  readonly #open = new Set<Reservation>();
  /** Turns that each conversation must hold, by id. */
  readonly #turns = new Map<string, number>();
  readonly #overrides = new Map<string, boolean>();
  /** Every name that an endpoint has had, the present one last. */
  readonly #names = new Map<string, string[]>(ENDPOINTS.map(({ key }) => [key, [key]]));
  #auditRecords = 0;
  #tasks: Promise<void>[] = [];
  #failure: unknown;

  /** An even seed is a store on files. */
  constructor(seed: number) {
    this.#seed = seed;
    this.#fraction = seededFraction(seed);
    this.#onError = this.#chance(0.5) ? "degrade" : "refuse";
    this.#store = memoryStore({ clock: this.#clock, random: countingRandom(), maxSessions: 1000 });
  }

  async run(): Promise<void> {
    if (this.#seed % 2 === 0) await this.#reopen(memoryDisk());
    for (let event = 0; event < EVENTS; event += 1) {
      // Mostly crowded minutes, now and then a quiet hour or a jump of days over the end of a month.
      const span = this.#pick([0, 50, 5000, 5000, 30_000, HOUR_MS, 30 * HOUR_MS]);
      this.#clock.advance(Math.floor(this.#fraction() * span));
      this.#call();
      if (this.#chance(0.3)) this.#tasks.push(this.#converse().catch((error: unknown) => this.#fail(error)));
      if (this.#chance(0.1)) await this.#administer();
      if (this.#chance(0.05)) this.#rename(this.#pick(ENDPOINTS).key);
      if (this.#disk !== undefined) await this.#trouble(this.#disk);
      this.#checkBooks();
      await turns(1);
      if (this.#failure !== undefined) throw this.#failure;
    }
    if (this.#disk !== undefined) this.#disk.weather = () => {};
    while (this.#clock.pendingTimers() > 0) {
      this.#clock.advance(MINUTE_MS);
      await turns(1);
    }
    await Promise.all(this.#tasks);
    if (this.#failure !== undefined) throw this.#failure;
    await this.#checkEnd();
    if (this.#disk === undefined) return;
    assert.ok((await this.#store.health()).ok, "it does not recover");
    await this.#kill(this.#disk);
    await this.#checkEnd();
  }

  #call(): void {
    const endpoint = this.#pick(ENDPOINTS);
    const estimateNanoUsd = Math.floor(this.#fraction() * 60);
    const name = this.#nameOf(endpoint.key);
    const answer = this.#store.admit(`call-${this.#clock.monotonicMs()}`, [
      rate(`${name} minute`, endpoint.minute),
      rate(`${name} hour`, endpoint.hour, HOUR_MS),
      spend(name, estimateNanoUsd, endpoint.capNanoUsd),
      spend(TOKEN.key, estimateNanoUsd, TOKEN.capNanoUsd),
    ]);
    assert.ok(!isPromise(answer));
    if (!answer.admitted) {
      if (answer.refused === "unavailable") this.#checkRefusing();
      return;
    }
    const { reservation } = answer;
    assert.ok(reservation !== undefined);
    assert.ok(reservation.month >= this.#latestMonth, "a month came again");
    this.#latestMonth = reservation.month;
    this.#admittedMs.get(endpoint.key)?.push(this.#clock.nowMs() + this.#setBackMs);
    this.#open.add(reservation);
    for (const { key } of reservation.entries) {
      this.#account(this.#endpointNamed(key), reservation.month).reservedNanoUsd += estimateNanoUsd;
    }
    this.#clock.after(Math.floor(this.#fraction() * 2 * MINUTE_MS), () => this.#end(reservation));
  }

  #end(reservation: Reservation): void {
    const accepted = this.#chance(0.8);
    const costNanoUsd = accepted ? Math.floor(this.#fraction() * 70) : 0;
    if (accepted) this.#store.settle(reservation, costNanoUsd);
    else this.#store.release(reservation);
    this.#book(reservation, () => costNanoUsd);
    this.#checkBooks();
  }

  #book(reservation: Reservation, costOf: (estimateNanoUsd: number) => number): void {
    this.#open.delete(reservation);
    for (const { key, estimateNanoUsd } of reservation.entries) {
      const costNanoUsd = costOf(estimateNanoUsd);
      const account = this.#account(this.#endpointNamed(key), reservation.month);
      account.reservedNanoUsd -= estimateNanoUsd;
      account.settledNanoUsd += costNanoUsd;
      account.underestimatedNanoUsd += Math.max(0, costNanoUsd - estimateNanoUsd);
    }
  }

  async #converse(): Promise<void> {
    const known = [...this.#turns.keys()];
    const id = this.#chance(0.3) ? undefined : known[Math.floor(this.#fraction() * known.length)];
    const clock = this.#clock;
    const session = await this.#store.sessions.open(this.#owner(), id, SESSION_TTL_MS);
    if (typeof session === "string") {
      if (session === "unavailable") this.#checkRefusing();
      else assert.equal(session, "busy");
      return;
    }
    assert.equal(
      session.history.length,
      this.#turns.get(session.id) ?? 0,
      "a turn was lost or seen too early",
    );
    await new Promise<void>((resolve) => {
      clock.after(Math.floor(this.#fraction() * MINUTE_MS), resolve);
    });
    if (this.#chance(0.7)) this.#saveTurn(session);
    session.close();
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
  }

  #saveTurn(session: OpenSession): void {
    session.save([...session.history, { role: "user", content: "turn" }]);
    this.#turns.set(session.id, session.history.length + 1);
  }

  /** The endpoint gets a new name, or one back that it had before. */
  #rename(endpoint: string): void {
    const names = this.#names.get(endpoint) ?? [];
    const from = names.at(-1) ?? endpoint;
    const former = names.slice(0, -1);
    const to =
      former.length > 0 && this.#chance(0.3)
        ? this.#pick([endpoint, ...former])
        : `${endpoint}.${names.length}`;
    const renamed = (suffix: string) => ({ from: `${from}${suffix}`, to: `${to}${suffix}` });
    const standing = this.#store.rename?.({
      begin: [
        { kind: "rate", windowMs: MINUTE_MS, ...renamed(" minute") },
        { kind: "rate", windowMs: HOUR_MS, ...renamed(" hour") },
        { kind: "spend", from, to },
        { kind: "sessions", from: `p/${from}`, to: `p/${to}` },
      ],
      end: [],
    });
    assert.ok(Array.isArray(standing), "a rename was refused");
    this.#names.set(endpoint, [...names.filter((name) => name !== to), to]);
  }

  /** The present name of an endpoint, now and then one that it had before. */
  #nameOf(endpoint: string): string {
    const names = this.#names.get(endpoint) ?? [];
    const before = this.#chance(BEHIND) ? names[Math.floor(this.#fraction() * names.length)] : undefined;
    return before ?? names.at(-1) ?? endpoint;
  }

  #endpointNamed(name: string): string {
    return ENDPOINTS.find(({ key }) => this.#names.get(key)?.includes(name) === true)?.key ?? name;
  }

  /** Conversations are all of endpoint `a`. */
  #owner(): string {
    return `chat/p/${this.#nameOf("a")}/7`;
  }

  async #administer(): Promise<void> {
    const key = `key-${Math.floor(this.#fraction() * 3)}`;
    const value = this.#chance(0.5);
    if (this.#chance(0.7)) {
      if (await this.#store.overrides.set(overrideOf(key, value))) this.#overrides.set(key, value);
    } else if (await this.#store.overrides.delete(key)) this.#overrides.delete(key);
    this.#auditRecords += 1;
    await this.#store.audit.append([auditRecordOf(this.#auditRecords)]);
  }

  /** Now and then the disk fails for a while, at some of what it is asked; a disk that is well may lose its process. */
  async #trouble(disk: MemoryDisk): Promise<void> {
    if (this.#chance(0.05)) {
      const share = this.#pick([0.3, 1]);
      disk.weather = () => {
        if (this.#chance(share)) throw diskError("ENOSPC");
      };
    } else if (this.#chance(0.2)) disk.weather = () => {};
    // What resolves in the first is written by the second.
    await turns(2);
    if (this.#chance(0.05) && (await this.#store.health()).ok) await this.#kill(disk);
  }

  /** What was under way ends as it must after a crash; a clock may have been set back meanwhile. */
  async #kill(disk: MemoryDisk): Promise<void> {
    const backMs = this.#chance(0.3)
      ? Math.floor(this.#fraction() * this.#pick([5000, HOUR_MS, 40 * 24 * HOUR_MS]))
      : 0;
    this.#clock = virtualClock(this.#clock.nowMs() - backMs);
    this.#setBackMs += backMs;
    this.#tasks = [];
    for (const reservation of [...this.#open]) {
      this.#book(reservation, (estimateNanoUsd) => Math.floor(estimateNanoUsd / 4));
    }
    await this.#reopen(disk.kill());
    this.#checkBooks();
  }

  async #reopen(disk: MemoryDisk): Promise<void> {
    this.#disk = disk;
    this.#store = await openFileStore({
      directory: "state",
      files: disk,
      clock: this.#clock,
      random: countingRandom(this.#turns.size * 1000 + 1),
      maxSessions: 1000,
      snapshotIntervalSeconds: 20,
      onError: this.#onError,
    });
    await turns(DISK_TURNS);
  }

  #checkRefusing(): void {
    assert.equal(this.#onError, "refuse");
    const health = this.#store.health();
    assert.ok(!isPromise(health) && !health.ok, "refused in good health");
  }

  #checkBooks(): void {
    for (const [name, account] of this.#accounts) {
      const [key = "", month = ""] = name.split(" ");
      const { settledNanoUsd, reservedNanoUsd, underestimatedNanoUsd } = account;
      const stands = this.#store.spending(this.#nameOf(key), month);
      assert.ok(!isPromise(stands));
      assert.equal(stands.settledNanoUsd, settledNanoUsd, name);
      assert.equal(stands.reservedNanoUsd, reservedNanoUsd, name);
      const cap =
        [...ENDPOINTS, TOKEN].find((one) => one.key === key)?.capNanoUsd ?? Number.POSITIVE_INFINITY;
      assert.ok(settledNanoUsd + reservedNanoUsd <= cap + underestimatedNanoUsd, `${name} passed its cap`);
    }
  }

  async #checkEnd(): Promise<void> {
    this.#checkBooks();
    for (const [name, account] of this.#accounts) assert.equal(account.reservedNanoUsd, 0, name);
    for (const { key, minute, hour } of ENDPOINTS) {
      const times = this.#admittedMs.get(key) ?? [];
      assert.ok(fullestSpan(times, MINUTE_MS) <= minute, `${key} passed its limit a minute`);
      assert.ok(fullestSpan(times, HOUR_MS) <= hour, `${key} passed its limit an hour`);
    }
    for (const [id, length] of this.#turns) {
      const session = await this.#store.sessions.open(this.#owner(), id, SESSION_TTL_MS);
      assert.ok(typeof session === "object", `conversation ${id} is ${String(session)}`);
      assert.equal(session.history.length, length);
      session.close();
    }
    const overrides = await this.#store.overrides.list();
    assert.ok(overrides !== "unavailable");
    assert.deepEqual(new Map(overrides.map(({ key, value }) => [key, value])), this.#overrides);
    assert.equal((await this.#store.audit.query({ limit: 1000 })).length, this.#auditRecords);
  }

  #account(key: string, month: string): Account {
    const name = `${key} ${month}`;
    const known = this.#accounts.get(name);
    if (known !== undefined) return known;
    const made = { settledNanoUsd: 0, reservedNanoUsd: 0, underestimatedNanoUsd: 0 };
    this.#accounts.set(name, made);
    return made;
  }

  #chance(share: number): boolean {
    return this.#fraction() < share;
  }

  #pick<T>(from: readonly [T, ...T[]]): T {
    return from[Math.floor(this.#fraction() * from.length)] ?? from[0];
  }
}

/** Lets everything that a timer has resolved run to its next wait. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
