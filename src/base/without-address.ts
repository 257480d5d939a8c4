/** What a client may know of a refusal by the SSRF guard, whose words name the address for the log. */

/** Longer than the name of any kind of address. */
const KIND_CHARACTERS_MAX = 60;

/** The refusal without the address: `it leads to a private address`. Any other text as it is. */
export function withoutAddress(refusal: string): string {
  const kind = / is (an? [a-z- ]+ address)$/i.exec(refusal.slice(-KIND_CHARACTERS_MAX))?.[1];
  return kind === undefined ? refusal : `it leads to ${kind}`;
}
