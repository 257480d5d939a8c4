/** Amounts of money: plain decimals. */

import type { Spot } from "../read/tree.ts";
import { shown } from "../report/diagnostic.ts";
import type { FilledUsd } from "../usd.ts";
import { usdAt } from "../usd.ts";
import { type Check, under } from "./context.ts";

export function checkUsd<K extends string>(
  check: Check,
  item: { readonly [key in K]?: FilledUsd | null },
  key: K,
  parent: Spot | undefined,
): void {
  const value = item[key];
  if (value === undefined || value === null) return;
  const spot = under(item, key, parent);
  if (usdAt(check.tree, spot, value) !== undefined) return;
  const found = typeof value === "number" ? check.tree.sourceText(spot) : shown(check.tree, spot, value);
  const message = `${key} is ${found}: must be a plain decimal of zero or more, such as 12 or 0.002`;
  // "$1,000" is meant as 1000, whatever else is wrong with it.
  const digits = typeof value === "string" ? value.replace(/[$,_ ]/g, "") : "";
  const isAmount = /^\d{1,15}(?:\.\d{1,9})?$/.test(digits) && !check.tree.reference(item, key);
  check.report("E0110", spot, message, isAmount ? { suggestion: digits } : {});
}
