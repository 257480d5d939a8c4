/**
 * Guards a streamed answer: holds back as much text as the guardrail's longest match may need, so that a match across
 * chunks is seen whole and nothing of it has reached the client. Works by the same `judge` as everything else.
 */
import type { ChatChunk, ChunkHook, Edit, Exchange, GatewayError, MaybePromise } from "../plugin/index.ts";
import { andThen, isGatewayError, isPromise, refuse, textChunk } from "../plugin/index.ts";
import { edited, type GuardContext, type Judgement, judge } from "./guardrail.ts";

/** Longest window a guardrail may declare, in UTF-16 code units. */
export const WINDOW_MAX = 8192;
/** A guardrail that wants the whole answer gets at most this much, in UTF-16 code units. */
export const HELD_MAX = 1_048_576;

export function windowHook(context: GuardContext, x: Exchange): ChunkHook {
  const declared = context.guardrail.window ?? "whole";
  if (declared === 0) return new PassingWindow(context, x);
  const window = declared === "whole" ? HELD_MAX : Math.min(declared, WINDOW_MAX);
  return new HeldWindow(context, x, window);
}

/** A guardrail that needs no text held back (it only counts, say) sees each chunk and lets the provider's bytes pass. */
class PassingWindow implements ChunkHook {
  readonly #context: GuardContext;
  readonly #exchange: Exchange;
  #characters = 0;

  constructor(context: GuardContext, x: Exchange) {
    this.#context = context;
    this.#exchange = x;
  }

  chunk(chunk: ChatChunk): MaybePromise<ChatChunk | GatewayError> {
    if (chunk.text === "") return chunk;
    this.#characters += chunk.text.length;
    const judgement = judge(this.#context, chunk.text, {
      side: "output",
      role: "assistant",
      totalCharacters: this.#characters,
      partial: true,
      exchange: this.#exchange,
    });
    return andThen(judgement, (settled) => {
      if (isGatewayError(settled)) return settled;
      return settled.length === 0 ? chunk : { ...chunk, raw: undefined, text: edited(chunk.text, settled) };
    });
  }
}

class HeldWindow implements ChunkHook {
  readonly #context: GuardContext;
  readonly #exchange: Exchange;
  readonly #window: number;
  /** Text already released, as much as a match may need to see to its left (a word's beginning, a number's). */
  #before = "";
  /** Text not yet released. */
  #held = "";
  #characters = 0;

  constructor(context: GuardContext, x: Exchange, window: number) {
    this.#context = context;
    this.#exchange = x;
    this.#window = window;
  }

  chunk(chunk: ChatChunk): MaybePromise<ChatChunk | GatewayError | null> {
    if (chunk.text === "") return chunk;
    this.#held += chunk.text;
    this.#characters += chunk.text.length;
    if (this.#held.length <= this.#window) return this.#withoutText(chunk);
    if (this.#window >= HELD_MAX) {
      return refuse(422, "answer_too_long", `Response blocked: longer than ${HELD_MAX} characters.`);
    }
    const released = this.#release(true);
    if (isPromise(released)) return released.then((text) => this.#passed(chunk, text));
    return this.#passed(chunk, released);
  }

  end(): MaybePromise<ChatChunk | GatewayError | null> {
    if (this.#characters === 0) return null;
    return andThen(this.#release(false), (text) =>
      isGatewayError(text) ? text : text === "" ? null : textChunk(text),
    );
  }

  #passed(chunk: ChatChunk, text: string | GatewayError): ChatChunk | GatewayError | null {
    if (isGatewayError(text)) return text;
    return { ...chunk, raw: undefined, text };
  }

  /** What else the event says (its finish reason, say) goes on; its text waits. */
  #withoutText(chunk: ChatChunk): ChatChunk | null {
    if (chunk.finishReason === undefined && chunk.usage === undefined && chunk.toolCalls === undefined) {
      return null;
    }
    return { ...chunk, raw: undefined, text: "" };
  }

  #release(partial: boolean): MaybePromise<string | GatewayError> {
    const text = this.#before + this.#held;
    const judgement = judge(this.#context, text, {
      side: "output",
      role: "assistant",
      totalCharacters: this.#characters,
      partial,
      exchange: this.#exchange,
    });
    return andThen(judgement, (settled) => this.#cut(text, settled, partial));
  }

  /** Lets go of what no match can still reach into, with the edits that fall into it. */
  #cut(text: string, judgement: Judgement, partial: boolean): string | GatewayError {
    if (isGatewayError(judgement)) return judgement;
    const from = this.#before.length;
    let to = partial ? Math.max(from, text.length - this.#window) : text.length;
    const inside: Edit[] = [];
    for (const edit of judgement) {
      if (edit.end <= from) continue;
      // A match that the cut would split may still grow: it waits whole.
      if (edit.end > to && edit.start < to) to = Math.max(from, edit.start);
      if (edit.start >= to) break;
      inside.push({ ...edit, start: Math.max(edit.start, from) });
    }
    if (partial && isHighSurrogate(text.charCodeAt(to - 1)) && to > from) to--;
    const released = edited(text.slice(0, to), inside).slice(from);
    this.#held = text.slice(to);
    this.#before = text.slice(wholeWordsFrom(text, Math.max(0, to - this.#window), to), to);
    return released;
  }
}

const WORD_UNIT = /[\p{L}\p{M}\p{N}\p{Cs}_]/u;

/**
 * What has been released is judged again, as what stands left of the rest: it may not begin inside a word, whose other
 * end would be taken for a word of its own.
 */
function wholeWordsFrom(text: string, start: number, end: number): number {
  const isWord = (at: number): boolean => WORD_UNIT.test(text[at] ?? "");
  if (start === 0 || !isWord(start - 1)) return start;
  let at = start;
  while (at < end && isWord(at)) at++;
  // One word longer than any match: none can stand at its end alone.
  return at === end ? start : at;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
