/** A resolved configuration as it may be shown: every secret as its fingerprint, and no places of this machine's files. */
import { fingerprint } from "../../base/ids.ts";
import type { JsonValue } from "../../plugin/chat.ts";
import type { ResolvedConfig } from "../model.ts";
import { isSensitiveKey, maskedUser } from "../report/mask.ts";

/** Plain JSON in the YAML's names. Hashes of tokens are kept: git has them too (`config.secret.hidden`). */
export function withoutSecrets(config: ResolvedConfig): JsonValue {
  return shown(config, false);
}

function shown(value: unknown, isSecret: boolean): JsonValue {
  if (typeof value === "string")
    return isSecret && value !== "" ? `fingerprint:${fingerprint(value)}` : maskedUser(value);
  if (typeof value === "number" || typeof value === "boolean") return isSecret ? "***" : value;
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) return value.map((item) => shown(item, isSecret));
  if ("nanoUsd" in value && "text" in value) return shown(value.text, isSecret);
  const entries = Object.entries(value)
    .filter(([key, item]) => !(key === "at" && isPlace(item)))
    .map(([key, item]) => [key, shown(item, isSecret || (key !== "hash" && isSensitiveKey(key)))] as const);
  return Object.fromEntries(entries);
}

/** Where something stands in the files it was read from. */
function isPlace(value: unknown): boolean {
  return typeof value === "object" && value !== null && "file" in value && "line" in value;
}
