/** How long calls are, for what they cost. */

/** Tokens of one call. */
export interface CallTokens {
  readonly input: number;
  readonly output: number;
}
