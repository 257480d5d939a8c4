/**
 * Finds text that hides as Base64, hexadecimal, binary or invisible tag letters, and reads it. Bounded: at most
 * RUNS_MAX runs of RUN_CHARACTERS_MAX characters each; what does not read as plain English letters is left alone.
 */

const RUNS_MAX = 16;
const RUN_CHARACTERS_MAX = 8192;

/** Runs of twice as many characters are found: such a run holds a place looked at and all around it. */
const STRIDE = 24;

/** Letters and digits of Base64; in Base64 and hex no blank stands between. */
const SOLID = classOf(/[0-9A-Za-z+/=]/);
/** Pairs of hex digits and groups of bits, as they are written with blanks. */
const SPACED = classOf(/[0-9A-Fa-f ]/);

/** What is hidden in the text, each run apart. Usually none, at the cost of looking at every 24th character. */
export function hiddenTexts(text: string): readonly string[] {
  const found: string[] = [];
  const tags = tagText(text);
  if (tags !== "") found.push(tags);
  let solidEnd = 0;
  let spacedEnd = 0;
  for (let at = STRIDE - 1; at < text.length && found.length < RUNS_MAX; at += STRIDE) {
    if (at >= solidEnd && isInside(text, at, SOLID)) {
      const run = runAt(text, at, SOLID);
      solidEnd = at + run.length;
      addReadable(found, fromBase64(run), fromHex(run), fromBits(run));
    }
    if (at >= spacedEnd && isInside(text, at, SPACED)) {
      const run = runAt(text, at, SPACED);
      spacedEnd = at + run.length;
      addReadable(found, fromHex(run), fromBits(run));
    }
  }
  return found;
}

/** True when the characters from seven before to seven behind are of the class: few words are that long. */
function isInside(text: string, at: number, members: Uint8Array): boolean {
  for (let i = at; i <= at + 7; i++) if (!isMember(text.charCodeAt(i), members)) return false;
  for (let i = at - 1; i >= at - 7; i--) if (!isMember(text.charCodeAt(i), members)) return false;
  return true;
}

function isMember(code: number, members: Uint8Array): boolean {
  return code < 128 && members[code] === 1;
}

function runAt(text: string, at: number, members: Uint8Array): string {
  let start = at;
  while (at - start < 2 * STRIDE && isMember(text.charCodeAt(start - 1), members)) start--;
  let end = at + 1;
  while (end - start < RUN_CHARACTERS_MAX && isMember(text.charCodeAt(end), members)) end++;
  return text.slice(start, end);
}

function fromBase64(run: string): string {
  return Buffer.from(run, "base64").toString("latin1");
}

function fromHex(run: string): string {
  const digits = run.replaceAll(" ", "");
  return /^[0-9A-Fa-f]{24,}$/.test(digits) ? Buffer.from(digits, "hex").toString("latin1") : "";
}

function fromBits(run: string): string {
  if (!/^[01 ]+$/.test(run)) return "";
  const bytes = run.replaceAll(" ", "").match(/[01]{8}/g) ?? [];
  return String.fromCharCode(...bytes.map((bits) => Number.parseInt(bits, 2)));
}

/** Letters of the Unicode tag block mirror ASCII and show nothing at all. */
function tagText(text: string): string {
  if (!text.includes("\udb40")) return "";
  const tags = text.match(/[\u{e0020}-\u{e007e}]/gu)?.slice(0, RUN_CHARACTERS_MAX) ?? [];
  return String.fromCharCode(...tags.map((tag) => (tag.codePointAt(0) ?? 0) - 0xe0000));
}

function addReadable(found: string[], ...texts: readonly string[]): void {
  const readable = texts.find(
    (text) => text.length >= 12 && /^[\n\r\t -~]+$/.test(text) && /[a-z] [a-z]/i.test(text),
  );
  if (readable !== undefined) found.push(readable);
}

function classOf(member: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (member.test(String.fromCharCode(code)) ? 1 : 0));
}
