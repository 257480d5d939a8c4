/**
 * The seams between adjacent texts of one role: the end of what precedes a text and its beginning, as one text, so that
 * a phrase split over two messages or parts is found. For guardrails with `joinsTexts`.
 */
import type { Role } from "../plugin/chat.ts";
import type { Guardrail } from "../plugin/index.ts";
import type { JudgedText } from "./texts.ts";

/** Judged on each side of a seam where a guardrail needs whole texts. */
const SIDE_CHARACTERS_MAX = 8192;

export class AdjacentTexts {
  readonly #sideCharacters: number;
  #role: Role | undefined;
  /** End of the texts of the role before `#last`. */
  #before = "";
  /** Newest text of the role: joined with those before it only when another one follows, which most calls do not have. */
  #last = "";

  constructor({ window }: Guardrail) {
    const longest = typeof window === "number" ? window : SIDE_CHARACTERS_MAX;
    this.#sideCharacters = Math.min(Math.max(1, longest), SIDE_CHARACTERS_MAX);
  }

  /** A message begins. Another role than before ends the row. */
  enter(role: Role): void {
    if (role !== this.#role) this.forget();
    this.#role = role;
  }

  /** The seam between the texts before this one and this one; undefined: there is none. */
  seam(next: JudgedText): JudgedText | undefined {
    if (next.isMessageText !== true) return undefined;
    const before = this.#textsBefore();
    this.#before = before;
    this.#last = next.text;
    if (before === "") return undefined;
    const beginning = beginningOf(next.text, this.#sideCharacters);
    if (beginning === "") return undefined;
    const joined = `${before}\n${beginning}`;
    // Edits would have to be split between two messages: what is masked is masked in each of them alone.
    return {
      source: joined,
      text: joined,
      edit: () => undefined,
      withhold: (notice) => next.withhold(notice),
    };
  }

  /** Of several short messages each is part of the seam. */
  #textsBefore(): string {
    if (this.#before === "" && this.#last === "") return "";
    const all = this.#before === "" ? this.#last : `${this.#before}\n${this.#last}`;
    return endOf(all, this.#sideCharacters);
  }

  /** The last text does not go on: nothing is joined with it. */
  forget(): void {
    this.#before = "";
    this.#last = "";
  }
}

/** A cut word could read as another one: it is left out. Longer rows without a space have no words to cut. */
const WORD_CHARACTERS_MAX = 64;

function endOf(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const end = text.slice(-characters);
  const space = end.slice(0, WORD_CHARACTERS_MAX).search(/\s/);
  return space === -1 ? end : end.slice(space + 1);
}

function beginningOf(text: string, characters: number): string {
  if (text.length <= characters) return text;
  for (let at = characters; at > Math.max(0, characters - WORD_CHARACTERS_MAX); at--) {
    if (/\s/.test(text[at] ?? "")) return text.slice(0, at);
  }
  return text.slice(0, characters);
}
