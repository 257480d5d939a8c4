/**
 * The stream pump: provider events in, client events out, hooks in between. One write per network read, the provider's
 * own bytes where nothing changed them, and the provider paused while the client or a hook is behind.
 */
import { ToolCallList } from "../base/tool-call-list.ts";
import type { FinishReason, Usage } from "../plugin/chat.ts";
import type { AnswerStream, ChunkSink } from "../plugin/contract.ts";
import type { ChatChunk, ChatResult, GatewayError } from "../plugin/index.ts";
import { isGatewayError, isPromise } from "../plugin/index.ts";
import type { Call } from "./call.ts";
import { deliveredChunk, undelivered } from "./delivery.ts";
import { failCall, follow } from "./end.ts";
import { ChunkEvents, type EventWriter } from "./reply.ts";
import { type HookAnswer, heldByHook, type OpenHook, runChunk } from "./run.ts";
import { checkedUsage, chunkCharacters, partialUsage } from "./usage.ts";

/** Idle time after which a comment keeps the connection open. */
export const KEEP_ALIVE_MS = 15_000;

/** The call that a pump belongs to. Exactly one of these is called, once. */
export interface PumpOwner {
  /** All text is written; the closing events are not: the answer can be stored first, then `close` writes them. */
  complete(result: ChatResult, usage: Usage, close: () => void): void;
  /** The provider, a hook or the output schema ended it early. `result` is what the client has received. */
  broken(error: GatewayError, result: ChatResult, usage: Usage): void;
}

export interface PumpEnds {
  readonly answer: AnswerStream;
  readonly writer: EventWriter;
  readonly owner: PumpOwner;
  /** False: nothing reads the texts of the answer once they have been sent. */
  readonly keepsAnswer: boolean;
}

/**
 * - `flowing`: what the provider sends goes through the hooks as it arrives.
 * - `pending`: an async hook is running; what the provider sends is queued, and the provider is paused.
 * - `over`: complete, broken or cancelled; what the provider sends is ignored.
 */
type Phase = "flowing" | "pending" | "over";

/** What a provider sends: a batch of chunks, or the end of its answer. */
type ProviderEvent = readonly ChatChunk[] | "end" | GatewayError;

export class StreamPump implements ChunkSink {
  readonly #x: Call;
  readonly #answer: AnswerStream;
  readonly #writer: EventWriter;
  readonly #owner: PumpOwner;
  readonly #hooks: readonly OpenHook[];
  readonly #keepsAnswer: boolean;
  readonly #events: ChunkEvents;
  #phase: Phase = "flowing";
  /** While pending, in the order of arrival. Short, since the provider is paused. */
  #queue: ProviderEvent[] = [];
  #clientSlow = false;
  #isPaused = false;
  #text = "";
  #toolCalls: ToolCallList | undefined;
  #providerCharacters = 0;
  #usage: Usage | undefined;
  #finishReason: FinishReason | undefined;
  #providerFinishReason: string | undefined;
  /** The provider's own closing events; see ClosingAnswer. */
  #finishEvent: string | undefined;
  #usageEvent: string | undefined;
  #lastWriteMs: number;

  constructor(x: Call, hooks: readonly OpenHook[], { answer, writer, owner, keepsAnswer }: PumpEnds) {
    this.#x = x;
    this.#answer = answer;
    this.#writer = writer;
    this.#owner = owner;
    this.#keepsAnswer = keepsAnswer;
    this.#hooks = hooks;
    this.#events = new ChunkEvents(answer.id, answer.model, x.rt.clock.nowMs());
    this.#lastWriteMs = x.rt.clock.monotonicMs();
  }

  batch(chunks: readonly ChatChunk[]): void {
    this.#accept(chunks);
  }

  end(): void {
    this.#accept("end");
  }

  fail(error: GatewayError): void {
    this.#accept(error);
  }

