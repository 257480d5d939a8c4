/**
 * Joins adjacent texts of one role: the end of the preceding texts and the beginning of the next one, judged as one text,
 * so that a phrase split over two messages or parts is found. For guardrails with `joinsTexts`.
 */
import type { Role } from "../plugin/chat.ts";
import type { Guardrail } from "../plugin/index.ts";
import type { JudgedText } from "./texts.ts";

/** Characters on each side of a seam for guardrails that need whole texts. */
const SIDE_CHARACTERS_MAX = 8192;

export class AdjacentTexts {
  readonly #sideCharacters: number;
  #role: Role | undefined;
  /** End of the role's texts before `#last`. */
  #before = "";
  /** Newest text of the role. Joined with `#before` only when another text follows, which is rare. */
  #last = "";

  constructor({ window }: Guardrail) {
    const longest = typeof window === "number" ? window : SIDE_CHARACTERS_MAX;
    this.#sideCharacters = Math.min(Math.max(1, longest), SIDE_CHARACTERS_MAX);
  }

  /** A message begins. A change of role ends the sequence. */
  enter(role: Role): void {
    if (role !== this.#role) this.forget();
    this.#role = role;
  }

  /** The seam between the preceding texts and this one; undefined: there is none. */
  seam(next: JudgedText): JudgedText | undefined {
    if (next.isMessageText !== true) return undefined;
    const before = this.#textsBefore();
    this.#before = before;
    this.#last = next.text;
    if (before === "") return undefined;
    const beginning = beginningOf(next.text, this.#sideCharacters);
    if (beginning === "") return undefined;
    const joined = `${before}\n${beginning}`;
    // Only blocks count: an edit would have to be split between two messages.
    return {
      source: joined,
      text: joined,
      edit: () => undefined,
      withhold: (notice) => next.withhold(notice),
    };
  }

  /** Several short messages can be part of one seam. */
  #textsBefore(): string {
    if (this.#before === "" && this.#last === "") return "";
    const all = this.#before === "" ? this.#last : `${this.#before}\n${this.#last}`;
    return endOf(all, this.#sideCharacters);
  }

  /** The last text was withheld: nothing is joined with it. */
  forget(): void {
    this.#before = "";
    this.#last = "";
  }
}

/** A cut word could read as another word, so it is dropped. Longer runs without a space are cut anywhere. */
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
