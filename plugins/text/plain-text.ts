/** Text as guardrails compare it, so that the same word in another Unicode form is the same word. */

/** Characters that show nothing and would split a word: soft hyphen, joiners, direction marks, tag letters. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** True when no character is above 127. Counting bytes is thirty times faster than looking for one. */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** NFKC, and nothing invisible. Lengths and positions change: for finding that something is there, not where. */
export function plainText(text: string): string {
  return isAscii(text) ? text : text.normalize("NFKC").replace(INVISIBLE, "");
}

/** The plain text in small letters, one letter for one: the dotted I and the final sigma as their plain forms. */
export function foldedText(text: string): string {
  const plain = plainText(text);
  return isAscii(plain) ? plain.toLowerCase() : plain.replaceAll("İ", "I").toLowerCase().replaceAll("ς", "σ");
}

/** Hyphens and dashes of all scripts, and the minus sign. */
const HYPHEN = /[\p{Pd}\u2212]/gu;
/** Vowel points, cantillation, and the stroke that stretches a word: Hebrew and Arabic are written with or without. */
const OPTIONAL_MARK =
  /[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]/g;

/** The plain text as keywords are compared: one hyphen for all, Hebrew and Arabic without their optional marks. */
export function comparableText(text: string): string {
  const plain = plainText(text);
  return isAscii(plain) ? plain : plain.replace(HYPHEN, "-").replace(OPTIONAL_MARK, "");
}

/** The same in small letters; `ß` and `ss` are equal, and so are the dotted and the dotless i. */
export function foldedComparableText(text: string): string {
  const folded = foldedText(text);
  if (isAscii(folded)) return folded;
  const compared = folded.replace(HYPHEN, "-").replace(OPTIONAL_MARK, "");
  return compared.replaceAll("ß", "ss").replaceAll("ı", "i");
}