  /** The client disconnected or the call timed out. Returns what was used so far. */
  cancel(): { readonly result: ChatResult; readonly usage: Usage } {
    this.#enter("over");
    this.#answer.cancel();
    return { result: this.#result(), usage: this.#used() };
  }

  /** Keeps the connection open while nothing is sent. A client that is behind has enough to read. */
  tick(nowMs: number): void {
    if (this.#phase === "over" || this.#clientSlow) return;
    if (nowMs - this.#lastWriteMs >= KEEP_ALIVE_MS) this.#write(": keep-alive\n\n");
  }

  /** Called by the provider from callbacks of the network, which nothing thrown here may reach. */
  #accept(event: ProviderEvent): void {
    try {
      if (this.#phase === "pending") this.#queue.push(event);
      else if (this.#phase === "flowing") this.#process(event);
    } catch (thrown) {
      failCall(this.#x, thrown);
    }
  }

  #process(event: ProviderEvent): void {
    if (event === "end") this.#flushHooks(0, "");
    else if (isGatewayError(event)) this.#break(event);
    else this.#take(event, 0, "");
  }

  /** Every change of phase. */
  #enter(phase: Phase): void {
    this.#phase = phase;
    if (phase === "over") this.#queue = [];
    this.#limit();
    this.#regulate();
  }

  /** Sets the deadline of the stream's next progress. Until its first byte the call is limited as a whole. */
  #limit(): void {
    const x = this.#x;
    if (x.cancelled !== undefined || !this.#writer.open) return;
    let ms = Number.POSITIVE_INFINITY;
    // A hook, or the store at the end, may take as long as a call.
    if (this.#phase !== "flowing") ms = x.requestTimeoutMs;
    else if (this.#clientSlow) ms = x.streamIdleTimeoutMs;
    x.deadlineMs = Math.min(x.streamDeadlineMs, x.rt.clock.monotonicMs() + ms);
  }

  /** Pauses the provider while the client or a hook is behind. */
  #regulate(): void {
    if (this.#phase === "over") return;
    const isPaused = this.#clientSlow || this.#phase === "pending";
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#answer.pause();
    else this.#answer.resume();
  }

  /** Queues what the provider sends until a hook has answered, then continues with `go` and the queue. */
  #wait(pending: Promise<HookAnswer>, go: (settled: HookAnswer) => void): void {
    this.#enter("pending");
    follow(this.#x, pending, (settled) => {
      this.#x.waitsFor = undefined;
      if (this.#phase === "over") return;
      // Not yet resumed: the provider must not add to the queue that is processed here.
      this.#phase = "flowing";
      this.#limit();
      go(settled);
      while (this.#phase === "flowing") {
        const event = this.#queue.shift();
        if (event === undefined) break;
        this.#process(event);
      }
      this.#regulate();
    });
  }

  #take(chunks: readonly ChatChunk[], from: number, before: string): void {
    let out = before;
    for (let i = from; i < chunks.length; i++) {
      const chunk = chunks[i];
      if (chunk === undefined) break;
      this.#note(chunk);
      const passed = this.#hooks.length === 0 ? chunk : runChunk(this.#x, this.#hooks, seen(chunk));
      if (isPromise(passed)) {
        this.#write(out);
        this.#wait(passed, (settled) => {
          const text = this.#rendered(settled);
          if (text !== undefined) this.#take(chunks, i + 1, text);
        });
        return;
      }
      const text = this.#rendered(passed);
      if (text === undefined) return;
      out += text;
    }
    this.#write(out);
  }

  /** Usage and finish are the provider's, before any hook; its closing events come last. */
  #note(chunk: ChatChunk): void {
    this.#providerCharacters += chunkCharacters(chunk);
    if (chunk.usage !== undefined) {
      this.#usage = chunk.usage;
      this.#usageEvent = chunk.native;
    }
    if (chunk.finishReason !== undefined) {
      this.#finishEvent = chunk.native;
      this.#finishReason = chunk.finishReason;
      this.#providerFinishReason = chunk.providerFinishReason;
    }
  }

  /** Sends what the hooks held back, from the provider's side up; each part passes through the hooks above it. */
  #flushHooks(from: number, before: string): void {
    let out = before;
    for (let i = from; i < this.#hooks.length; i++) {
      const held = heldByHook(this.#x, this.#hooks, i);
      if (isPromise(held)) {
        this.#write(out);
        this.#wait(held, (settled) => {
          const text = this.#rendered(settled);
          if (text !== undefined) this.#flushHooks(i + 1, text);
        });
        return;
      }
      const text = this.#rendered(held);
      if (text === undefined) return;
      out += text;
    }
    this.#complete(out);
  }

  /** Event text of what the hooks let through; undefined when they ended the stream. */
  #rendered(chunk: HookAnswer): string | undefined {
    if (chunk === null) return "";
    if (isGatewayError(chunk)) {
      this.#answer.cancel();
      this.#break(chunk);
      return undefined;
    }
    const { delivery } = this.#x;
    if (this.#keepsAnswer) this.#text += chunk.text;
    // A delivery finds the rest of a tool call by its index in the list.
    if (chunk.toolCalls !== undefined && (this.#keepsAnswer || delivery !== undefined))
      (this.#toolCalls ??= new ToolCallList()).add(chunk.toolCalls);
    return this.#events.of(delivery === undefined ? chunk : deliveredChunk(delivery, chunk));
  }

  #complete(before: string): void {
    this.#enter("over");
    const usage = this.#used();
    const result = this.#result();
    const held = undelivered(this.#x.delivery, result);
    const out = held === undefined ? before : before + this.#events.of(held);
    this.#write(this.#events.role() + out);
    this.#owner.complete(result, usage, () => {
      const [writer, events] = [this.#writer, this.#events];
      const [finishEvent, usageEvent] = [this.#finishEvent, this.#usageEvent];
      const closing = writer.closing?.({ result, usage, head: events.head, finishEvent, usageEvent });
      writer.write(closing ?? events.closing(this.#x, result, usage));
      writer.end();
    });
  }

  #break(error: GatewayError): void {
    this.#enter("over");
    this.#owner.broken(error, this.#result(), this.#used());
  }

  #result(): ChatResult {
    return {
      id: this.#answer.id,
      model: this.#answer.model,
      content: this.#text,
      toolCalls: this.#toolCalls?.calls,
      finishReason: this.#finishReason ?? "stop",
      providerFinishReason: this.#providerFinishReason,
      usage: this.#usage,
    };
  }

  #used(): Usage {
    const [x, usage, characters] = [this.#x, this.#usage, this.#providerCharacters];
    if (usage !== undefined && this.#finishReason === undefined) return partialUsage(x, usage, characters);
    return checkedUsage(x, usage, characters);
  }

  #write(out: string): void {
    if (out === "") return;
    const nowMs = this.#x.rt.clock.monotonicMs();
    this.#lastWriteMs = nowMs;
    const isFirst = !this.#writer.open;
    if (isFirst) this.#x.firstByteMs = nowMs;
    const isBehind = !this.#writer.write(out);
    if (isFirst) this.#limit();
    if (isBehind && !this.#clientSlow) this.#waitForClient();
  }

  #waitForClient(): void {
    this.#clientSlow = true;
    this.#limit();
    this.#regulate();
    this.#writer.onDrain(() => {
      this.#clientSlow = false;
      this.#limit();
      this.#regulate();
    });
  }
}

/** A chunk without what hooks cannot judge: where some watch the answer, nothing gets past them. */
function seen(chunk: ChatChunk): ChatChunk {
  return chunk.nativeOnly === true ? { ...chunk, native: undefined } : chunk;
}
