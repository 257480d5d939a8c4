/**
 * Most events of a stream differ in their text alone, and in how many spaces stand before the last brace. Once one has
 * been parsed, the others are recognised by what stands around the text, and only the text is read. Knows no vendor.
 */

/** Shapes learned per stream; one whose events keep varying is parsed as usual. */
const SHAPES_MAX = 64;

/** Stands in the place of the text to prove that the shape holds nothing but it. */
const PROBE = "\u0007probe";

const SPACE = 32;
const BRACE = 125;

export class PaddedText {
  #before = "";
  #shapesLeft = SHAPES_MAX;

  /** The text of an event of the known shape, else undefined. */
  of(event: string): string | undefined {
    const from = this.#before.length;
    // Not startsWith: it compares character by character, three times slower.
    if (from === 0 || event.slice(0, from) !== this.#before) return undefined;
    const to = literalEnd(event);
    if (to <= from) return undefined;
    try {
      const text: unknown = JSON.parse(event.slice(from, to));
      if (typeof text === "string") return text;
    } catch {
      // More than a text differs: not a shape to go by.
    }
    this.#before = "";
    return undefined;
  }

  /** Learns from an event that was parsed; `read` gives the text of one, undefined where it is no plain event. */
  learn(event: string, text: string, read: (event: string) => string | undefined): void {
    if (this.#shapesLeft === 0) return;
    this.#shapesLeft--;
    const literal = JSON.stringify(text);
    const to = literalEnd(event);
    const before = event.slice(0, to - literal.length);
    if (to <= literal.length || event.slice(before.length, to) !== literal) return;
    if (read(before + JSON.stringify(PROBE) + event.slice(to)) === PROBE) this.#before = before;
  }
}

/** Where the text ends that two braces close, whatever space there is between them; 0: there are no two. */
function literalEnd(event: string): number {
  let at = event.length - 1;
  if (event.charCodeAt(at) !== BRACE) return 0;
  do at--;
  while (event.charCodeAt(at) === SPACE);
  return event.charCodeAt(at) === BRACE ? at : 0;
}
