/**
 * Conversations in memory: each held by one call at a time, the next ones waiting in the order of arrival. Bounded in number
 * and bytes: of the project that uses most, the one used least recently goes first; one that a call holds never goes.
 */
import { getHeapStatistics } from "node:v8";
import { FairShares, type Measure, type Share } from "../base/fair-shares.ts";
import type { Cancellable, Random } from "../plugin/host.ts";
import type { Clock, MaybePromise, Message, OpenSession } from "../plugin/index.ts";
import { countCharacters } from "../plugin/index.ts";
import type { SessionStore } from "../plugin/store.ts";
import { SESSION_WAITERS_MAX } from "../plugin/store.ts";
import type { SavedSession } from "./change.ts";
import { type Linked, RecencyList } from "./recency-list.ts";

/** Conversations checked for expiry by each call, so that the whole table is swept without a pause. */
const EXPIRY_CHECKS_PER_CALL = 2;

/** Bytes of all conversations, on a heap that has room for them. */
const SESSION_BYTES_MAX = 256 << 20;
/** Never more than this part of the heap. */
const HEAP_PART = 1 / 4;
/** What a message takes besides its text, about. */
const MESSAGE_BYTES = 200;
/** What a conversation takes besides its messages, about. */
const CONVERSATION_BYTES = 1000;

export interface SessionLimits {
  /** Stored at most; as many more may be new and not yet saved. */
  readonly maxSessions: number;
  /** Of all that are stored, two bytes a UTF-16 unit. Default: 256 MiB, at most a quarter of the heap. */
  readonly sessionBytesMax?: number | undefined;
}

/** Hears what becomes of conversations that were saved. */
export interface SessionRecorder {
  /** What it answers is what `save` answers. */
  saved(session: SavedSession): MaybePromise<void>;
  /** Deleted, expired, or evicted. */
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
  /** Changed by a rename alone. */
  owner: string;
  readonly id: string;
  /** Its project's; undefined while it is not stored. */
  share: Share<Idle> | undefined = undefined;
  bytes = 0;
  /** As the last call left it, complete; never changed, only replaced. undefined: it is new, and not kept. */
  stored: SavedSession | undefined = undefined;
  characters = 0;
  ttlMs = 0;
  /** Idle for longer than its time to live once the monotonic clock is past this. Meaningless while it is held. */
  expiresUpMs = 0;
  /** Counts up with each use of any conversation. */
  lastUse = 0;
  /** A call has it open. False: it is saved, and in the list of idle ones. */
  held = true;
  readonly waiters: Waiter[] = [];

  constructor(owner: string, id: string) {
    this.owner = owner;
    this.id = id;
  }
}

/** Saved and held by no call, by last use. */
type Idle = RecencyList<Conversation>;

/** The conversations of one store. */
export class SessionTable implements SessionStore {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #maxSessions: number;
  readonly #bytesMax: number;
  readonly #byId = new Map<string, Conversation>();
  /** Of those that are saved, by project. */
  readonly #shares = new FairShares<Idle>(() => new RecencyList());
  #heldCount = 0;
  #uses = 0;
  #expiryHand = this.#byId.values();
  #closed = false;
  #recorder: SessionRecorder | undefined;
  /** What an owner is called now. */
  #present = (owner: string): string => owner;

  constructor(clock: Clock, random: Random, { maxSessions, sessionBytesMax }: SessionLimits) {
    this.#clock = clock;
    this.#random = random;
    this.#maxSessions = maxSessions;
    this.#bytesMax =
      sessionBytesMax ?? Math.min(SESSION_BYTES_MAX, getHeapStatistics().heap_size_limit * HEAP_PART);
  }

  /** Conversations that are stored. */
  get size(): number {
    return this.#shares.count;
  }

  /** What they take, about. */
  get bytes(): number {
    return this.#shares.bytes;
  }

  /** Owners are called what `present` says from now on, those of conversations that are kept too. */
  renameOwners(present: (owner: string) => string): void {
    this.#present = present;
    for (const conversation of this.#byId.values()) {
      const owner = present(conversation.owner);
      if (owner === conversation.owner) continue;
      conversation.owner = owner;
      if (conversation.stored !== undefined) conversation.stored = { ...conversation.stored, owner };
    }
  }

