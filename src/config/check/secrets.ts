/** Secrets belong into references: what is written out goes to git. */
import { isSensitiveKey } from "../mask.ts";
import type { Spot } from "../tree.ts";
import { type Check, under } from "./context.ts";

export function checkSecret(check: Check, spot: Spot, value: string | null | undefined): void {
  if (value === null || value === undefined || value === "") return;
  if (check.tree.reference(spot.container, spot.key) !== undefined) return;
  const key = typeof spot.key === "string" ? spot.key : "secret";
  check.report("W0101", spot, `\`${key}\` is written out in the file`, {
    help: "refer to it: `${env:NAME}` or `${file:PATH}`",
  });
}

/** Headers whose names say that they carry a secret. */
export function checkSecretHeaders(
  check: Check,
  headers: Readonly<Record<string, string>>,
  spot: Spot,
): void {
  for (const [name, value] of Object.entries(headers)) {
    if (isSensitiveKey(name) || /key$/i.test(name)) checkSecret(check, under(headers, name, spot), value);
  }
}
