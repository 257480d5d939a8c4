/**
 * Finds which of many words stand at one place of a text, in a step a letter, however many the words are. An expression
 * of all of them is as fast, but the engine takes tens of milliseconds to compile it, amid the first calls.
 */

/** A step is a node and a letter of UTF-16 in one number. */
const LETTERS = 0x1_0000;
const ROOT = 0;
const BLANK = 32;

/** Words with a value each. A blank of a word stands for any row of blanks and line breaks. */
export class WordTree<Value> {
  /** By node. */
  readonly #values: (Value | undefined)[] = [undefined];
  /** A table of steps, open addressed and at most half full, and beside each the node that it leads to. */
  readonly #steps: Float64Array;
  readonly #nodes: Int32Array;

  constructor(words: Iterable<readonly [word: string, value: Value]>) {
    const all = [...words];
    const letters = all.reduce((sum, [word]) => sum + word.length, 1);
    const places = 2 ** Math.ceil(Math.log2(2 * letters));
    this.#steps = new Float64Array(places).fill(-1);
    this.#nodes = new Int32Array(places);
    for (const [word, value] of all) {
      let node = ROOT;
      for (let i = 0; i < word.length; i++) node = this.#grown(node * LETTERS + word.charCodeAt(i));
      this.#values[node] = value;
    }
  }

  /** Tells of each word that stands in the text at `at`, the shortest first, and where it ends. */
  visit(text: string, at: number, found: (value: Value, end: number) => void): void {
    let node = ROOT;
    for (let end = at; end < text.length; ) {
      const code = text.charCodeAt(end++);
      const blank = isBlank(code);
      node = this.#nodes[this.#placeOf(node * LETTERS + (blank ? BLANK : code))] ?? ROOT;
      if (node === ROOT) return;
      if (blank) while (isBlank(text.charCodeAt(end))) end++;
      const value = this.#values[node];
      if (value !== undefined) found(value, end);
    }
  }

  #grown(step: number): number {
    const place = this.#placeOf(step);
    if (this.#steps[place] !== step) {
      this.#steps[place] = step;
      this.#nodes[place] = this.#values.push(undefined) - 1;
    }
    return this.#nodes[place] ?? ROOT;
  }

  /** Where a step stands in the table, or would. */
  #placeOf(step: number): number {
    const steps = this.#steps;
    const mask = steps.length - 1;
    let place = (Math.imul(step, 0x9e3779b1) >>> 15) & mask;
    while (steps[place] !== step && steps[place] !== -1) place = (place + 1) & mask;
    return place;
  }
}

/** As `\s` has it; NaN, past the end of a text, is none. */
function isBlank(code: number): boolean {
  if (code < 128) return code === BLANK || (code >= 9 && code <= 13);
  return code >= 128 && /\s/.test(String.fromCharCode(code));
}
