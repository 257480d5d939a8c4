/** Amounts of money as a configuration writes them: exact, with their text kept for messages that quote it. */
import { type Money, parseUsd } from "../base/money.ts";
import type { Spot, Tree } from "./read/tree.ts";

/** A decimal, as a number or in quotes. */
export type FilledUsd = number | string;

/** The amount at a spot, with its text as written: `1.50`. undefined when it is not a non-negative decimal. */
export function usdAt(tree: Tree, spot: Spot, value: FilledUsd): Money | undefined {
  if (tree.reference(spot.container, spot.key)?.isPlaceholder === true) return parseUsd("0");
  if (typeof value === "string") return parseUsd(value.trim());
  const written = tree.sourceText(spot);
  return parseUsd(/^[\w.+-]+$/.test(written) ? written : String(value)); // An alias has no text of its own.
}

/** The amount of a key; null: not given. Amounts in a wrong form are reported by the checks. */
export function usd<K extends string>(
  tree: Tree,
  item: { readonly [key in K]?: FilledUsd | null },
  key: K,
): Money | null {
  const value = item[key];
  if (value === undefined || value === null) return null;
  return usdAt(tree, { container: item, key, parent: undefined }, value) ?? null;
}
