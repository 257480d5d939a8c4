/**
 * Overlays: partial configurations laid over a whole one, key by key. Maps merge, lists of named things merge by uuid,
 * slug, alias or name, null removes, and everything else is replaced.
 */
import { slugOf } from "./slug.ts";
import { isPlainMap, type Key, type PlainMap, type Spot, type Tree } from "./tree.ts";

/** What things are known by, in this order: the first that both have decides whether they are the same. */
const NAMES = ["uuid", "slug", "alias", "name"] as const;

/** A new map: `over` laid on `base`. Neither is changed. */
export function layOver(base: PlainMap, over: PlainMap, tree: Tree): PlainMap {
  const whole: PlainMap = { ...base };
  const moved = new Map<Key, Spot>();
  for (const [key, value] of Object.entries(over)) {
    const below = base[key];
    if (value === null) {
      delete whole[key];
    } else if (isPlainMap(value) && isPlainMap(below)) {
      whole[key] = layOver(below, value, tree);
    } else if (isNamedList(value) && isNamedList(below)) {
      whole[key] = layListOver(below, value, tree, key === "endpoints");
    } else {
      whole[key] = value;
      moved.set(key, { container: over, key, parent: undefined });
    }
  }
  tree.derived(whole, base, moved);
  return whole;
}

function layListOver(
  base: readonly PlainMap[],
  over: readonly PlainMap[],
  tree: Tree,
  slugged: boolean,
): PlainMap[] {
  const whole = [...base];
  const moved = new Map<Key, Spot>();
  for (const [key, item] of over.entries()) {
    const index = whole.findIndex((candidate) => isSame(candidate, item, slugged));
    const below = whole[index];
    if (below !== undefined) {
      whole[index] = layOver(below, item, tree);
    } else {
      moved.set(whole.length, { container: over, key, parent: undefined });
      whole.push(item);
    }
  }
  tree.derived(whole, base, moved);
  return whole;
}

function isSame(a: PlainMap, b: PlainMap, slugged: boolean): boolean {
  for (const key of NAMES) {
    const [nameA, nameB] = [nameOf(a, key, slugged), nameOf(b, key, slugged)];
    if (nameA !== undefined && nameB !== undefined) return nameA === nameB;
  }
  return false;
}

/** `slugged`: things that have no slug have the one made from their name. */
function nameOf(item: PlainMap, key: (typeof NAMES)[number], slugged: boolean): string | undefined {
  const value = item[key];
  if (typeof value === "string") return key === "uuid" ? value.toLowerCase() : value;
  const name = item["name"];
  return key === "slug" && slugged && typeof name === "string" ? slugOf(name) : undefined;
}

function isNamedList(value: unknown): value is PlainMap[] {
  return (
    Array.isArray(value) && value.every((item) => isPlainMap(item) && NAMES.some((name) => name in item))
  );
}
