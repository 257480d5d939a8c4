/** What the checks share: the filled configuration, who knows plugins, and one way to report. */

import type { PluginKind, PluginLookup } from "../plugins.ts";
import type { Sources } from "../read/source.ts";
import type { Key, Spot } from "../read/tree.ts";
import type { Code } from "../report/codes.ts";
import type { DetailsOf } from "../report/diagnostic.ts";
import { nearestName } from "../report/suggest.ts";
import type { FilledConfig } from "../schema/config.ts";
import type { Validation } from "./validate.ts";

export interface Check extends Validation {
  readonly config: FilledConfig;
  readonly plugins: PluginLookup;
  /** False when a plugin module failed: names that it would have registered are not reported as unknown. */
  readonly pluginsAreWhole: boolean;
  /** The files read so far. */
  readonly sources?: Pick<Sources, "read">;
  /** Reports, unless the value represents a reference that counts as given. */
  report(code: Code, spot: Spot, message: string, details?: DetailsOf): void;
}

/** Items of a list with their spots; those that were reported and taken out are passed over. */
export function* each<T>(list: readonly T[], parent: Spot): Generator<readonly [T, Spot]> {
  for (const [key, item] of list.entries()) {
    if (item !== null) yield [item, { container: list, key, parent }];
  }
}

/** The spot of a key of the item at `parent`. */
export function under(item: object, key: Key, parent: Spot | undefined): Spot {
  return { container: item, key, parent };
}

/** True when the key is not set, and no mistake was reported for it. */
export function isAbsent<T extends object>(check: Check, item: T, key: keyof T & string): boolean {
  return (item[key] === undefined || item[key] === null) && !check.tree.isFaulty(item, key);
}

/** Names that may be used once. `scope` words where: "in project `Support`", or "" for everywhere. */
export class UniqueNames {
  readonly #check: Check;
  readonly #what: string;
  readonly #first = new Map<string, Spot>();

  constructor(check: Check, what: string) {
    this.#check = check;
    this.#what = what;
  }

  /** Notes a name; a second time it is reported, with both places. `shownName`: what to call it instead. */
  add(name: string | undefined, spot: Spot, shownName = `\`${name}\``): void {
    if (name === undefined) return;
    const first = this.#first.get(name);
    if (first === undefined) {
      this.#first.set(name, spot);
      return;
    }
    const subject = shownName === "" ? this.#what : `${this.#what} ${shownName}`;
    const message = `${subject} is used twice; first at ${this.#check.reporter.place(first)}`;
    this.#check.report("E0307", spot, message, { help: "rename one of them, or remove it" });
  }
}

/** Reports a name that no plugin of the kind has, with the nearest that one has. */
export function reportUnknownPlugin(
  check: Check,
  kind: PluginKind,
  spot: Spot,
  { name, names = check.plugins.names(kind), at = "value" }: UnknownPlugin,
): void {
  if (!check.pluginsAreWhole) return;
  const suggestion = check.tree.reference(spot.container, spot.key) ? undefined : nearestName(name, names);
  const known =
    names.length === 0 ? "none is registered: add its module to `plugins`" : `known: ${names.join(", ")}`;
  const help = suggestion === undefined ? known : undefined;
  const code = kind === "provider" ? "E0303" : "E0305";
  check.report(code, spot, `unknown ${kind} \`${name}\``, { suggestion, help, at });
}

interface UnknownPlugin {
  readonly name: string;
  readonly names?: readonly string[];
  readonly at?: "key" | "value";
}
