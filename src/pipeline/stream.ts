/**
 * The stream pump: provider events in, client events out, hooks in between. One write per network read, the
 * provider's own bytes where nothing changed them, the provider held back while the client or a hook is slow.
 */
import { ToolCallList } from "../base/tool-call-list.ts";
import type { FinishReason } from "../plugin/chat.ts";
import type { AnswerStream, ChunkSink } from "../plugin/contract.ts";
import type { ChatChunk, ChatResult, GatewayError, MaybePromise, Usage } from "../plugin/index.ts";
import { isGatewayError, isPromise } from "../plugin/index.ts";
import type { Call, KeepAlive } from "./call.ts";
import type { OpenHook } from "./chunk-hooks.ts";
import { deliveredChunk, undelivered } from "./delivery.ts";
import { failCall, follow } from "./fault.ts";
import type { ClosingAnswer, EventWriter } from "./reply.ts";
import { toolCallDeltaJson } from "./tool-calls.ts";
import { checkedUsage, chunkCharacters, partialUsage } from "./usage.ts";

/** A comment keeps a stream open that has been silent for so long (CONTRACT section 4). */
export const KEEP_ALIVE_MS = 15_000;

type HookAnswer = ChatChunk | GatewayError | null;

/** What the pump tells the run it belongs to. Exactly one of them, once. */
export interface PumpOwner {
  /** All text is out; the closing events are not: the answer can be stored first, then `close` sends them. */
  complete(result: ChatResult, usage: Usage, close: () => void): void;
  /** The provider, a hook or the output schema ended it early. `result` is what the client saw. */
  broken(error: GatewayError, result: ChatResult, usage: Usage): void;
}

export class StreamPump implements ChunkSink, KeepAlive {
  readonly #x: Call;
  readonly #answer: AnswerStream;
  readonly #outlet: EventWriter;
  readonly #owner: PumpOwner;
  readonly #hooks: readonly OpenHook[];
  readonly #keepsAnswer: boolean;
  /** `{"id":…,"object":…,"created":…,"model":…,"choices":[` of every chunk that the gateway writes itself. */
  readonly #head: string;
  #text = "";
  #toolCalls: ToolCallList | undefined;
  #providerCharacters = 0;
  #usage: Usage | undefined;
  #finishReason: FinishReason | undefined;
  #providerFinishReason: string | undefined;
  /** The provider's own closing events; see ClosingAnswer. */
  #finishEvent: string | undefined;
  #usageEvent: string | undefined;
  #roleSent = false;
  #lastWriteMs: number;
  /** A hook is thinking: batches wait here. Short, since the provider is paused meanwhile. */
  #waiting: (readonly ChatChunk[])[] | undefined;
  /** What came while a hook was thinking: the end of the provider's answer. */
  #after: "end" | GatewayError | undefined;
  #clientSlow = false;
  /** Something has gone out. */
  #begun = false;
  #over = false;

  constructor(x: Call, hooks: readonly OpenHook[], ends: PumpEnds) {
    this.#x = x;
    this.#answer = ends.answer;
    this.#outlet = ends.outlet;
    this.#owner = ends.owner;
    this.#keepsAnswer = ends.keepsAnswer;
    this.#hooks = hooks;
    const created = Math.floor(x.rt.clock.nowMs() / 1000);
    this.#head = `{"id":${JSON.stringify(ends.answer.id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(ends.answer.model)},"choices":[`;
    this.#lastWriteMs = x.rt.clock.monotonicMs();
    x.silence = this;
  }

