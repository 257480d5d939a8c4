/** Access tokens: how they are made, and the hash that is kept. The token itself is not kept. */
import { createHash, randomBytes } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 43 letters and digits hold 256 bits. */
const SECRET_CHARACTERS = 43;

/** A new one: `gw_live_…` or `gw_test_…`. */
export function newToken(kind: "live" | "test"): string {
  return `gw_${kind}_${randomText(SECRET_CHARACTERS)}`;
}

/** As the configuration keeps it: SHA-256 of the whole string. */
export function tokenHash(token: string): string {
  return `sha256:${createHash("sha256").update(token, "utf8").digest("hex")}`;
}

/** The id of a token that was given none. */
export function derivedTokenId(hash: string): string {
  return hash.slice("sha256:".length, "sha256:".length + 12);
}

/** The id of a token that the control plane makes: a positive 31-bit integer that no other token has. */
export function integerTokenId(hash: string, isTaken: (id: string) => boolean): string {
  let id = Number.parseInt(hash.slice("sha256:".length, "sha256:".length + 8), 16) & 0x7fffffff;
  while (id === 0 || isTaken(String(id))) id = (id + 1) & 0x7fffffff;
  return String(id);
}

/** Letters and digits, all equally likely: bytes past the last whole multiple of 62 are thrown away. */
function randomText(length: number): string {
  const usable = 256 - (256 % ALPHABET.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < usable && text.length < length) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}