  /** From now on `recorder` receives every change. */
  recordTo(recorder: SessionRecorder): void {
    this.#recorder = recorder;
  }

  /**
   * Puts back what `recorder` was told. `expiresUpMs`: when it expires on this process's monotonic clock. False: the turn
   * before it is missing, and so it is left out.
   */
  restore(session: SavedSession, expiresUpMs: number): boolean {
    const { id, owner, ttlMs, revision, dropped, kept } = session;
    const known = this.#byId.get(id);
    if (known !== undefined) this.#drop(known);
    const before = known?.stored;
    if (kept > 0 && before?.revision !== revision - 1) return false;
    const restored = new Conversation(owner, id);
    const messages = [...(before?.messages.slice(dropped, dropped + kept) ?? []), ...session.messages];
    restored.stored = { ...session, expiresUpMs: Math.ceil(expiresUpMs), dropped: 0, kept: 0, messages };
    restored.characters = countCharacters(messages);
    restored.ttlMs = ttlMs;
    restored.expiresUpMs = expiresUpMs;
    restored.held = false;
    restored.lastUse = this.#nextUse();
    this.#byId.set(id, restored);
    this.#account(restored, messages).items.add(restored);
    this.#makeRoom();
    return true;
  }

  /** What `ended` was told, put back. */
  restoreEnd(id: string): void {
    const known = this.#byId.get(id);
    if (known !== undefined) this.#drop(known);
  }

