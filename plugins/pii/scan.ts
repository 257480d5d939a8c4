/**
 * Finds personal data in a text. Examines only places with a sign of it (an @, a digit, a colon), each within bounds, so
 * that any text takes time proportional to its length.
 */
import { type Finding, withoutOverlaps } from "../text/findings.ts";
import { ipv4Length, ipv6Around } from "./address.ts";
import {
  ibanChecksumHolds,
  ibanLength,
  isCardNumber,
  isSocialSecurityNumber,
  KIND_WORDS,
  type PiiKind,
} from "./kinds.ts";
import { type NumberRun, type PhoneRegions, phoneLength } from "./phone.ts";
import { DEFAULT_REGIONS } from "./phone-regions.ts";
import { namesPart, STRUCTURE_CHARACTERS } from "./structure.ts";

type PiiFinding = Finding<PiiKind>;

/** What is looked for. */
export interface PiiSearch {
  readonly kinds: ReadonlySet<PiiKind>;
  readonly phones: PhoneRegions;
}

/** The search for these kinds. `regions`: whose national telephone numbers; undefined: those of common regions. */
export function piiSearch(kinds: readonly PiiKind[], regions?: readonly string[]): PiiSearch {
  const isChosen = regions !== undefined && regions.length > 0;
  return { kinds: new Set(kinds), phones: { regions: isChosen ? regions : DEFAULT_REGIONS, isChosen } };
}

/** All personal data that is searched for, ascending, not overlapping. */
export function findPii(text: string, search: PiiSearch): readonly PiiFinding[] {
  const { kinds } = search;
  const found: PiiFinding[] = [];
  if (kinds.has("email")) findEmails(text, found);
  if (kinds.has("ip_address")) findIpv6(text, found);
  if (kinds.size > 1 || !kinds.has("email")) findNumbers(text, search, found);
  return withoutOverlaps(found);
}

/** Letters of scripts with blanks between words, digits, and the signs that mailbox names do hold. */
const LOCAL_PART = /[\w.%&'*+~\u00aa-\u1fff-]{1,64}$/;
const LOCAL_PART_UNSPACED = /[\p{L}\p{N}]{1,32}$/u;
const DOMAIN = /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,8}\p{L}{2,24}/uy;
const ASCII_DOMAIN =
  /(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,8}(?:xn--[a-z0-9-]{1,59}|[a-z]{2,24})(?![\w-])/iy;
/** `https://name:word@host`: the way into a URL, not a mailbox. */
const URL_LOGIN = /:\/\/[^\s/@]*$/;
/** `Copyright (c) 2013 Ada Example <`: the line of a license, whose author has published the address. */
const SIGNED =
  /(?:^|\n)[ \t*/#-]{0,8}Copyright (?:\(c\) |© )?(?:19|20)\d\d(?:[-, ]{1,3}(?:(?:19|20)\d\d|present)){0,4},? (?:by )?(?:[\p{L}.'-]{1,24} ){1,5}(?:<|&lt;)$/iu;
const SIGNED_CHARACTERS = 120;
/** Mailboxes of roles that every domain has (RFC 2142) or that are not read. */
const ROLE = /^(?:no-?reply|do-?not-?reply|abuse|postmaster|hostmaster|webmaster|mailer-daemon|security)@/i;
/** `icon@2x.png`: a file, not a domain. */
const FILE_ENDING = /\.(?:png|jpe?g|gif|svg|webp|ico|css|js|ts|map|json|md|tgz|zip)$/i;

function findEmails(text: string, found: PiiFinding[]): void {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    // An "at" between blanks, or at either end of the text.
    if (!(text.charCodeAt(at - 1) > 32 && text.charCodeAt(at + 1) > 32)) continue;
    const before = text.slice(Math.max(0, at - 64), at);
    const local = (LOCAL_PART.exec(before) ?? LOCAL_PART_UNSPACED.exec(before))?.[0].replace(
      /^[^\p{L}\p{N}_]+/u,
      "",
    );
    if (local === undefined || local === "" || local.endsWith(".")) continue;
    const domain = matchAt(ASCII_DOMAIN, text, at + 1) || matchAt(DOMAIN, text, at + 1);
    const end = at + 1 + domain.length;
    // `git@host:path` names a repository.
    if (domain === "" || FILE_ENDING.test(domain) || (local === "git" && text[end] === ":")) continue;
    const start = at - local.length;
    if (URL_LOGIN.test(before) || ROLE.test(text.slice(start, at + 1))) continue;
    if (end - start > KIND_WORDS.email.charactersMax) continue;
    if (SIGNED.test(text.slice(Math.max(0, start - SIGNED_CHARACTERS), start))) continue;
    found.push({ name: "email", start, end });
  }
}

