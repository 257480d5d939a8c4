/**
 * Distinguishes telephone numbers from other numbers: by their form where that suffices, else by the words around them.
 * Nine digits of an order are not a telephone number; "call me on" and the same nine digits are.
 */
import { isDialedInside, isNational, isNorthAmerican, isPossibleInternational } from "./phone-regions.ts";
import { announcedBefore, namedBehind } from "./phone-words.ts";
import { isAmount, namesPart, STRUCTURE_CHARACTERS } from "./structure.ts";

/** `+` or `00`, a calling code and the rest, in groups of any kind. */
const INTERNATIONAL = /(?:\+\(?|00[ .-]?(?=\d+[ .-]))[1-9](?:[ .()/-]{0,3}\d){6,14}/y;
/** North America's 3-3-4, marked by brackets, dashes or dots; spaces alone could be any table of numbers. */
const NORTH_AMERICAN = /(?:1[ .-]?)?(?:\([2-9]\d\d\)[ .-]?|[2-9]\d\d[.-])[2-9]\d\d[ .-]\d{4}(?!\d)/y;
/** A trunk zero and at least three groups of like separators: `0494 92 82 32`. */
const WITH_TRUNK_ZERO = /\(?0[1-9]\d{0,3}\)?([ .-])\d{2,4}(?:\1\d{2,4}){1,4}(?!\d)/y;
/** Any other run of digits: the words next to it decide. */
const ANY = /\(?\d(?:[ .()/-]{0,3}\d){6,12}(?!\d)/y;
const DATE = /^(?:(?:19|20)\d\d([-./])\d\d?\1\d\d?|\d\d?([-./])\d\d?\2(?:19|20)\d\d)(?!\d)/;
/** Text written as bits, or a figure with nothing but zeros. */
const BITS = /^[01\D]+$/;
const VERSION = /^\d{1,3}(?:\.\d+)*\.\d\.|^\d\.\d/;
/** `12 345 678`: a figure in thousands, unless a region's plan knows it. */
const THOUSANDS = /^[1-9]\d{0,2}([ .])\d{3}(?:\1\d{3}){1,4}$/;
/** Fewer digits without a separator could be any figure. */
const UNGROUPED_DIGITS_MIN = 8;
const GROUPED = /\d[ .()/-]{1,3}\d/;
/** `x036`, `ext. 12`: belongs to the number before it. */
const EXTENSION = /[ ,]{0,2}(?:x|ext\.?|extension) ?\d{1,5}(?!\d)/iy;

/** Longest number with its separators; an extension comes on top. */
const FORM_CHARACTERS_MAX = 40;

/** A row of digits and separators in a text, with ASCII digits and separators in place of their look-alikes. */
export interface NumberRun {
  readonly text: string;
  /** Where the run begins in the text; `plain` has the same length as the run. */
  readonly start: number;
  readonly plain: string;
}

/** Whose national numbers are looked for. */
export interface PhoneRegions {
  readonly regions: readonly string[];
  /** The configuration names them: their numbers are found without words too, those of other regions only with words. */
  readonly isChosen: boolean;
}

/** Length of the telephone number that begins at `offset` of the run; 0: none does. */
export function phoneLength(run: NumberRun, offset: number, regions: PhoneRegions): number {
  const length = formLength(run, offset, regions);
  if (length === 0 || length > FORM_CHARACTERS_MAX) return 0;
  EXTENSION.lastIndex = run.start + offset + length;
  return length + (EXTENSION.exec(run.text)?.[0].length ?? 0);
}

function formLength(run: NumberRun, offset: number, regions: PhoneRegions): number {
  const { plain } = run;
  const international = internationalLength(plain, offset);
  if (international > 0) return international;
  if (plain[offset] === "+") return 0;
  return unannouncedLength(run, offset, regions) || announcedLength(run, offset, regions);
}

/** A number whose form suffices, unless the text around it shows that it is something else. */
function unannouncedLength(run: NumberRun, offset: number, { regions, isChosen }: PhoneRegions): number {
  const { plain, text } = run;
  const at = run.start + offset;
  if (/[-./_=&?]/.test(text[at - 1] ?? "")) return 0;
  const american = match(NORTH_AMERICAN, plain, offset);
  const hasAmerican = american !== "" && (!isChosen || isNorthAmerican(regions));
  const found = hasAmerican ? american : nationalForm(plain, offset, isChosen ? regions : undefined);
  return found === "" || isOtherThing(text, at, found.length) ? 0 : found.length;
}

function nationalForm(plain: string, offset: number, regions: readonly string[] | undefined): string {
  if (regions === undefined) {
    const found = match(WITH_TRUNK_ZERO, plain, offset);
    const digits = digitsOf(found).length;
    return digits >= 9 && digits <= 11 && !DATE.test(found) ? found : "";
  }
  const found = match(ANY, plain, offset);
  const isNumber = GROUPED.test(found) && !THOUSANDS.test(found) && !DATE.test(found) && !VERSION.test(found);
  return isNumber && isDialedInside(digitsOf(found), regions) ? found : "";
}

/** A number that words identify: "Phone: 358 0594", "450 0840 office". */
function announcedLength({ text, start, plain }: NumberRun, offset: number, regions: PhoneRegions): number {
  const found = match(ANY, plain, offset);
  if (found === "" || DATE.test(found) || VERSION.test(found) || BITS.test(found)) return 0;
  const end = offset + found.length;
  const announced = offset === 0 ? announcedBefore(text, start) : undefined;
  const isCertain = announced === "certain";
  const isNamed =
    end === plain.length &&
    (GROUPED.test(found) || isNational(digitsOf(found), regions.regions)) &&
    namedBehind(text, start + end);
  const isLikely = announced === "likely" || isNamed;
  if (!isCertain && !(isLikely && looksDialed(found, regions))) return 0;
  return isOtherThing(text, start + offset, found.length) ? 0 : found.length;
}

/** A number of a known plan, or one in groups that are not thousands. */
function looksDialed(found: string, { regions, isChosen }: PhoneRegions): boolean {
  if (!isChosen && GROUPED.test(found) && !THOUSANDS.test(found)) return true;
  const digits = digitsOf(found);
  return digits.length >= UNGROUPED_DIGITS_MIN && isNational(digits, regions);
}

function isOtherThing(text: string, at: number, length: number): boolean {
  const before = text.slice(Math.max(0, at - STRUCTURE_CHARACTERS), at);
  const behind = text.slice(at + length, at + length + STRUCTURE_CHARACTERS);
  return namesPart(before) || isAmount(before, behind);
}

/** Longest beginning that is a possible number of its country, by whole groups. */
function internationalLength(plain: string, offset: number): number {
  for (
    let found = match(INTERNATIONAL, plain, offset);
    found !== "";
    found = found.replace(/[ .()/-]*\d+$/, "")
  ) {
    const digits = digitsOf(found.replace(/\(0\)/, "")).replace(/^00/, "");
    if (digits.length < 7) return 0;
    if (isPossibleInternational(digits)) return found.length;
  }
  return 0;
}

function match(sticky: RegExp, text: string, at: number): string {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0] ?? "";
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, "");
}
