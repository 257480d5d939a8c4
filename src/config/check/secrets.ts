/** Secrets must be references: hard-coded values end up in git. */

import type { Spot } from "../read/tree.ts";
import { isSensitiveKey } from "../report/mask.ts";
import { type Check, under } from "./context.ts";

export function checkSecret(check: Check, spot: Spot, value: string | null | undefined): void {
  if (value === null || value === undefined || value === "") return;
  if (check.tree.reference(spot.container, spot.key) !== undefined) return;
  if (checkMistakenReference(check, spot, value)) return;
  const key = typeof spot.key === "string" ? spot.key : "secret";
  check.report("W0101", spot, `\`${key}\` is hard-coded in the file`, {
    help: "refer to it: `${env:NAME}` or `${file:PATH}`",
  });
}

/** How other programs refer to variables. `$NAME` is taken for one when it ends the value and is in capitals. */
const BRACED = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/;
const BARE = /(?:^|[ \t])\$([A-Z_][A-Z0-9_]*)$/;

/** Reports `$NAME` and `${NAME}`, which would be sent as they are. True when the value is one. */
export function checkMistakenReference(check: Check, spot: Spot, value: string | null | undefined): boolean {
  if (typeof value !== "string") return false;
  const [, name] = BRACED.exec(value) ?? BARE.exec(value) ?? [];
  if (name === undefined || check.tree.reference(spot.container, spot.key) !== undefined) return false;
  const reference = `\${env:${name}}`;
  const written = BRACED.test(value) ? `\${${name}}` : `$${name}`;
  check.report("E0204", spot, `\`${written}\` is not a reference: it would be sent as it is`, {
    suggestion: value.replace(written, () => reference),
  });
  return true;
}

/** Names of headers that carry a secret. */
export function checkSecretHeaders(
  check: Check,
  headers: Readonly<Record<string, string>>,
  spot: Spot,
): void {
  for (const [name, value] of Object.entries(headers)) {
    if (isSensitiveKey(name) || /key$/i.test(name)) checkSecret(check, under(headers, name, spot), value);
  }
}

/** Shorter keys of a signature can be guessed from one signed payload. */
const SIGNING_SECRET_CHARACTERS_MIN = 8;

/** A webhook's secret signs payloads: a short one protects nothing. */
export function checkSigningSecret(check: Check, spot: Spot, value: string): void {
  checkSecret(check, spot, value);
  if (value.length >= SIGNING_SECRET_CHARACTERS_MIN) return;
  const message = `the secret has fewer than ${SIGNING_SECRET_CHARACTERS_MIN} characters`;
  check.report("E0321", spot, message, { help: "make one with `openssl rand -base64 32`" });
}
