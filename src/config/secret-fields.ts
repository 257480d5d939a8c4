/**
 * Which fields hold secrets and which hold texts, by the keys on the way to them. A secret may be mounted outside the
 * root and be absent in CI; a text is part of the configuration itself.
 */

import type { Spot } from "./read/tree.ts";
import { isSensitiveKey } from "./report/mask.ts";

const TEXT_KEYS: ReadonlySet<Spot["key"]> = new Set([
  ...["prompt", "user_prompt_template", "description", "input_schema", "output_schema"],
  ...["include", "plugins"],
]);

/** URLs may carry a user and a password; certificates are mounted beside their keys. */
const MOUNTED_KEYS: ReadonlySet<Spot["key"]> = new Set(["url", "proxy", "ca", "client_cert"]);

/** Credentials, tokens, headers, certificates, and URLs. */
export function isSecretField(spot: Spot): boolean {
  for (let at: Spot | undefined = spot; at !== undefined; at = at.parent) {
    if (typeof at.key === "string" && isSensitiveKey(at.key)) return true;
  }
  return MOUNTED_KEYS.has(spot.key);
}

/** Prompts, templates, descriptions, schemas: what they refer to must be there even without secrets. */
export function isTextField(spot: Spot): boolean {
  if (isSecretField(spot)) return false;
  for (let at: Spot | undefined = spot; at !== undefined; at = at.parent) {
    if (TEXT_KEYS.has(at.key)) return true;
  }
  return false;
}

/** Entries of `include` and `plugins`: which files are read follows from them. */
export function namesFiles(spot: Spot): boolean {
  for (let at: Spot | undefined = spot; at !== undefined; at = at.parent) {
    if (at.key === "include" || at.key === "plugins") return true;
  }
  return false;
}
