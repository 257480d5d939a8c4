/** Secrets that stand in a configuration in plain text: they are kept out of everything that a run prints. */
import type { ResolvedConfig } from "../config/model.ts";
import { isSensitiveKey } from "../config/report/mask.ts";

/** Shorter texts are parts of too many words. */
const CHARACTERS_MIN = 6;
const HIDDEN = "***";
/** What the loader puts in the place of a reference that it does not resolve. */
const STAND_IN = "placeholder";

/** The function that hides them. */
export function secretsOf(configs: readonly ResolvedConfig[]): (text: string) => string {
  const found = new Set<string>();
  for (const config of configs) collect(config, false, found);
  const longestFirst = [...found].sort((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return (text) => text;
  return (text) => longestFirst.reduce((clean, secret) => clean.replaceAll(secret, HIDDEN), text);
}

function collect(value: unknown, isSecret: boolean, found: Set<string>): void {
  if (typeof value === "string") {
    if (isSecret && value.length >= CHARACTERS_MIN && value !== STAND_IN) found.add(value);
    const user = /\/\/([^\s/@]+)@/.exec(value)?.[1];
    if (user !== undefined && user.length >= CHARACTERS_MIN) found.add(user);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) for (const item of value) collect(item, isSecret, found);
  else
    for (const [key, item] of Object.entries(value))
      collect(item, isSecret || (key !== "hash" && isSensitiveKey(key)), found);
}
