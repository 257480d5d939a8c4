/** Reading of bearer tokens, the same for every listener and stage. */

const BEARER = /^Bearer +(\S+)$/i;

/**
 * The token of an `Authorization` header; undefined when there is none, or another scheme.
 * @since 0.2.0
 */
export function bearerToken(authorization: unknown): string | undefined {
  return typeof authorization === "string" ? BEARER.exec(authorization)?.[1] : undefined;
}
