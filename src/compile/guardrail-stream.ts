/**
 * Guards a streamed answer: its text through a window, its tool calls when they are complete, by the same `judge` as
 * everything else. What a chunk says beside them passes by.
 */
import type {
  ChatChunk,
  ChunkHook,
  Exchange,
  GatewayError,
  MaybePromise,
  ToolCall,
  ToolCallDelta,
} from "../plugin/index.ts";
import { andThen, isGatewayError, textChunk } from "../plugin/index.ts";
import type { GuardContext } from "./guardrail.ts";
import { guardCalls } from "./guardrail-texts.ts";
import { HELD_MAX, heldTooLong, type TextWindow, textWindow } from "./guardrail-window.ts";

export class GuardedStream implements ChunkHook {
  readonly #context: GuardContext;
  readonly #exchange: Exchange;
  readonly #window: TextWindow;
  /** A guardrail in shadow sees a copy: it neither changes nor delays what goes out. */
  readonly #shadow: boolean;
  #calls: HeldCalls | undefined;

  constructor(context: GuardContext, x: Exchange) {
    this.#context = context;
    this.#exchange = x;
    this.#window = textWindow(context, x);
    this.#shadow = context.use.shadow;
  }

  chunk(chunk: ChatChunk): MaybePromise<ChatChunk | GatewayError | null> {
    const { text, toolCalls } = chunk;
    if (toolCalls !== undefined && !(this.#calls ??= new HeldCalls()).add(toolCalls)) {
      return this.#shadow ? chunk : heldTooLong();
    }
    if (text === "" && toolCalls === undefined) return chunk;
    const released = text === "" ? "" : this.#window.push(text);
    return andThen(released, (settled) => {
      if (this.#shadow) return chunk;
      if (isGatewayError(settled)) return settled;
      if (settled === text && toolCalls === undefined) return chunk;
      const says = settled !== "" || chunk.finishReason !== undefined || chunk.usage !== undefined;
      return says ? { ...chunk, raw: undefined, text: settled, toolCalls: undefined } : null;
    });
  }

  end(): MaybePromise<ChatChunk | GatewayError | null> {
    return andThen(this.#window.rest(), (text) => {
      if (isGatewayError(text)) return this.#shadow ? null : text;
      return andThen(this.#judgedCalls(), (calls) => {
        if (this.#shadow) return null;
        if (isGatewayError(calls)) return calls;
        if (calls.length === 0) return text === "" ? null : textChunk(text);
        return { ...textChunk(text), toolCalls: calls.map((call, index) => ({ index, ...call })) };
      });
    });
  }

  #judgedCalls(): MaybePromise<readonly ToolCall[] | GatewayError> {
    const calls = this.#calls?.calls ?? [];
    return guardCalls(this.#context, this.#exchange, { calls, characters: this.#window.characters });
  }
}

/** Tool calls of a stream, put together until they are complete: JSON that is cut says nothing yet. */
class HeldCalls {
  readonly calls: ToolCall[] = [];
  #characters = 0;

  /** False: there is more of them than may be held. */
  add(deltas: readonly ToolCallDelta[]): boolean {
    for (const { index, id, name, arguments: text } of deltas) {
      this.#characters += text.length;
      if (this.#characters > HELD_MAX) return false;
      const known = this.calls[index];
      this.calls[index] = {
        id: known?.id ?? id ?? "",
        name: known?.name ?? name ?? "",
        arguments: (known?.arguments ?? "") + text,
      };
    }
    return true;
  }
}
