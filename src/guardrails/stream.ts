/**
 * Guards a streamed answer: its text through a window, its tool calls when they are complete, by the same `judge` as
 * everything else. What a chunk says beside them passes by.
 */
import { ToolCallList } from "../base/tool-call-list.ts";
import type { ToolCall, ToolCallDelta } from "../plugin/chat.ts";
import type { ChatChunk, ChunkHook, Exchange, GatewayError, MaybePromise } from "../plugin/index.ts";
import { andThen, isGatewayError, textChunk } from "../plugin/index.ts";
import { answerTooLong, guardCalls } from "./answer.ts";
import type { GuardContext } from "./judge.ts";
import { HELD_MAX, heldTooLong, type TextWindow, textWindow } from "./window.ts";

export class GuardedStream implements ChunkHook {
  readonly #context: GuardContext;
  readonly #exchange: Exchange;
  readonly #window: TextWindow;
  /** A guardrail in shadow sees a copy: it neither changes nor holds back what goes out. */
  readonly #shadow: boolean;
  /** Of a guardrail in shadow: there was more than it may hold. */
  #gaveUp = false;
  /** Held until they are complete: JSON that is cut says nothing yet. */
  readonly #calls = new ToolCallList();
  #callCharacters = 0;

  constructor(context: GuardContext, x: Exchange) {
    this.#context = context;
    this.#exchange = x;
    this.#window = textWindow(context, x);
    this.#shadow = context.use.shadow;
  }

  chunk(chunk: ChatChunk): MaybePromise<ChatChunk | GatewayError | null> {
    const { text, toolCalls } = chunk;
    if (this.#gaveUp || (text === "" && toolCalls === undefined)) return chunk;
    const tooLong = toolCalls !== undefined && !this.#hold(toolCalls);
    const released = tooLong ? heldTooLong() : text === "" ? "" : this.#judged(text);
    return andThen(released, (settled) => {
      if (this.#shadow) {
        this.#gaveUp = isGatewayError(settled);
        return chunk;
      }
      if (isGatewayError(settled)) return settled;
      if (settled === text && toolCalls === undefined) return chunk;
      const says = settled !== "" || chunk.finishReason !== undefined || chunk.usage !== undefined;
      return says ? { ...chunk, raw: undefined, text: settled, toolCalls: undefined } : null;
    });
  }

  end(): MaybePromise<ChatChunk | GatewayError | null> {
    if (this.#gaveUp) return null;
    return andThen(this.#window.rest(), (text) => {
      if (isGatewayError(text)) return text;
      return andThen(this.#judgedCalls(), (calls) => {
        if (isGatewayError(calls)) return calls;
        if (this.#shadow || (text === "" && calls.length === 0)) return null;
        return { ...textChunk(text), toolCalls: calls.length === 0 ? undefined : deltasOf(calls) };
      });
    });
  }

  #judged(text: string): MaybePromise<string | GatewayError> {
    const characters = this.#window.characters + text.length;
    return answerTooLong(this.#context, characters) ?? this.#window.push(text);
  }

  /** False: there is more of them than may be held. */
  #hold(deltas: readonly ToolCallDelta[]): boolean {
    for (const delta of deltas) this.#callCharacters += delta.arguments.length;
    if (this.#callCharacters > HELD_MAX) return false;
    this.#calls.add(deltas);
    return true;
  }

  #judgedCalls(): MaybePromise<readonly ToolCall[] | GatewayError> {
    const { calls } = this.#calls;
    if (calls.length === 0) return calls;
    return guardCalls(this.#context, this.#exchange, { calls, characters: this.#window.characters });
  }
}

function deltasOf(calls: readonly ToolCall[]): readonly ToolCallDelta[] {
  return calls.map((call, index) => ({ index, ...call }));
}
