/** Ids: random ones for calls and sessions, derived ones for what the configuration names. */
import { createHash, hash } from "node:crypto";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return text.length === 36 && UUID.test(text);
}

/** Name-based UUID (version 5, RFC 9562): the same for the same namespace and name. */
export function uuidV5(namespace: string, name: string): string {
  const hash = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name, "utf8")
    .digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString("hex", 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A positive 31-bit integer derived from a UUID: the `id` of a project that gives none. */
export function numericId(uuid: string): number {
  return createHash("sha256").update(uuid.toLowerCase()).digest().readUInt32BE(0) & 0x7fffffff || 1;
}

/** First 8 hex digits of the SHA-256: shown in place of a secret. */
export function fingerprint(secret: string): string {
  return createHash("sha256").update(secret, "utf8").digest("hex").slice(0, 8);
}

const KEPT_CHARACTERS_MAX = 64;

/** The same for the same text: a short one as it is, a longer one by its SHA-256. */
export function textKey(text: string): string {
  return text.length <= KEPT_CHARACTERS_MAX ? text : hash("sha256", text, "base64");
}
