/**
 * All rate windows, by key. Checks the rate claims of one call together and records them together; between the two
 * nothing may happen. Memory is bounded by forgetting windows in which nothing counts any more, never ones that do.
 */
import type { StoreClaim } from "../plugin/store.ts";
import { RateWindow } from "./rate-window.ts";
import { RecencyList } from "./recency-list.ts";

/**
 * Windows that count something at one time. The config's endpoints stay far below it; a plugin that claims by user
 * may not. At that number, a call that needs one more is refused until the first of them has run out.
 */
const RATE_WINDOWS_MAX = 65_536;

/** Idle windows forgotten by one call, so that none pays for all after a quiet night. */
const FORGOTTEN_PER_CALL = 8;

/** Why the rate claims of a call are refused. */
export interface RateRefusal {
  /** Index of the claim whose wait is the longest: the one that determines how long. */
  readonly refused: number;
  /** Whole seconds, at least 1, after which every rate claim of the call would be admitted. */
  readonly retryAfterSeconds: number;
}

/** The windows of one length, so that the one used least recently is the first to run out. */
interface WindowGroup {
  readonly windowMs: number;
  readonly byKey: Map<string, RateWindow>;
  readonly byUse: RecencyList<RateWindow>;
}

type RateClaim = StoreClaim & { readonly kind: "rate" };

/** `windowsMax`: see RATE_WINDOWS_MAX, its default. */
export class RateTable {
  readonly #windowsMax: number;
  /** By `windowMs`: a key claimed with two lengths is two windows. */
  readonly #groups = new Map<number, WindowGroup>();
  #size = 0;
  /** For the call at hand, by index of its claims: the window found. Kept to allocate nothing per call. */
  readonly #found: (RateWindow | undefined)[] = [];

  constructor(windowsMax: number = RATE_WINDOWS_MAX) {
    this.#windowsMax = windowsMax;
  }

  /** Windows kept. */
  get size(): number {
    return this.#size;
  }

