/**
 * Restores masked originals: what `restore` replaced in the request is put back into the answer that the client
 * receives. The model, the log, the store and conversations keep the masks. Lives as long as its call.
 */
import { coreExchange, type Delivery } from "../plugin/exchange.ts";
import type { Edit, Exchange } from "../plugin/index.ts";
import { slot } from "../plugin/index.ts";

/** Originals kept per call; further ones stay masked. */
const MASKS_MAX = 1000;
/** Longest original kept, in UTF-16 code units. */
const ORIGINAL_MAX = 1000;

const masksOf = slot<Masks>("masks");

/** The same edits with numbered masks, one per original: `[EMAIL]` becomes `[EMAIL_1]`. */
export function restorable(x: Exchange, text: string, edits: readonly Edit[]): readonly Edit[] {
  let masks = masksOf.get(x);
  if (masks === undefined) {
    masks = new Masks(firstNumber(x));
    masksOf.set(x, masks);
    coreExchange(x).delivery = new Unmasking(masks);
  }
  const known = masks;
  return edits.map(({ start, end, text: mask }) => {
    return { start, end, text: known.numbered(mask, text.slice(start, end)) };
  });
}

/**
 * 1, except in a resumed conversation: its history contains masks of earlier turns, whose originals are no longer known.
 * A start derived from the request id avoids reusing their numbers.
 */
function firstNumber(x: Exchange): number {
  if (x.body["session_id"] === undefined) return 1;
  return 1000 + (Number.parseInt(x.requestId.slice(0, 8), 16) % 999_000);
}

class Masks {
  readonly originals = new Map<string, string>();
  /** By mask without its number, then by original. */
  readonly #numbered = new Map<string, Map<string, string>>();
  readonly #first: number;

  constructor(first: number) {
    this.#first = first;
  }

  numbered(mask: string, original: string): string {
    let alike = this.#numbered.get(mask);
    if (alike === undefined) this.#numbered.set(mask, (alike = new Map()));
    const known = alike.get(original);
    if (known !== undefined) return known;
    if (this.originals.size >= MASKS_MAX || original.length > ORIGINAL_MAX) return mask;
    const number = `_${this.#first + alike.size}`;
    const made = mask.endsWith("]") ? `${mask.slice(0, -1)}${number}]` : mask + number;
    alike.set(original, made);
    this.originals.set(made, original);
    return made;
  }
}

/** Puts originals back into an answer that arrives whole or in pieces. */
class Unmasking implements Delivery {
  readonly #masks: Masks;
  #pattern: RegExp | undefined;
  /** All proper prefixes of masks. */
  readonly #prefixes = new Set<string>();
  #longest = 0;
  /** Held back per channel (text, or a tool call): the prefix of a possible mask. */
  readonly #held = new Map<number | undefined, string>();

  constructor(masks: Masks) {
    this.#masks = masks;
  }

  push(piece: string, call?: number): string {
    const pattern = (this.#pattern ??= this.#prepare());
    const text = (this.#held.get(call) ?? "") + piece;
    let whole = text.length;
    for (let at = Math.max(0, text.length - this.#longest + 1); at < text.length; at++) {
      if (!this.#prefixes.has(text.slice(at))) continue;
      whole = at;
      break;
    }
    // A complete mask may contain the prefix of another one.
    let end = 0;
    const restored = text.replace(pattern, (mask: string, at: number) => {
      if (at >= whole) return mask;
      end = at + mask.length;
      return this.#original(mask, call);
    });
    if (end > whole || whole === text.length) {
      this.#held.delete(call);
      return restored;
    }
    this.#held.set(call, text.slice(whole));
    return restored.slice(0, restored.length - (text.length - whole));
  }

  flush(call?: number): string {
    const held = this.#held.get(call) ?? "";
    this.#held.delete(call);
    return this.#pattern === undefined
      ? held
      : held.replace(this.#pattern, (mask) => this.#original(mask, call));
  }

  #original(mask: string, call: number | undefined): string {
    const original = this.#masks.originals.get(mask) ?? mask;
    // Arguments are JSON.
    return call === undefined ? original : JSON.stringify(original).slice(1, -1);
  }

  /** Called when the answer begins: no more masks are added. */
  #prepare(): RegExp {
    const masks = [...this.#masks.originals.keys()].sort((a, b) => b.length - a.length);
    this.#longest = masks[0]?.length ?? 0;
    for (const mask of masks) {
      for (let length = 1; length < mask.length; length++) this.#prefixes.add(mask.slice(0, length));
    }
    const sources = masks.map((mask) => mask.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    return new RegExp(sources.length === 0 ? "(?!)" : sources.join("|"), "g");
  }
}
