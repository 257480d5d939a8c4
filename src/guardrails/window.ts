/**
 * The text of a streamed answer on its way through a guardrail: holds back as much as the guardrail's longest match may
 * need, so that a match across chunks is seen whole and nothing of it has reached the client.
 */
import type { Exchange, GatewayError, MaybePromise, TextAbout } from "../plugin/index.ts";
import { andThen, isGatewayError, refuse } from "../plugin/index.ts";
import { edited, settledEdits, wholeWordsFrom } from "./edits.ts";
import { type GuardContext, type Judgement, judge } from "./judge.ts";

/** Longest window a guardrail may declare, in UTF-16 code units. */
export const WINDOW_MAX = 8192;
/** A guardrail that wants the whole answer gets at most this much, in UTF-16 code units. */
export const HELD_MAX = 1_048_576;

export interface TextWindow {
  /** Code units that have come. */
  readonly characters: number;
  /** More text came: what may go out now. */
  push(text: string): MaybePromise<string | GatewayError>;
  /** All text has come: what was held back. */
  rest(): MaybePromise<string | GatewayError>;
}

export function textWindow(context: GuardContext, x: Exchange): TextWindow {
  const declared = context.guardrail.window ?? "whole";
  if (declared === 0) return new NoWindow(context, x);
  return new HeldWindow(context, x, declared === "whole" ? HELD_MAX : Math.min(declared, WINDOW_MAX));
}

export function heldTooLong(): GatewayError {
  return refuse(422, "answer_too_long", `Response blocked: longer than ${HELD_MAX} characters.`);
}

/** For a guardrail that needs no text held back (it only counts, say): it sees each piece as it comes. */
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
  /** Text already released, as much as a match may need to see to its left (a word's beginning, a number's). */
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

  /** Lets go of what no match can still reach into, with the edits that fall into it. */
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

function aboutStream(exchange: Exchange, text: string, totalCharacters: number, partial: boolean): TextAbout {
  const offset = totalCharacters - text.length;
  return { side: "output", role: "assistant", totalCharacters, partial, offset, exchange };
}
