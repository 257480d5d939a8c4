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
