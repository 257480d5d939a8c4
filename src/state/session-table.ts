/**
 * Conversations in memory: each held by one call at a time, the next ones waiting in the order they came. Bounded by
 * letting go of the one used least recently; one that a call holds is never let go.
 */
import type {
  Cancellable,
  Clock,
  MaybePromise,
  Message,
  OpenSession,
  Random,
  SessionStore,
} from "../plugin/index.ts";
import { charactersOf, SESSION_WAITERS_MAX } from "../plugin/index.ts";
import type { SavedSession } from "./change.ts";
import { type Linked, RecencyList } from "./recency-list.ts";

/** Conversations looked at for expiry by each call, so that the whole table is gone through without a pause. */
const EXPIRY_CHECKS_PER_CALL = 2;

/** Hears what becomes of conversations that were saved. */
export interface SessionRecorder {
  /** What it answers is what `save` answers. */
  saved(session: SavedSession): MaybePromise<void>;
  /** Deleted, expired, or let go for want of room. */
  ended(id: string): void;
}

type Opened = OpenSession | "missing" | "busy";

interface Waiter {
  readonly ttlMs: number;
  readonly resolve: (opened: Opened) => void;
}

class Conversation implements Linked<Conversation> {
  older: Conversation | undefined = undefined;
  newer: Conversation | undefined = undefined;
  readonly owner: string;
  readonly id: string;
  /** As the last turn left it, whole; never changed, only replaced. undefined: it is new, and not kept. */
  stored: SavedSession | undefined = undefined;
  characters = 0;
  ttlMs = 0;
  /** Idle for longer than its time to live once the clock is past this. Says nothing while it is held. */
  expiresAtMs = 0;
  /** A call has it open. False: it is saved, and in the list of idle ones. */
  held = true;
  readonly waiters: Waiter[] = [];

  constructor(owner: string, id: string) {
    this.owner = owner;
    this.id = id;
  }
}

/** The conversations of one store. `maxSessions`: stored at most; as many more may be new and not yet saved. */
export class SessionTable implements SessionStore {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #maxSessions: number;
  readonly #byId = new Map<string, Conversation>();
  /** Saved and held by no call, by last use. */
  readonly #idle = new RecencyList<Conversation>();
  #savedCount = 0;
  #heldCount = 0;
  #expiryHand = this.#byId.values();
  #closed = false;
  #recorder: SessionRecorder | undefined;

  constructor(clock: Clock, random: Random, maxSessions: number) {
    this.#clock = clock;
    this.#random = random;
    this.#maxSessions = maxSessions;
  }

  /** Conversations that are stored. */
  get size(): number {
    return this.#savedCount;
  }

  /** From now on `recorder` hears of every change. */
  recordTo(recorder: SessionRecorder): void {
    this.#recorder = recorder;
  }

  /** Puts back what `recorder` was told. False: the turn before it is missing, and so it is left out. */
  restore(session: SavedSession): boolean {
    const { id, owner, ttlMs, expiresAtMs, revision, dropped, kept } = session;
    const known = this.#byId.get(id);
    if (known !== undefined) this.#drop(known);
    const before = known?.stored;
    if (kept > 0 && before?.revision !== revision - 1) return false;
    this.#makeRoom();
    const restored = new Conversation(owner, id);
    const messages = [...(before?.messages.slice(dropped, dropped + kept) ?? []), ...session.messages];
    restored.stored = { ...session, dropped: 0, kept: 0, messages };
    restored.characters = charactersOf(messages);
    restored.ttlMs = ttlMs;
    restored.expiresAtMs = expiresAtMs;
    restored.held = false;
    this.#byId.set(id, restored);
    this.#savedCount += 1;
    this.#idle.add(restored);
    return true;
  }

  /** What `ended` was told, put back. */
  restoreEnd(id: string): void {
    const known = this.#byId.get(id);
    if (known !== undefined) this.#drop(known);
  }

