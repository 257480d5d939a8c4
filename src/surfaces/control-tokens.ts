/** Lookup of control-plane tokens, for the control plane and the admin listener alike. */
import { createHash, timingSafeEqual } from "node:crypto";

/** A control-plane token of the configuration in use. */
export interface ControlToken {
  readonly name: string;
  /** `sha256:` and 64 hex digits. */
  readonly hash: string;
  /** Unix milliseconds; null: never. */
  readonly expires_at: number | null;
}

/** The token with this plaintext, if it has not expired. */
export function controlTokenOf(
  tokens: readonly ControlToken[],
  plaintext: string,
  nowMs: number,
): ControlToken | undefined {
  const digest = sha256(plaintext);
  const token = tokens.find(({ hash }) => isEqual(hash, digest));
  return token === undefined || isExpired(token, nowMs) ? undefined : token;
}

export function isExpired({ expires_at }: ControlToken, nowMs: number): boolean {
  return expires_at !== null && expires_at <= nowMs;
}

/** Whether a secret has this hash (`sha256:` and hex digits). */
export function isPlaintextOf(hash: string, secret: string): boolean {
  return isEqual(hash, sha256(secret));
}

/** In constant time. */
function isEqual(hash: string, digest: Buffer): boolean {
  return timingSafeEqual(Buffer.from(hash.slice("sha256:".length), "hex"), digest);
}

export function sha256(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
