/**
 * Guards a streamed answer: its text through a window that holds back as much as the guardrail's longest match, so that
 * a match across chunks is found before the client has any of it; its tool calls when they are complete. Other members
 * of a chunk are not judged.
 */
import { ToolCallList } from "../base/tool-call-list.ts";
import type { ToolCall, ToolCallDelta } from "../plugin/chat.ts";
import { textChunk } from "../plugin/chat.ts";
import type {
  ChatChunk,
  ChunkHook,
  Exchange,
  GatewayError,
  MaybePromise,
  TextContext,
} from "../plugin/index.ts";
import { andThen, isGatewayError, refuse } from "../plugin/index.ts";
import { answerTooLong, guardCalls } from "./answer.ts";
import { edited, settledEdits, wholeWordsFrom } from "./edits.ts";
import { type Judgement, judge } from "./judge.ts";
import type { GuardContext } from "./verdict.ts";

/** Longest window a guardrail may declare, in UTF-16 code units. */
export const WINDOW_MAX = 8192;
/** A guardrail that needs the whole answer gets at most this much, in UTF-16 code units. */
export const HELD_MAX = 1_048_576;

export class GuardedStream implements ChunkHook {
  readonly #context: GuardContext;
  readonly #exchange: Exchange;
  readonly #window: TextWindow;
  /** In shadow mode the guardrail sees a copy and neither changes nor delays the stream. */
  readonly #shadow: boolean;
  /** Shadow mode: the answer was refused or too long to hold; the rest is not judged. */
  #isStopped = false;
  /** Held until they are complete: incomplete JSON cannot be judged. */
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
    if (this.#isStopped || (text === "" && toolCalls === undefined)) return chunk;
    const tooLong = toolCalls !== undefined && !this.#hold(toolCalls);
    const released = tooLong ? heldTooLong() : text === "" ? "" : this.#judged(text);
    return andThen(released, (settled) => {
      if (this.#shadow) {
        this.#isStopped = isGatewayError(settled);
        return chunk;
      }
      if (isGatewayError(settled)) return settled;
      if (settled === text && toolCalls === undefined) return chunk;
      const isWorthSending = settled !== "" || chunk.finishReason !== undefined || chunk.usage !== undefined;
      return isWorthSending ? { ...chunk, native: undefined, text: settled, toolCalls: undefined } : null;
    });
  }

  end(): MaybePromise<ChatChunk | GatewayError | null> {
    if (this.#isStopped) return null;
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

  /** False: the arguments exceed HELD_MAX. */
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

interface TextWindow {
  /** Code units received. */
  readonly characters: number;
  /** Takes more text and returns what may be sent now. */
  push(text: string): MaybePromise<string | GatewayError>;
  /** The text is complete: returns what was held back. */
  rest(): MaybePromise<string | GatewayError>;
}

function textWindow(context: GuardContext, x: Exchange): TextWindow {
  const declared = context.guardrail.window ?? "whole";
  if (declared === 0) return new NoWindow(context, x);
  return new HeldWindow(context, x, declared === "whole" ? HELD_MAX : Math.min(declared, WINDOW_MAX));
}

function heldTooLong(): GatewayError {
  return refuse(422, "answer_too_long", `Response blocked: longer than ${HELD_MAX} characters.`);
}

/** For a guardrail with `window: 0`, which counts for example: it sees each piece as it arrives. */
class NoWindow implements TextWindow {
  readonly #context: GuardContext;
  readonly #exchange: Exchange;
  characters = 0;

  constructor(context: GuardContext, x: Exchange) {
    this.#context = context;
    this.#exchange = x;
  }

  push(text: string): MaybePromise<string | GatewayError> {
    this.characters += text.length;
    const judgement = judge(this.#context, text, aboutStream(this.#exchange, text, this.characters, true));
    return andThen(judgement, (settled) => (isGatewayError(settled) ? settled : edited(text, settled)));
  }

  rest(): string {
    return "";
  }
}

class HeldWindow implements TextWindow {
  readonly #context: GuardContext;
  readonly #exchange: Exchange;
  readonly #window: number;
  /** End of the released text: the left context of a match (the beginning of a word or number). */
  #before = "";
  /** Text not yet released. */
  #held = "";
  characters = 0;

  constructor(context: GuardContext, x: Exchange, window: number) {
    this.#context = context;
    this.#exchange = x;
    this.#window = window;
  }

  push(text: string): MaybePromise<string | GatewayError> {
    this.#held += text;
    this.characters += text.length;
    if (this.#held.length <= this.#window) return "";
    if (this.#window >= HELD_MAX) return heldTooLong();
    return this.#release(true);
  }

  rest(): MaybePromise<string | GatewayError> {
    return this.characters === 0 ? "" : this.#release(false);
  }

  #release(partial: boolean): MaybePromise<string | GatewayError> {
    const text = this.#before + this.#held;
    const judgement = judge(this.#context, text, aboutStream(this.#exchange, text, this.characters, partial));
    return andThen(judgement, (settled) => this.#cut(text, settled, partial));
  }

  /** Releases what no match can still reach into, with the edits that fall into it. */
  #cut(text: string, judgement: Judgement, partial: boolean): string | GatewayError {
    if (isGatewayError(judgement)) return judgement;
    const from = this.#before.length;
    const { edits, to } = settledEdits(judgement, {
      text,
      from,
      to: partial ? text.length - this.#window : text.length,
      partial,
    });
    const released = edited(text.slice(0, to), edits).slice(from);
    this.#held = text.slice(to);
    this.#before = text.slice(wholeWordsFrom(text, Math.max(0, to - this.#window), to), to);
    return released;
  }
}

function aboutStream(
  exchange: Exchange,
  text: string,
  totalCharacters: number,
  partial: boolean,
): TextContext {
  const offset = totalCharacters - text.length;
  return { side: "output", role: "assistant", totalCharacters, partial, offset, exchange };
}
