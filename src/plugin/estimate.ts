/** The estimates and amounts that limits, budgets and their messages share, so that all of them compute alike. */

/** The specification's estimate: about 4 characters (UTF-16 code units) a token, rounded up. @since 0.1.0 */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / 4);
}

/**
 * Nano-dollars with four decimals, as messages show amounts: 1.5 dollars is `1.5000`.
 * @since 0.1.0
 */
export function formatUsd(nanoUsd: number): string {
  return (nanoUsd / 1_000_000_000).toFixed(4);
}
