/** Addresses: what has the form of a URL must be one that can be asked for, or its fault shows at the first call alone. */
import type { Spot } from "../read/tree.ts";
import { type Check, under } from "./context.ts";

export function checkUrl<K extends string>(
  check: Check,
  item: { readonly [key in K]?: string | null },
  key: K,
  parent: Spot | undefined,
): void {
  const url = item[key];
  if (url === undefined || url === null) return;
  const report = (message: string): void => check.report("E0105", under(item, key, parent), message);
  if (!URL.canParse(url)) return report(`${key} is no URL: its host or port is malformed`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "") report(`${key} holds a user or a password, which are never sent`);
}
