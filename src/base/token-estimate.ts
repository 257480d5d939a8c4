/** The specification's estimate: about 4 characters (UTF-16 code units) a token, rounded up. */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / 4);
}