function findIpv6(text: string, found: PiiFinding[]): void {
  let end = 0;
  for (let colon = text.indexOf(":"); colon !== -1; colon = text.indexOf(":", Math.max(end, colon + 1))) {
    const run = ipv6Around(text, colon, end);
    if (run === undefined) continue;
    end = run.end;
    if (!run.isAddress || isWordAt(text, run.start - 1) || isWordAt(text, end)) continue;
    found.push({ name: "ip_address", start: run.start, end });
  }
}

const DIGIT = "0-9\uff10-\uff19\u0660-\u0669\u06f0-\u06f9";
/** Spaces, dashes and signs of any script between groups of digits. */
const SEPARATOR =
  " \\t.()/\\u00a0\\u1680\\u2000-\\u200b\\u202f\\u205f\\u2060\\u3000\\ufeff\\u2010-\\u2015\\u2212\\ufe58\\ufe63\\uff0d\\uff0e-";
const RUN = new RegExp(`[${DIGIT}](?:[${SEPARATOR}]{0,3}[${DIGIT}])+`, "g");

function findNumbers(text: string, search: PiiSearch, found: PiiFinding[]): void {
  RUN.lastIndex = 0;
  for (let row = RUN.exec(text); row !== null; row = RUN.exec(text)) {
    if (search.kinds.has("iban")) {
      const start = row.index - 2;
      const length = ibanAt(text, start);
      if (length > 0) {
        found.push({ name: "iban", start, end: start + length });
        RUN.lastIndex = start + length;
        continue;
      }
    }
    if (row[0].length >= 7) classify(numberRun(text, row.index, row[0]), search, found);
  }
}

/** Takes in the `+` and the bracket before the digits, and writes digits and separators in ASCII. */
function numberRun(text: string, at: number, digits: string): NumberRun {
  let start = at;
  if (text[start - 1] === "(") start--;
  if (/[+＋]/.test(text[start - 1] ?? "")) start--;
  const row = text.slice(start, at) + digits;
  return { text, start, plain: /^[\d +().\-/]*$/.test(row) ? row : row.replace(/[^ +().\-/]/gu, asciiOf) };
}

/** Digits of any script in the run have their value in the last four bits; everything else is a dash, a dot or a blank. */
function asciiOf(char: string): string {
  const code = char.charCodeAt(0);
  if (/\p{Nd}/u.test(char)) return String(code & 15);
  if (char === "＋") return "+";
  if (code === 0xff0e) return ".";
  return /[\s\u200b\u2060]/.test(char) ? " " : "-";
}

/** Gives each group of digits, from left to right, to the first kind that takes it. */
function classify(run: NumberRun, search: PiiSearch, found: PiiFinding[]): void {
  const { text, start, plain } = run;
  // Digits that end a word are part of it; those after a blank are not.
  let offset = isWordAt(text, start - 1) ? afterBlank(plain) : 0;
  while (offset < plain.length) {
    const [kind, length] = kindAt(run, offset, search);
    if (kind !== undefined && !isWordAt(text, start + offset + length)) {
      found.push({ name: kind, start: start + offset, end: start + offset + length });
      offset += length;
    }
    GROUP.lastIndex = offset;
    const group = GROUP.exec(plain)?.[0];
    if (group === undefined) return;
    offset += Math.max(1, group.length);
  }
}

function afterBlank(plain: string): number {
  const blank = plain.indexOf(" ");
  return blank === -1 ? plain.length : blank + 1;
}

