/** Scans what stands in brackets or quotes, over as many lines as it takes, for what is not closed or not separated. */

/** A mistake in the layout of a text: the one thing to change. */
export interface Cause {
  readonly start: number;
  readonly end: number;
  readonly message: string;
  readonly help?: string;
  /** Replaces the piece from `start` to `end`. */
  readonly suggestion?: string;
}

interface Bracket {
  readonly mark: "{" | "[";
  readonly at: number;
  /** True after the `: ` of the current entry. */
  hasColon: boolean;
}

const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" };

export class FlowScanner {
  readonly #text: string;
  readonly #from: number;
  /** Lines that are not indented deeper belong to what is around. */
  readonly #owner: number;
  readonly #open: Bracket[] = [];
  #at: number;
  /** The last character that is neither blank nor comment. */
  #last = "";
  /** Where the last word began. */
  #word = 0;

  constructor(text: string, from: number, owner: number) {
    this.#text = text;
    this.#from = from;
    this.#at = from;
    this.#owner = owner;
  }

  /** The first position after the value, when `scan` finds nothing. */
  get end(): number {
    return this.#at;
  }

  scan(): Cause | undefined {
    const text = this.#text;
    do {
      const mark = text[this.#at];
      if (mark === undefined) return this.#unclosed();
      const cause = this.#step(mark);
      if (cause !== undefined) return cause;
    } while (this.#open.length > 0);
    return undefined;
  }

  #step(mark: string): Cause | undefined {
    const before = this.#text[this.#at - 1] ?? "";
    if (mark === "\n") return this.#newLine();
    if (mark === " " || mark === "\t" || mark === "\r") {
      this.#at += 1;
      return undefined;
    }
    if (mark === "#" && /\s/.test(before)) {
      const end = this.#text.indexOf("\n", this.#at);
      this.#at = end < 0 ? this.#text.length : end;
      return undefined;
    }
    if ((mark === '"' || mark === "'") && this.#startsValue()) return this.#quoted(mark);
    if (/\s/.test(before) || !/[\w"']/.test(this.#last)) this.#word = this.#at;
    if (mark === ":" && /[\s,{}[\]]|^$/.test(this.#text[this.#at + 1] ?? "")) return this.#colon();
    if (mark === "{" || mark === "[") this.#open.push({ mark, at: this.#at, hasColon: false });
    else if (mark === "}" || mark === "]") return this.#close(mark);
    else if (mark === ",") this.#entry().hasColon = false;
    this.#last = mark;
    this.#at += 1;
    return undefined;
  }

  /** Quotes inside a plain word are part of it. */
  #startsValue(): boolean {
    return this.#open.length === 0 || "{[,:".includes(this.#last) || this.#last === "";
  }

  #entry(): { hasColon: boolean } {
    return this.#open.at(-1) ?? { hasColon: false };
  }

  #colon(): Cause | undefined {
    const entry = this.#entry();
    const isValue = this.#open.at(-1)?.mark === "{" && entry.hasColon && this.#last !== ":";
    if (isValue) {
      const message = "a `,` is missing before this key";
      const help = "separate entries with `,`, and put a value that contains `: ` in quotes";
      return { start: this.#word, end: this.#at, message, help };
    }
    entry.hasColon = true;
    this.#last = ":";
    this.#at += 1;
    return undefined;
  }

  #close(mark: string): Cause | undefined {
    const open = this.#open.pop();
    this.#last = mark;
    this.#at += 1;
    if (open === undefined || CLOSING[open.mark] === mark) return undefined;
    const message = `this \`${open.mark}\` is not closed: \`${mark}\` comes first`;
    return { start: open.at, end: open.at + 1, message, help: `add \`${CLOSING[open.mark]}\` before it` };
  }

  #newLine(): Cause | undefined {
    const start = this.#at + 1;
    const lineEnd = this.#text.indexOf("\n", start);
    const line = this.#text.slice(start, lineEnd < 0 ? this.#text.length : lineEnd);
    const content = line.trimStart();
    this.#at = start;
    if (content === "" || content.startsWith("#")) return undefined;
    const isEntry = /^(?:-\s|["']?[\w.-]+["']?:(?:\s|$))/.test(content);
    const isOutside = line.length - content.length <= this.#owner && !/^[}\]]/.test(content);
    if (isEntry && (isOutside || !"{[,:".includes(this.#last))) return this.#unclosed(isOutside);
    return undefined;
  }

  #unclosed(isCertain = true): Cause {
    const open = this.#open.at(-1) ?? { mark: "{" as const, at: this.#from };
    const message = isCertain
      ? `this \`${open.mark}\` is not closed`
      : `this \`${open.mark}\` is not closed, or a \`,\` is missing at the end of a line`;
    return { start: open.at, end: open.at + 1, message, help: `add \`${CLOSING[open.mark]}\`` };
  }

  /** Past a text in quotes, which may go on over lines that are indented deeper than its owner. */
  #quoted(mark: '"' | "'"): Cause | undefined {
    const from = this.#at;
    const text = this.#text;
    for (let at = from + 1; at < text.length; at++) {
      const character = text[at];
      if (character === "\\" && mark === '"') at += 1;
      else if (character === mark && mark === "'" && text[at + 1] === "'") at += 1;
      else if (character === mark) {
        this.#at = at + 1;
        this.#word = from;
        this.#last = mark;
        return undefined;
      } else if (character === "\n" && this.#leaves(at + 1)) break;
    }
    const message = `this \`${mark}\` is not closed`;
    return { start: from, end: from + 1, message, help: `add the closing \`${mark}\`` };
  }

  /** True when the line that begins here belongs to what is around. */
  #leaves(start: number): boolean {
    let at = start;
    while (this.#text[at] === " ") at += 1;
    const mark = this.#text[at];
    return mark !== undefined && mark !== "\n" && mark !== "\r" && at - start <= this.#owner;
  }
}
