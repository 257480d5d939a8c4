/** A text that a simple regular expression matches: literals, classes, groups, alternatives and counts. */

/** undefined: the expression has something that is not covered here, such as look-around. */
export function patternSample(source: string): string | undefined {
  const reader = new Reader(source.replace(/^\(\?[a-z]+\)/, ""));
  try {
    const sample = reader.alternatives();
    return reader.isOver ? sample : undefined;
  } catch (thrown) {
    if (thrown instanceof Unsupported) return undefined;
    throw thrown;
  }
}

class Unsupported extends Error {}

const CLASSES: Readonly<Record<string, string>> = { d: "7", w: "a", s: " ", D: "x", W: " ", S: "x" };
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
/** Expressions are short; so are samples. */
const REPEAT_MAX = 200;

class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  get isOver(): boolean {
    return this.#at >= this.#source.length;
  }

  /** The first of them. */
  alternatives(): string {
    const first = this.#sequence();
    while (this.#take("|")) this.#sequence();
    return first;
  }

  #sequence(): string {
    let text = "";
    while (!this.isOver && this.#peek() !== "|" && this.#peek() !== ")") text += this.#repeated();
    return text;
  }

  #repeated(): string {
    const one = this.#atom();
    const count = this.#count();
    this.#take("?");
    return one.repeat(count);
  }

  /** How often what was read must occur: the least, and once where it need not. */
  #count(): number {
    if (this.#take("*") || this.#take("+") || this.#take("?")) return 1;
    const counted = /^\{(\d+)(,\d*)?\}/.exec(this.#source.slice(this.#at));
    if (counted === null) return 1;
    this.#at += counted[0].length;
    const count = Number(counted[1]);
    if (count > REPEAT_MAX) throw new Unsupported();
    return Math.max(count, counted[2] === undefined ? count : 1);
  }

  #atom(): string {
    const character = this.#next();
    switch (character) {
      case "^":
      case "$":
        return "";
      case ".":
        return "x";
      case "(":
        return this.#group();
      case "[":
        return this.#class();
      case "\\":
        return this.#escaped();
      default:
        return character;
    }
  }

  #group(): string {
    const named = /^\?(?::|P?<[A-Za-z]\w*>)/.exec(this.#source.slice(this.#at));
    if (named !== null) this.#at += named[0].length;
    else if (this.#peek() === "?") throw new Unsupported();
    const text = this.alternatives();
    if (!this.#take(")")) throw new Unsupported();
    return text;
  }

  #escaped(): string {
    const character = this.#next();
    if (character === "b" || character === "A" || character === "z") return "";
    if (character === "p" || character === "P" || character === "x" || character === "u" || character === "B")
      throw new Unsupported();
    return CLASSES[character] ?? CONTROLS[character] ?? character;
  }

  #class(): string {
    const end = this.#source.indexOf("]", this.#at + 1);
    if (end < 0) throw new Unsupported();
    const body = this.#source.slice(this.#at, end);
    this.#at = end + 1;
    if (body.startsWith("[:")) throw new Unsupported();
    if (body.startsWith("^")) return excluded(body.slice(1));
    if (body.startsWith("\\")) return CLASSES[body[1] ?? ""] ?? body[1] ?? "";
    return body[0] ?? "";
  }

  #peek(): string {
    return this.#source[this.#at] ?? "";
  }

  #next(): string {
    return this.#source[this.#at++] ?? "";
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }
}

function excluded(body: string): string {
  const sample = [..."x7 -"].find((character) => !body.includes(character));
  if (sample === undefined || body.includes("\\")) throw new Unsupported();
  return sample;
}