  /** undefined: `record` may be called, and must be before the next `check`, if the call is admitted. */
  check(claims: readonly StoreClaim[], nowMs: number): RateRefusal | undefined {
    this.#forgetIdle(claims, nowMs);
    if (this.#found.length > claims.length) this.#found.length = claims.length;
    let refused = -1;
    let longestMs = 0;
    let firstNew = -1;
    let added = 0;
    for (let index = 0; index < claims.length; index += 1) {
      this.#found[index] = undefined;
      const claim = claims[index];
      if (claim?.kind !== "rate") continue;
      const window = this.#groups.get(claim.windowMs)?.byKey.get(claim.key);
      this.#found[index] = window;
      if (window === undefined && firstNew < 0) firstNew = index;
      if (window === undefined) added += 1;
      const waitMs = window === undefined ? newWaitMs(claim) : window.waitMs(nowMs, claim.limit);
      if (waitMs <= longestMs) continue;
      refused = index;
      longestMs = waitMs;
    }
    if (added > 0 && this.#size + added > this.#windowsMax) added = this.#countNew(claims);
    const missing = this.#size + added - this.#windowsMax;
    if (added > 0 && missing > 0) {
      const roomMs = Math.max(1, this.#roomAtMs(missing) - nowMs);
      if (roomMs > longestMs) refused = firstNew;
      longestMs = Math.max(longestMs, roomMs);
    }
    if (refused < 0) return undefined;
    return { refused, retryAfterSeconds: Math.max(1, Math.ceil(longestMs / 1000)) };
  }

  /**
   * Counts the call that `check` has just admitted, once in each of its windows. Returns `Admission.windows`.
   */
  record(claims: readonly StoreClaim[], nowMs: number): number[] | undefined {
    let windows: number[] | undefined;
    for (let index = 0; index < claims.length; index += 1) {
      const claim = claims[index];
      if (claim?.kind !== "rate") continue;
      const window = this.#found[index] ?? this.#obtain(claim);
      this.#found[index] = window;
      if (this.#found.indexOf(window) === index) {
        window.add(nowMs, claim.limit);
        this.#groups.get(claim.windowMs)?.byUse.use(window);
      }
      windows ??= [];
      windows.push(Math.max(0, claim.limit - window.calls), window.freesAtMs - nowMs);
    }
    return windows;
  }

  /** Forgets every window. */
  clear(): void {
    this.#groups.clear();
    this.#found.length = 0;
    this.#size = 0;
  }

  /** Every window kept. */
  *windows(): Generator<RateWindow> {
    for (const group of this.#groups.values()) yield* group.byKey.values();
  }

  /** The window of an earlier process, to count its calls in. undefined: there are as many as may be. */
  restore(key: string, windowMs: number): RateWindow | undefined {
    if (this.#size >= this.#windowsMax) return undefined;
    const window = this.#obtain({ key, windowMs });
    this.#groups.get(windowMs)?.byUse.use(window);
    return window;
  }

  /** What is counted under `from` is counted under `to`, with what that counts already. */
  rename(from: string, to: string, windowMs: number): void {
    const group = this.#groups.get(windowMs);
    const window = group?.byKey.get(from);
    if (group === undefined || window === undefined) return;
    group.byKey.delete(from);
    const known = group.byKey.get(to);
    if (known === undefined) {
      window.key = to;
      group.byKey.set(to, window);
      return;
    }
    const both = window.with(known);
    group.byUse.remove(window);
    group.byUse.remove(known);
    group.byUse.add(both);
    group.byKey.set(to, both);
    this.#size -= 1;
  }

  #obtain(claim: Pick<RateClaim, "key" | "windowMs">): RateWindow {
    let group = this.#groups.get(claim.windowMs);
    if (group === undefined) {
      group = { windowMs: claim.windowMs, byKey: new Map(), byUse: new RecencyList() };
      this.#groups.set(claim.windowMs, group);
    }
    const known = group.byKey.get(claim.key);
    if (known !== undefined) return known;
    const window = new RateWindow(claim.key, claim.windowMs);
    group.byKey.set(claim.key, window);
    group.byUse.add(window);
    this.#size += 1;
    return window;
  }

  /** Before any look-up of the call, so that no window it has found can go. */
  #forgetIdle(claims: readonly StoreClaim[], nowMs: number): void {
    if (this.#size + claims.length > this.#windowsMax) {
      for (const group of this.#groups.values()) this.#forget(group, nowMs, Number.POSITIVE_INFINITY);
      return;
    }
    for (const claim of claims) {
      const group = claim.kind === "rate" ? this.#groups.get(claim.windowMs) : undefined;
      if (group !== undefined) this.#forget(group, nowMs, FORGOTTEN_PER_CALL);
    }
  }

  #forget(group: WindowGroup, nowMs: number, most: number): void {
    for (let count = 0; count < most; count += 1) {
      const oldest = group.byUse.oldest;
      if (oldest === undefined || oldest.idleAtMs > nowMs) break;
      group.byUse.remove(oldest);
      group.byKey.delete(oldest.key);
      this.#size -= 1;
    }
    if (group.byKey.size === 0) this.#groups.delete(group.windowMs);
  }

  /** Windows that the call at hand would add, each once however often it is claimed. */
  #countNew(claims: readonly StoreClaim[]): number {
    const added = new Set<string>();
    for (const [index, claim] of claims.entries()) {
      if (claim.kind === "rate" && this.#found[index] === undefined)
        added.add(`${claim.windowMs} ${claim.key}`);
    }
    return added.size;
  }

  /** When `missing` windows that the call at hand does not itself use will have run out. */
  #roomAtMs(missing: number): number {
    const idleAtMs: number[] = [];
    for (const group of this.#groups.values()) {
      let taken = 0;
      for (let window = group.byUse.oldest; window !== undefined && taken < missing; window = window.newer) {
        if (this.#found.includes(window)) continue;
        idleAtMs.push(window.idleAtMs);
        taken += 1;
      }
    }
    idleAtMs.sort((a, b) => a - b);
    return idleAtMs[Math.min(missing, idleAtMs.length) - 1] ?? 0;
  }
}

/** A window that counts nothing yet admits a call, unless its limit admits none at all. */
function newWaitMs(claim: RateClaim): number {
  return claim.limit >= 1 ? 0 : claim.windowMs;
}