/** The rest of a group and what separates it from the next. */
const GROUP = /\+?\(?\d*[^\d(]*/y;

const NOTHING = [undefined, 0] as const;

function kindAt(
  run: NumberRun,
  at: number,
  { kinds, phones }: PiiSearch,
): readonly [PiiKind | undefined, number] {
  const card = kinds.has("credit_card") ? cardLength(run.plain, at) : 0;
  if (card > 0) return ["credit_card", card];
  const ssn = kinds.has("ssn") ? ssnLength(run, at) : 0;
  if (ssn > 0) return ["ssn", ssn];
  const place = { text: run.text, at: run.start + at };
  const ip = kinds.has("ip_address") ? ipv4Length(run.plain, at, place) : 0;
  if (ip > 0) return ["ip_address", ip];
  const phone = kinds.has("phone") ? phoneLength(run, at, phones) : 0;
  return phone > 0 ? ["phone", phone] : NOTHING;
}

/** As cards are printed and typed: in one, in fours, or 4-6-5 and 4-6-4. */
const CARD_FORMS = [
  /\d{12,19}(?!\d)/y,
  /\d{4}([ .-])\d{4}\1\d{4}\1\d{4}\1\d{3}(?!\d)/y,
  /\d{4}([ .-])\d{4}\1\d{4}\1\d{1,4}(?!\d)/y,
  /\d{4}([ .-])\d{6}\1\d{4,5}(?!\d)/y,
];

function cardLength(plain: string, at: number): number {
  for (const form of CARD_FORMS) {
    const found = matchAt(form, plain, at);
    if (found !== "" && isCardNumber(found.replace(/\D/g, ""))) return found.length;
  }
  return 0;
}

const SSN_DASHED = /\d{3}-\d{2}-\d{4}(?![\d-])/y;
const SSN_OTHER = /\d{3} ?\d{2} ?\d{4}(?!\d)/y;
const SSN_CONTEXT_CHARACTERS = 48;
const SAYS_SSN = /\b(?:ssn|social security(?: (?:number|no|num))?)\b[^\n\d]{0,16}$/i;

/** With dashes the form suffices; with blanks or none, words are needed. */
function ssnLength({ text, start, plain }: NumberRun, at: number): number {
  if (plain[at - 1] === "-" || plain[at - 1] === ".") return 0;
  const dashed = matchAt(SSN_DASHED, plain, at);
  const before = text.slice(Math.max(0, start + at - SSN_CONTEXT_CHARACTERS), start + at);
  if (dashed !== "") {
    const isNumber = isSocialSecurityNumber(dashed.replaceAll("-", ""));
    return isNumber && (SAYS_SSN.test(before) || !isPartNumber(text, before, start + at + dashed.length))
      ? dashed.length
      : 0;
  }
  const other = at === 0 ? matchAt(SSN_OTHER, plain, at) : "";
  if (other === "" || !isSocialSecurityNumber(other.replaceAll(" ", ""))) return 0;
  return SAYS_SSN.test(before) ? other.length : 0;
}

/** Words that name a part, or a sign that ties the digits to more of a name: `AB-219-45-6789`, `219-45-6789/B`. */
function isPartNumber(text: string, before: string, end: number): boolean {
  if (/[\p{L}\d][-_/.]$|[#=&?]$/u.test(before) || /^[-_/][\p{L}\d]/u.test(text.slice(end, end + 2)))
    return true;
  return namesPart(before.slice(-STRUCTURE_CHARACTERS));
}

/** What may separate the groups of an IBAN: any space, also with a second one, or a dash. */
const IBAN_GAP = /^[\s\u200b\u2060]{2}$/;
const IBAN_GAP_ONE = /^[\s\u200b\u2060\p{Pd}]$/u;

/** Length of the IBAN that begins at `at`, blanks and dashes between its characters included; 0: none does. */
function ibanAt(text: string, at: number): number {
  if (at < 0 || !isLetter(text.charCodeAt(at + 1)) || isWordAt(text, at - 1)) return 0;
  const characters = ibanLength(text.slice(at, at + 2));
  if (characters === undefined) return 0;
  let iban = text.slice(at, at + 2);
  let end = at + 2;
  while (iban.length < characters) {
    if (iban.length % 4 === 0)
      end += IBAN_GAP.test(text.slice(end, end + 2)) ? 2 : IBAN_GAP_ONE.test(text[end] ?? "") ? 1 : 0;
    const char = text[end] ?? "";
    if (!/^[0-9A-Za-z]$/.test(char)) return 0;
    iban += char;
    end++;
  }
  return !isWordAt(text, end) && ibanChecksumHolds(iban) ? end - at : 0;
}

function matchAt(sticky: RegExp, text: string, at: number): string {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0] ?? "";
}

function isLetter(code: number): boolean {
  return (code | 32) >= 97 && (code | 32) <= 122;
}

/** True when a letter, digit or underscore is there; scripts without blanks between words do not count. */
function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return isLetter(code) || (code >= 48 && code <= 57) || code === 95;
  return code < 0x0e00 && /\p{L}/u.test(text[at] ?? "");
}