  /** Sets the time by which the stream must go on. Until its first byte the call is limited as a whole. */
  #limit(): void {
    const x = this.#x;
    if (x.cancelled !== undefined || !this.#begun) return;
    let ms = Number.POSITIVE_INFINITY;
    // What a hook, or the store at the end, takes must not be longer than a call.
    if (this.#over || this.#waiting !== undefined) ms = x.requestTimeoutMs;
    else if (this.#clientSlow) ms = x.streamIdleTimeoutMs;
    x.deadlineMs = Math.min(x.streamDeadlineMs, x.rt.clock.monotonicMs() + ms);
  }

  // The three that a provider calls, from its callbacks of the network: what they throw must not reach it.

  batch(chunks: readonly ChatChunk[]): void {
    try {
      this.#batch(chunks);
    } catch (thrown) {
      failCall(this.#x, thrown);
    }
  }

  end(): void {
    try {
      if (this.#over) return;
      if (this.#waiting !== undefined) this.#after ??= "end";
      else this.#flushHooks(0, "");
    } catch (thrown) {
      failCall(this.#x, thrown);
    }
  }

  fail(error: GatewayError): void {
    try {
      if (this.#over) return;
      if (this.#waiting !== undefined) this.#after ??= error;
      else this.#break(error);
    } catch (thrown) {
      failCall(this.#x, thrown);
    }
  }

  #batch(chunks: readonly ChatChunk[]): void {
    if (this.#over) return;
    if (this.#waiting !== undefined) this.#waiting.push(chunks);
    else this.#take(chunks, 0, "");
  }

  /** The client left or the call timed out. Returns what was used so far. */
  cancel(): { readonly result: ChatResult; readonly usage: Usage } {
    this.#stop();
    this.#answer.cancel();
    return { result: this.#result(), usage: this.#used() };
  }

  /** Now and then, while it streams: one look at all streams costs less than a timer each. */
  look(nowMs: number): void {
    // A client that is behind has more to read than it wants: its connection is not silent.
    if (!this.#clientSlow && nowMs - this.#lastWriteMs >= KEEP_ALIVE_MS) this.#write(": keep-alive\n\n");
  }

  #take(chunks: readonly ChatChunk[], from: number, before: string): void {
    let out = before;
    for (let i = from; i < chunks.length; i++) {
      const chunk = chunks[i];
      if (chunk === undefined) break;
      this.#note(chunk);
      const passed = this.#hooks.length === 0 ? chunk : this.#through(seen(chunk), 0);
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

  /** What the provider says of the answer is kept from before the hooks; its closing events come last. */
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

  /** Runs one chunk through the hooks from `from` on. */
  #through(chunk: ChatChunk, from: number): MaybePromise<HookAnswer> {
    let current = chunk;
    for (let i = from; i < this.#hooks.length; i++) {
      const step = this.#hooks[i];
      if (step === undefined) break;
      const next = step.hook.chunk(current);
      if (isPromise(next)) {
        this.#x.waitsFor = step;
        return next.then((settled) =>
          settled === null || isGatewayError(settled) ? settled : this.#through(settled, i + 1),
        );
      }
      if (next === null || isGatewayError(next)) return next;
      current = next;
    }
    return current;
  }

  /** Asks the hooks, from the provider's side on, for what they held back, each passed through those above it. */
  #flushHooks(from: number, before: string): void {
    let out = before;
    for (let i = from; i < this.#hooks.length; i++) {
      const held = this.#heldBy(i);
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

  #heldBy(index: number): MaybePromise<HookAnswer> {
    const step = this.#hooks[index];
    if (step?.hook.end === undefined) return null;
    const held = step.hook.end();
    if (isPromise(held)) {
      this.#x.waitsFor = step;
      return held.then((settled) =>
        settled === null || isGatewayError(settled) ? settled : this.#through(settled, index + 1),
      );
    }
    return held === null || isGatewayError(held) ? held : this.#through(held, index + 1);
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
    // What a delivery holds back of tool calls is asked for by their places in the list.
    if (chunk.toolCalls !== undefined && (this.#keepsAnswer || delivery !== undefined))
      (this.#toolCalls ??= new ToolCallList()).add(chunk.toolCalls);
    return this.#eventsOf(delivery === undefined ? chunk : deliveredChunk(delivery, chunk));
  }

  #eventsOf(chunk: ChatChunk): string {
    if (chunk.native !== undefined && chunk.finishReason === undefined && chunk.usage === undefined) {
      const role = this.#roleSent || chunk.native.includes('"role"') ? "" : this.#roleEvent();
      this.#roleSent = true;
      return `${role}data: ${chunk.native}\n\n`;
    }
    if (chunk.text === "" && chunk.toolCalls === undefined) return "";
    const role = this.#roleSent ? "" : this.#roleEvent();
    this.#roleSent = true;
    const text = chunk.text === "" ? "" : this.#deltaEvent(`"content":${JSON.stringify(chunk.text)}`);
    let events = role + text;
    // One an event, as OpenAI has it: there are clients that read the first of a list and no other.
    for (const call of chunk.toolCalls ?? [])
      events += this.#deltaEvent(`"tool_calls":${toolCallDeltaJson(call)}`);
    return events;
  }

  #deltaEvent(delta: string): string {
    return `data: ${this.#head}{"index":0,"delta":{${delta}},"finish_reason":null}]}\n\n`;
  }

  #roleEvent(): string {
    return this.#deltaEvent('"role":"assistant","content":""');
  }

  #complete(before: string): void {
    this.#stop();
    const usage = this.#used();
    const result = this.#result();
    const held = undelivered(this.#x.delivery, result);
    const out = held === undefined ? before : before + this.#eventsOf(held);
    const role = this.#roleSent ? "" : this.#roleEvent();
    if (out !== "" || role !== "") this.#write(role + out);
    this.#owner.complete(result, usage, () => {
      this.#outlet.write(
        this.#outlet.closing?.(this.#closing(result, usage)) ?? this.#closingEvents(result, usage),
      );
      this.#outlet.end();
    });
  }

  #closing(result: ChatResult, usage: Usage): ClosingAnswer {
    return {
      result,
      usage,
      head: this.#head,
      finishEvent: this.#finishEvent,
      usageEvent: this.#usageEvent,
    };
  }

  #closingEvents(result: ChatResult, usage: Usage): string {
    const finish = `data: ${this.#head}{"index":0,"delta":{},"finish_reason":"${result.finishReason}"}]}\n\n`;
    const meta = JSON.stringify({
      request_id: this.#x.requestId,
      session_id: this.#x.sessionId,
      provider_finish_reason: result.finishReason === "error" ? result.providerFinishReason : undefined,
    });
    const used = `{"prompt_tokens":${usage.promptTokens},"completion_tokens":${usage.completionTokens},"total_tokens":${usage.totalTokens}}`;
    return `${finish}data: ${this.#head}],"usage":${used},"meta":${meta}}\n\ndata: [DONE]\n\n`;
  }

  #break(error: GatewayError): void {
    this.#stop();
    this.#owner.broken(error, this.#result(), this.#used());
  }

  #stop(): void {
    this.#over = true;
    this.#waiting = undefined;
    this.#limit();
    this.#x.silence = undefined;
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
    if (!this.#begun) {
      this.#begun = true;
      this.#x.firstByteMs = nowMs;
      this.#limit();
    }
    if (this.#outlet.write(out) || this.#clientSlow) return;
    this.#clientSlow = true;
    this.#answer.pause();
    this.#limit();
    this.#outlet.onDrain(() => {
      this.#clientSlow = false;
      this.#limit();
      this.#resume();
    });
  }

  /** Lets the provider go on when nobody holds it back any more. */
  #resume(): void {
    if (!this.#over && !this.#clientSlow && this.#waiting === undefined) this.#answer.resume();
  }

  /** Holds the provider back until a hook has answered, then goes on with what came meanwhile. */
  #wait(pending: Promise<HookAnswer>, go: (settled: HookAnswer) => void): void {
    const waiting: (readonly ChatChunk[])[] = [];
    this.#waiting = waiting;
    this.#answer.pause();
    this.#limit();
    follow(this.#x, pending, (settled) => {
      this.#x.waitsFor = undefined;
      if (this.#over) return;
      this.#waiting = undefined;
      this.#limit();
      go(settled);
      for (let i = 0; i < waiting.length && !this.#over; i++) this.#batch(waiting[i] ?? []);
      this.#resume();
      const after = this.#after;
      if (this.#over || this.#waiting !== undefined || after === undefined) return;
      this.#after = undefined;
      if (after === "end") this.#flushHooks(0, "");
      else this.#break(after);
    });
  }
}

/** A chunk without what hooks cannot judge: where some watch the answer, nothing gets past them. */
function seen(chunk: ChatChunk): ChatChunk {
  return chunk.nativeOnly === true ? { ...chunk, native: undefined } : chunk;
}

/** The two ends a pump connects, and who hears how it went. */
export interface PumpEnds {
  readonly answer: AnswerStream;
  readonly outlet: EventWriter;
  readonly owner: PumpOwner;
  /** False: nothing asks for the texts of the answer once they have been sent. */
  readonly keepsAnswer: boolean;
}
