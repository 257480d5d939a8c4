/**
 * Tells telephone numbers from other numbers: by their form where that says enough, else by the words around them.
 * Nine digits of an order are no telephone number; "call me on" and the same nine digits are.
 */
import { createRequire } from "node:module";
import type * as Libphonenumber from "libphonenumber-js/min";

/** `+` or `00`, a calling code and the rest, in groups of any kind. */
const INTERNATIONAL = /(?:\+\(?|00[ .-]?(?=\d+[ .-]))[1-9](?:[ .()/-]{0,3}\d){6,14}/y;
/** North America's 3-3-4, marked by brackets, dashes or dots; blanks alone could be any table of numbers. */
const NORTH_AMERICAN = /(?:1[ .-]?)?(?:\([2-9]\d\d\)[ .-]?|[2-9]\d\d[.-])[2-9]\d\d[ .-]\d{4}(?!\d)/y;
/** A trunk zero and at least three groups of like separators: `0494 92 82 32`. */
const WITH_TRUNK_ZERO = /\(?0[1-9]\d{0,3}\)?([ .-])\d{2,4}(?:\1\d{2,4}){1,4}(?!\d)/y;
/** Any other row of digits, for which the words beside it must speak. */
const ANY = /\(?\d(?:[ .()/-]{0,3}\d){6,11}(?!\d)/y;
const DATE = /^(?:(?:19|20)\d\d([-./])\d\d?\1\d\d?|\d\d?([-./])\d\d?\2(?:19|20)\d\d)(?!\d)/;
/** Text written as bits, or a figure with nothing but noughts. */
const BITS = /^[01\D]+$/;
const VERSION = /^\d{1,3}(?:\.\d+)*\.\d\.|^\d\.\d/;
/** `x036`, `ext. 12`: belongs to the number before it. */
const EXTENSION = /[ ,]{0,2}(?:x|ext\.?|extension) ?\d{1,5}(?!\d)/iy;

/** Longest number with its separators; an extension comes on top. */
const FORM_CHARACTERS_MAX = 40;

/** How far before a number a word may stand that says it is a telephone number, in code units. */
const CONTEXT_CHARACTERS = 48;

/** A row of digits and separators in a text, with ASCII digits and separators in place of their look-alikes. */
export interface NumberRun {
  readonly text: string;
  /** Where the run begins in the text; `plain` has the same length as the run. */
  readonly start: number;
  readonly plain: string;
}

/** Length of the telephone number that begins at `offset` of the run; 0: none does. */
export function phoneLength(run: NumberRun, offset: number): number {
  const length = formLength(run, offset);
  if (length === 0 || length > FORM_CHARACTERS_MAX) return 0;
  EXTENSION.lastIndex = run.start + offset + length;
  return length + (EXTENSION.exec(run.text)?.[0].length ?? 0);
}

function formLength(run: NumberRun, offset: number): number {
  const { plain } = run;
  const international = internationalLength(plain, offset);
  if (international > 0) return international;
  if (plain[offset] === "+") return 0;
  const glued = /[-./_=&?]/.test(run.text[run.start + offset - 1] ?? "");
  if (!glued) {
    const american = match(NORTH_AMERICAN, plain, offset);
    if (american !== "") return american.length;
    const national = match(WITH_TRUNK_ZERO, plain, offset);
    const digits = digitCount(national);
    if (digits >= 9 && digits <= 11 && !DATE.test(national)) return national.length;
  }
  return spokenForLength(run, offset);
}

/** A number whose words say what it is: "Phone: 358 0594", "450 0840 office". */
function spokenForLength({ text, start, plain }: NumberRun, offset: number): number {
  const found = match(ANY, plain, offset);
  if (found === "" || DATE.test(found) || VERSION.test(found) || BITS.test(found)) return 0;
  const end = offset + found.length;
  if (offset === 0 && saysPhoneBefore(text, start)) return found.length;
  return end === plain.length && saysPhoneAfter(text, start + end) ? found.length : 0;
}

/** Words that announce a telephone number, and words that may stand between them and it. */
const ANNOUNCING = new Set(
  (
    "phone phones telephone tel mobile cell cellphone cellular fax call calls calling called ring dial text sms whatsapp " +
    "signal reach contact answer answering message messages desk hotline helpline landline voicemail " +
    "telefon telefonnummer rufnummer handy handynummer mobil mobilnummer durchwahl anrufen telefoon mobiel " +
    "téléphone téléphoner tél portable appeler appelez teléfono móvil celular llamar llámame telefono cellulare " +
    "chiamare telefone telemóvel ligar puhelin komórka телефон тел мобильный звонить позвоните"
  ).split(" "),
);
const BETWEEN = new Set(
  (
    "number numbers no nr num numéro número numero nummer номер is are at on to or and me us him her them my our your " +
    "his their the a home work office back direct registered unter an ist le au el al la il est es"
  ).split(" "),
);
/** Words that name the number before them. */
const NAMING = /^[\s,(-]{0,3}(?:office|fax|mobile|cell|home|work|phone|tel|telephone|landline|desk)\b/i;
/** The same in scripts without blanks between words. */
const UNSPACED_WORD = /电话|電話|手机|手機|号码|携帯|전화|휴대폰|โทร/;

function saysPhoneBefore(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - CONTEXT_CHARACTERS), at);
  if (UNSPACED_WORD.test(before.slice(-12))) return true;
  const words = before.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  for (let i = words.length - 1; i >= 0 && i >= words.length - 6; i--) {
    const word = words[i] ?? "";
    if (ANNOUNCING.has(word)) return true;
    if (!BETWEEN.has(word)) return false;
  }
  return false;
}

function saysPhoneAfter(text: string, at: number): boolean {
  return NAMING.test(text.slice(at, at + 16));
}

/** Longest beginning that is a possible number of its country, by whole groups. */
function internationalLength(plain: string, offset: number): number {
  for (
    let found = match(INTERNATIONAL, plain, offset);
    found !== "";
    found = found.replace(/[ .()/-]*\d+$/, "")
  ) {
    const digits = found.replace(/\(0\)/, "").replace(/\D/g, "").replace(/^00/, "");
    if (digits.length < 7) return 0;
    if (isPossible(digits)) return found.length;
  }
  return 0;
}

/** Lengths of national numbers by calling code. Read from libphonenumber at the first `+`, since that takes 40 ms. */
let nationalLengths: ReadonlyMap<string, ReadonlySet<number>> | undefined;

function isPossible(digits: string): boolean {
  nationalLengths ??= readNationalLengths();
  for (let code = 1; code <= 3; code++) {
    const lengths = nationalLengths.get(digits.slice(0, code));
    if (lengths !== undefined) return lengths.has(digits.length - code);
  }
  return false;
}

function readNationalLengths(): ReadonlyMap<string, ReadonlySet<number>> {
  const require = createRequire(import.meta.url);
  // What require returns is what the package's own types say.
  const { Metadata, getCountries, getCountryCallingCode } =
    require("libphonenumber-js/min") as typeof Libphonenumber;
  const metadata = new Metadata();
  const lengths = new Map<string, Set<number>>();
  for (const country of getCountries()) {
    metadata.selectNumberingPlan(country);
    const code = getCountryCallingCode(country);
    const known = lengths.get(code) ?? new Set<number>();
    for (const length of metadata.numberingPlan?.possibleLengths() ?? []) known.add(length);
    lengths.set(code, known);
  }
  return lengths;
}

function match(sticky: RegExp, text: string, at: number): string {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0] ?? "";
}

function digitCount(text: string): number {
  return text.replace(/\D/g, "").length;
}
