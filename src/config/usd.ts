/** Amounts of money as a configuration writes them: exact, with their text kept for messages that quote it. */
import { type Money, parseUsd } from "../base/money.ts";
import type { Spot, Tree } from "./read/tree.ts";
import type { FilledUsd } from "./schema/filled.ts";

/** The amount at a spot, as written: `1.50` stays `1.50`. undefined when it is no plain decimal of zero or more. */
export function usdAt(tree: Tree, spot: Spot, value: FilledUsd): Money | undefined {
  if (tree.reference(spot.container, spot.key)?.isPlaceholder === true) return parseUsd("0");
  if (typeof value === "string") return parseUsd(value.trim());
  const written = tree.sourceText(spot);
  return parseUsd(/^[\w.+-]+$/.test(written) ? written : String(value)); // An alias has no text of its own.
}
