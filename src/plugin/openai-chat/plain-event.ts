/**
 * Most events of a stream are byte for byte the same but for their text. Once one has been parsed, the others are
 * recognised by what stands around the text, and only the text is: a tenth of the cost of parsing them whole.
 */

/** Shapes tried per stream; a vendor whose events vary is parsed as usual. */
const SHAPES_MAX = 3;

/** Stands in the place of the text to prove that the shape holds nothing but it. */
const PROBE = "\u0007probe";

export class PlainEvents {
  #before = "";
  #after = "";
  #shapesLeft = SHAPES_MAX;

  /** The text of an event of the known shape, else undefined. */
  textOf(event: string): string | undefined {
    const from = this.#before.length;
    const to = event.length - this.#after.length;
    if (from === 0 || to <= from) return undefined;
    // Not startsWith: it compares character by character, three times slower.
    if (event.slice(0, from) !== this.#before || !event.endsWith(this.#after)) return undefined;
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
    const at = event.lastIndexOf(literal);
    if (at === -1) return;
    const before = event.slice(0, at);
    const after = event.slice(at + literal.length);
    if (read(before + JSON.stringify(PROBE) + after) !== PROBE) return;
    this.#before = before;
    this.#after = after;
  }
}