  /** All that are kept, whole, the one used least recently first. What is saved later changes none of them. */
  saved(): SavedSession[] {
    const byUse = [...this.#byId.values()].sort((a, b) => a.lastUse - b.lastUse);
    return byUse.flatMap(({ stored }) => stored ?? []);
  }

  open(owner: string, id: string | undefined, ttlMs: number, caller?: Cancellable): Opened | Promise<Opened> {
    this.#expireSome();
    if (this.#closed) return "busy";
    if (id === undefined) {
      // All of them held: as many calls are under way as there may be conversations.
      if (this.#heldCount >= this.#maxSessions) return "busy";
      const made = new Conversation(this.#present(owner), this.#random.uuid());
      this.#byId.set(made.id, made);
      return this.#hold(made, ttlMs);
    }
    const found = this.#find(owner, id);
    if (found === undefined) return "missing";
    if (!found.held) {
      if (this.#heldCount >= this.#maxSessions) return "busy";
      found.share?.items.remove(found);
      found.held = true;
      return this.#hold(found, ttlMs);
    }
    if (found.waiters.length >= SESSION_WAITERS_MAX) return "busy";
    return wait(found, ttlMs, caller);
  }

  historyCharacters(owner: string, id: string): number {
    return this.#find(owner, id)?.characters ?? 0;
  }

  ownerOf(id: string): string | undefined {
    const owner = this.#byId.get(id)?.owner;
    return owner !== undefined && this.#find(owner, id) !== undefined ? owner : undefined;
  }

  /** A call that holds it continues, and stores nothing. Those that wait for it find it missing. */
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
    if (found === undefined || found.owner !== this.#present(owner)) return undefined;
    if (found.held || found.expiresUpMs >= this.#clock.monotonicMs()) return found;
    this.#drop(found);
    return undefined;
  }

  #hold(conversation: Conversation, ttlMs: number): OpenSession {
    this.#heldCount += 1;
    conversation.ttlMs = ttlMs;
    conversation.expiresUpMs = this.#clock.monotonicMs() + ttlMs;
    conversation.lastUse = this.#nextUse();
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
    const { id, owner, ttlMs } = conversation;
    conversation.expiresUpMs = this.#clock.monotonicMs() + ttlMs;
    const expiry = this.#expiry(conversation.expiresUpMs);
    const revision = (before?.revision ?? 0) + 1;
    const stored = { id, owner, ttlMs, ...expiry, revision, dropped: 0, kept: 0, messages: history };
    conversation.stored = stored;
    conversation.characters = countCharacters(history);
    this.#account(conversation, history);
    this.#makeRoom();
    return this.#recorder?.saved({ ...stored, ...turnOf(before?.messages ?? [], history) });
  }

  /** The same moment on both clocks, in whole milliseconds. */
  #expiry(expiresUpMs: number): { readonly expiresAtMs: number; readonly expiresUpMs: number } {
    const leftMs = expiresUpMs - this.#clock.monotonicMs();
    return {
      expiresAtMs: Math.max(0, Math.ceil(this.#clock.nowMs() + leftMs)),
      expiresUpMs: Math.ceil(expiresUpMs),
    };
  }

  #nextUse(): number {
    this.#uses += 1;
    return this.#uses;
  }

  /** Counts what a conversation takes now against its project. */
  #account(conversation: Conversation, messages: readonly Message[]): Share<Idle> {
    const bytes = bytesOf(conversation.characters, messages);
    const { share } = conversation;
    if (share === undefined) conversation.share = this.#shares.add(shareOf(conversation.owner), bytes);
    else this.#shares.resize(share, bytes - conversation.bytes);
    conversation.bytes = bytes;
    return conversation.share ?? this.#account(conversation, messages);
  }

  #makeRoom(): void {
    while (this.#shares.count > this.#maxSessions && this.#dropOldest("count"));
    while (this.#shares.bytes > this.#bytesMax && this.#dropOldest("bytes"));
  }

  /**
   * False: nothing can go now. Bytes that calls have in use go when those calls close them: they push out nobody else's.
   */
  #dropOldest(measure: Measure): boolean {
    const share = this.#shares.largest(
      measure,
      ({ items }) => measure === "bytes" || items.oldest !== undefined,
    );
    const oldest = share?.items.oldest;
    if (oldest === undefined) return false;
    this.#drop(oldest);
    return true;
  }

  /** The holder is done: the next call gets it, if any. */
  #letGo(conversation: Conversation): void {
    this.#heldCount -= 1;
    if (this.#byId.get(conversation.id) !== conversation) return;
    if (conversation.stored === undefined || conversation.expiresUpMs < this.#clock.monotonicMs()) {
      this.#drop(conversation);
      return;
    }
    const next = conversation.waiters.shift();
    if (next !== undefined) {
      next.resolve(this.#hold(conversation, next.ttlMs));
      return;
    }
    conversation.held = false;
    conversation.lastUse = this.#nextUse();
    conversation.share?.items.add(conversation);
    this.#makeRoom();
  }

  #drop(conversation: Conversation, answer: "missing" | "busy" = "missing"): void {
    this.#byId.delete(conversation.id);
    const { share } = conversation;
    if (share !== undefined) {
      if (!conversation.held) share.items.remove(conversation);
      this.#shares.remove(share, conversation.bytes);
      conversation.share = undefined;
      this.#recorder?.ended(conversation.id);
    }
    for (const waiter of conversation.waiters.splice(0)) waiter.resolve(answer);
  }

  #expireSome(): void {
    const nowMs = this.#clock.monotonicMs();
    for (let looked = 0; looked < EXPIRY_CHECKS_PER_CALL; looked += 1) {
      const next = this.#expiryHand.next();
      if (next.done === true) {
        this.#expiryHand = this.#byId.values();
        return;
      }
      const conversation = next.value;
      if (!conversation.held && conversation.expiresUpMs < nowMs) this.#drop(conversation);
    }
  }
}

const UUID_LENGTH = 36;

/**
 * Whose share a conversation counts against. An owner begins with the plugin, and where it was made by `conversationOwner`
 * the project's UUID follows; conversations of another form count against their plugin.
 */
function shareOf(owner: string): string {
  const slash = owner.indexOf("/");
  const second = owner.indexOf("/", slash + 1);
  return owner.slice(0, second - slash - 1 === UUID_LENGTH ? second : slash);
}

function bytesOf(characters: number, messages: readonly Message[]): number {
  return CONVERSATION_BYTES + messages.length * MESSAGE_BYTES + 2 * characters;
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

/** Queues a call behind the holder. A cancelled one leaves the queue at once with `busy`. */
function wait(conversation: Conversation, ttlMs: number, caller: Cancellable | undefined): Promise<Opened> {
  return new Promise((resolve) => {
    const leave = (): void => {
      conversation.waiters.splice(conversation.waiters.indexOf(waiter), 1);
      resolve("busy");
    };
    const waiter: Waiter = {
      ttlMs,
      resolve(opened) {
        caller?.signal.removeEventListener("abort", leave);
        resolve(opened);
      },
    };
    conversation.waiters.push(waiter);
    if (caller?.signal.aborted) leave();
    else caller?.signal.addEventListener("abort", leave, { once: true });
  });
}
