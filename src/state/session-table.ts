/**
 * Conversations in memory: each held by one call at a time, the next ones waiting in the order they came. Bounded by
 * letting go of the one used least recently; one that a call holds is never let go.
 */
import type { Cancellable, Clock, Message, OpenSession, Random } from "../plugin/index.ts";
import { charactersOf } from "../plugin/index.ts";
import { type Linked, RecencyList } from "./recency-list.ts";
import { SESSION_WAITERS_MAX, type SessionStore } from "./store.ts";

/** Conversations looked at for expiry by each call, so that the whole table is gone through without a pause. */
const EXPIRY_CHECKS_PER_CALL = 2;

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
  history: readonly Message[] = [];
  characters = 0;
  saved = false;
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

  constructor(clock: Clock, random: Random, maxSessions: number) {
    this.#clock = clock;
    this.#random = random;
    this.#maxSessions = maxSessions;
  }

  /** Conversations that are stored. */
  get size(): number {
    return this.#savedCount;
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
      history: conversation.history,
      save: (history) => {
        if (saved || closed) throw new Error("a conversation was saved twice, or after it was closed");
        saved = true;
        this.#save(conversation, history);
      },
      close: () => {
        if (closed) return;
        closed = true;
        this.#letGo(conversation);
      },
    };
  }

  #save(conversation: Conversation, history: readonly Message[]): void {
    if (this.#byId.get(conversation.id) !== conversation) return;
    if (!conversation.saved) {
      const oldest = this.#savedCount >= this.#maxSessions ? this.#idle.oldest : undefined;
      if (oldest !== undefined) this.#drop(oldest);
      conversation.saved = true;
      this.#savedCount += 1;
    }
    conversation.history = history;
    conversation.characters = charactersOf(history);
    conversation.expiresAtMs = this.#clock.nowMs() + conversation.ttlMs;
  }

  /** The holder is done: the next call's turn, if any. */
  #letGo(conversation: Conversation): void {
    this.#heldCount -= 1;
    if (this.#byId.get(conversation.id) !== conversation) return;
    if (!conversation.saved || conversation.expiresAtMs < this.#clock.nowMs()) {
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
    if (conversation.saved) this.#savedCount -= 1;
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