  /** All that are kept, whole, the one used least recently first. What is saved later changes none of them. */
  saved(): SavedSession[] {
    const all: SavedSession[] = [];
    for (let idle = this.#idle.oldest; idle !== undefined; idle = idle.newer) {
      if (idle.stored !== undefined) all.push(idle.stored);
    }
    if (this.#heldCount === 0) return all;
    for (const { held, stored } of this.#byId.values()) if (held && stored !== undefined) all.push(stored);
    return all;
  }

  open(owner: string, id: string | undefined, ttlMs: number, caller?: Cancellable): Opened | Promise<Opened> {
    this.#expireSome();
    if (this.#closed) return "busy";
    if (id === undefined) {
      // All of them held: as many calls are under way as there may be conversations.
      if (this.#heldCount >= this.#maxSessions) return "busy";
      const made = new Conversation(owner, this.#random.uuid());
      this.#byId.set(made.id, made);
      return this.#hold(made, ttlMs);
    }
    const found = this.#find(owner, id);
    if (found === undefined) return "missing";
    if (!found.held) {
      if (this.#heldCount >= this.#maxSessions) return "busy";
      this.#idle.remove(found);
      found.held = true;
      return this.#hold(found, ttlMs);
    }
    if (found.waiters.length >= SESSION_WAITERS_MAX) return "busy";
    return wait(found, ttlMs, caller);
  }

  peekCharacters(owner: string, id: string): number {
    return this.#find(owner, id)?.characters ?? 0;
  }

  ownerOf(id: string): string | undefined {
    const owner = this.#byId.get(id)?.owner;
    return owner !== undefined && this.#find(owner, id) !== undefined ? owner : undefined;
  }

  /** A call that holds it goes on, and stores nothing. Those that wait for it find it missing. */
  delete(owner: string, id: string): boolean {
    const found = this.#find(owner, id);
    if (found === undefined) return false;
    this.#drop(found);
    return true;
  }

  /** Forgets all. From now on nothing is opened, and what is still held stores nothing. */
  close(): void {
    this.#closed = true;
    for (const conversation of this.#byId.values()) this.#drop(conversation, "busy");
  }

  #find(owner: string, id: string): Conversation | undefined {
    const found = this.#byId.get(id);
    if (found === undefined || found.owner !== owner) return undefined;
    if (found.held || found.expiresAtMs >= this.#clock.nowMs()) return found;
    this.#drop(found);
    return undefined;
  }

  #hold(conversation: Conversation, ttlMs: number): OpenSession {
    this.#heldCount += 1;
    conversation.ttlMs = ttlMs;
    conversation.expiresAtMs = this.#clock.nowMs() + ttlMs;
    let saved = false;
    let closed = false;
    return {
      id: conversation.id,
      history: conversation.stored?.messages ?? [],
      save: (history) => {
        if (saved || closed) throw new Error("a conversation was saved twice, or after it was closed");
        saved = true;
        return this.#save(conversation, history);
      },
      close: () => {
        if (closed) return;
        closed = true;
        this.#letGo(conversation);
      },
    };
  }

  #save(conversation: Conversation, history: readonly Message[]): MaybePromise<void> {
    if (this.#byId.get(conversation.id) !== conversation) return;
    const before = conversation.stored;
    if (before === undefined) {
      this.#makeRoom();
      this.#savedCount += 1;
    }
    const { id, owner, ttlMs } = conversation;
    const expiresAtMs = this.#clock.nowMs() + ttlMs;
    const revision = (before?.revision ?? 0) + 1;
    const stored = { id, owner, ttlMs, expiresAtMs, revision, dropped: 0, kept: 0, messages: history };
    conversation.stored = stored;
    conversation.characters = charactersOf(history);
    conversation.expiresAtMs = expiresAtMs;
    return this.#recorder?.saved({ ...stored, ...turnOf(before?.messages ?? [], history) });
  }

  #makeRoom(): void {
    const oldest = this.#savedCount >= this.#maxSessions ? this.#idle.oldest : undefined;
    if (oldest !== undefined) this.#drop(oldest);
  }

  /** The holder is done: the next call's turn, if any. */
  #letGo(conversation: Conversation): void {
    this.#heldCount -= 1;
    if (this.#byId.get(conversation.id) !== conversation) return;
    if (conversation.stored === undefined || conversation.expiresAtMs < this.#clock.nowMs()) {
      this.#drop(conversation);
      return;
    }
    const next = conversation.waiters.shift();
    if (next !== undefined) {
      next.resolve(this.#hold(conversation, next.ttlMs));
      return;
    }
    conversation.held = false;
    this.#idle.add(conversation);
  }

  #drop(conversation: Conversation, answer: "missing" | "busy" = "missing"): void {
    this.#byId.delete(conversation.id);
    if (conversation.stored !== undefined) {
      this.#savedCount -= 1;
      this.#recorder?.ended(conversation.id);
    }
    if (!conversation.held) this.#idle.remove(conversation);
    for (const waiter of conversation.waiters.splice(0)) waiter.resolve(answer);
  }

  #expireSome(): void {
    const nowMs = this.#clock.nowMs();
    for (let looked = 0; looked < EXPIRY_CHECKS_PER_CALL; looked += 1) {
      const next = this.#expiryHand.next();
      if (next.done === true) {
        this.#expiryHand = this.#byId.values();
        return;
      }
      const conversation = next.value;
      if (!conversation.held && conversation.expiresAtMs < nowMs) this.#drop(conversation);
    }
  }
}

/** The difference that a turn makes: trimmed at its beginning, and something at its end, mostly. */
function turnOf(
  before: readonly Message[],
  after: readonly Message[],
): Pick<SavedSession, "dropped" | "kept" | "messages"> {
  const first = after[0];
  const dropped = first === undefined ? -1 : before.indexOf(first);
  if (dropped < 0) return { dropped: 0, kept: 0, messages: after };
  let kept = 0;
  while (dropped + kept < before.length && before[dropped + kept] === after[kept]) kept += 1;
  return { dropped, kept, messages: after.slice(kept) };
}

/** Queues a call behind the holder. One that is given up leaves the queue at once and is told `busy`. */
function wait(conversation: Conversation, ttlMs: number, caller: Cancellable | undefined): Promise<Opened> {
  return new Promise((resolve) => {
    const waiter: Waiter = {
      ttlMs,
      resolve(opened) {
        caller?.onCancel(undefined);
        resolve(opened);
      },
    };
    conversation.waiters.push(waiter);
    caller?.onCancel(() => {
      conversation.waiters.splice(conversation.waiters.indexOf(waiter), 1);
      resolve("busy");
    });
  });
}
