/** Addresses are joined with paths that begin with a slash. */

/** The text without the slashes at its end. An expression for it takes quadratic time. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "/") end--;
  return text.slice(0, end);
}
