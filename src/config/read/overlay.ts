/**
 * Overlays: partial configurations laid over a whole one. Maps merge by key, lists of identified objects merge entry by
 * entry, null removes, and everything else is replaced. An entry that matches nothing is added when it is complete.
 */
import { isDeepStrictEqual } from "node:util";
import type { Reporter } from "../report/diagnostic.ts";
import { listed, nearestName } from "../report/suggest.ts";
import { configSchema } from "../schema/config.ts";
import type { SchemaNode } from "../schema/keywords.ts";
import { slugOf } from "../slug.ts";
import { isPlainMap, type Key, type PlainMap, type Spot, type Tree } from "./tree.ts";

/** What identifies an object, in this order: the first key that both have decides whether they are the same. */
const IDENTITY = ["uuid", "slug", "alias", "id", "name", "hash"] as const;
type Identity = (typeof IDENTITY)[number];

export interface OverlayContext {
  readonly tree: Tree;
  readonly reporter: Reporter;
}

/** One map of the overlay and the map under it. */
interface Layer {
  readonly base: PlainMap;
  readonly over: PlainMap;
  /** Of `over`. */
  readonly spot: Spot | undefined;
  /** undefined: the options of a plugin. */
  readonly schema: SchemaNode | undefined;
}

/** A new map: `over` laid on `base`. Neither is changed. */
export function layOver(base: PlainMap, over: PlainMap, context: OverlayContext): PlainMap {
  return layMap({ base, over, spot: undefined, schema: configSchema }, context);
}

function layMap(layer: Layer, context: OverlayContext): PlainMap {
  const { base, over, spot, schema } = layer;
  const whole: PlainMap = { ...base };
  const moved = new Map<Key, Spot>();
  for (const [key, value] of Object.entries(over)) {
    const place: Spot = { container: over, key, parent: spot };
    const below = base[key];
    if (value === null) {
      delete whole[key];
    } else if (isPlainMap(value) && isPlainMap(below)) {
      whole[key] = layMap({ base: below, over: value, spot: place, schema: childOf(schema, key) }, context);
    } else if (Array.isArray(value) && Array.isArray(below)) {
      whole[key] = layList(layer, key, { below, value, place }, context);
      if (whole[key] === value) moved.set(key, place);
    } else {
      whole[key] = Array.isArray(value) ? withoutMarker(value, place, context) : value;
      moved.set(key, place);
    }
  }
  context.tree.derived(whole, base, moved);
  return whole;
}

function childOf(schema: SchemaNode | undefined, key: string): SchemaNode | undefined {
  const { properties, additionalProperties } = schema ?? {};
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

interface Lists {
  readonly below: readonly unknown[];
  readonly value: readonly unknown[];
  /** Of `value`. */
  readonly place: Spot;
}

function layList(layer: Layer, key: string, lists: Lists, context: OverlayContext): readonly unknown[] {
  const { below, value, place } = lists;
  const schema = childOf(layer.schema, key);
  const kind = kindOf(key, schema, lists);
  if (kind !== undefined) return mergeLists({ ...lists, kind, defaults: defaultsOf(layer, key) }, context);
  const items = withoutMarker(value, place, context);
  const dropped = below.filter(
    (item) => isPlainMap(item) && !items.some((other) => isDeepStrictEqual(other, item)),
  );
  if (dropped.length > 0 && items === value) {
    const before = context.reporter.place({ container: layer.base, key, parent: undefined });
    const count = dropped.length === 1 ? "an entry" : `${dropped.length} entries`;
    const message = `this list replaces \`${key}\` at ${before} and drops ${count} of it`;
    context.reporter.report("W0111", place, message, {
      at: "key",
      help: "entries of this list have no names to merge by: repeat what must stay, or begin the list with `- replace: true`",
    });
  }
  return items;
}

/** Entries of lists that can be identified by a key. */
interface Kind {
  readonly name: string;
  readonly keys: readonly Identity[];
  readonly required: readonly string[];
  /** Of its entries; undefined: a plugin's own list. */
  readonly items: SchemaNode | undefined;
  /** Entries without a slug have the one made from their name. */
  readonly isSlugged: boolean;
  /** Entries choose a provider, themselves or by `endpoint_defaults`. */
  readonly choosesProvider: boolean;
  readonly identityOf: (item: PlainMap, key: Identity) => string | undefined;
}

function kindOf(name: string, schema: SchemaNode | undefined, lists: Lists): Kind | undefined {
  const properties = schema?.items?.properties;
  const isSlugged = name === "endpoints";
  const choosesProvider = properties?.["provider_template"] !== undefined;
  const required = schema?.items?.required ?? [];
  const base = { name, items: schema?.items, isSlugged, choosesProvider, required };
  if (name === "prices" && schema !== undefined) {
    return { ...base, keys: ["name"], identityOf: priceIdentity };
  }
  const identityOf = (item: PlainMap, key: Identity) => identity(item, key, isSlugged);
  if (properties !== undefined) {
    const keys = IDENTITY.filter((key) => Object.hasOwn(properties, key));
    return keys.length === 0 ? undefined : { ...base, keys, identityOf };
  }
  if (schema?.items !== undefined) return undefined;
  // A plugin's own list: merged when all of its entries can be identified.
  const all = [...lists.below, ...lists.value];
  const areIdentified = all.every(
    (item) => isPlainMap(item) && IDENTITY.some((key) => Object.hasOwn(item, key)),
  );
  return areIdentified ? { ...base, keys: IDENTITY, identityOf } : undefined;
}

/** A price is known by provider and model, which together serve as its name. */
function priceIdentity({ provider, model }: PlainMap): string | undefined {
  return typeof provider === "string" && typeof model === "string" ? `${provider}/${model}` : undefined;
}

function identity(item: PlainMap, key: Identity, isSlugged: boolean): string | undefined {
  const value = item[key];
  if (typeof value === "number" || typeof value === "string") {
    const text = String(value);
    return key === "uuid" || key === "hash" ? text.toLowerCase() : text;
  }
  const { name } = item;
  return key === "slug" && isSlugged && typeof name === "string" ? slugOf(name) : undefined;
}

interface Merge extends Lists {
  readonly kind: Kind;
  /** `endpoint_defaults` of the project, for endpoints. */
  readonly defaults: PlainMap;
}

function mergeLists(
  { below, value, place, kind, defaults }: Merge,
  context: OverlayContext,
): readonly unknown[] {
  const whole = [...below];
  const moved = new Map<Key, Spot>();
  const index = new EntryIndex(below, kind);
  for (const [at, item] of value.entries()) {
    const spot: Spot = { container: value, key: at, parent: place };
    const found = isPlainMap(item) ? index.find(item) : undefined;
    const match = found === undefined ? undefined : whole[found];
    if (isPlainMap(item) && found !== undefined && isPlainMap(match)) {
      whole[found] = layMap({ base: match, over: item, spot, schema: kind.items }, context);
    } else if (isPlainMap(item) && isMarker(item)) {
      const message = `\`${kind.name}\` cannot be replaced: its entries merge by ${identityKeys(kind)}`;
      context.reporter.report("E0012", spot, message, { help: "switch entries off with `is_active: false`" });
    } else if (!isPlainMap(item) || isComplete(item, kind, defaults)) {
      moved.set(whole.length, spot);
      if (isPlainMap(item)) index.add(item, whole.length);
      whole.push(item);
    } else {
      reportUnmatched(item, spot, { kind, index, defaults }, context);
    }
  }
  context.tree.derived(whole, below, moved);
  return whole;
}

/** Entries of a list by what identifies them: a search per entry would be quadratic. */
class EntryIndex {
  readonly #kind: Kind;
  readonly #entries: PlainMap[] = [];
  readonly #byIdentity = new Map<Identity, Map<string, number>>();

  constructor(items: readonly unknown[], kind: Kind) {
    this.#kind = kind;
    for (const key of kind.keys) this.#byIdentity.set(key, new Map());
    for (const [at, item] of items.entries()) if (isPlainMap(item)) this.add(item, at);
  }

  add(item: PlainMap, at: number): void {
    this.#entries[at] = item;
    for (const [key, known] of this.#byIdentity) {
      const value = this.#kind.identityOf(item, key);
      if (value !== undefined && !known.has(value)) known.set(value, at);
    }
  }

  /** The entry that shares the first key which both have. */
  find(item: PlainMap): number | undefined {
    const { keys, identityOf } = this.#kind;
    for (const [order, key] of keys.entries()) {
      const value = identityOf(item, key);
      const at = value === undefined ? undefined : this.#byIdentity.get(key)?.get(value);
      const entry = at === undefined ? undefined : this.#entries[at];
      if (entry === undefined) continue;
      const differs = (earlier: Identity): boolean =>
        identityOf(item, earlier) !== undefined && identityOf(entry, earlier) !== undefined;
      // They were distinguished by an earlier key that both have.
      if (!keys.slice(0, order).some(differs)) return at;
    }
    return undefined;
  }

  names(key: Identity): readonly string[] {
    return [...(this.#byIdentity.get(key)?.keys() ?? [])];
  }
}

function missingKeys(
  item: PlainMap,
  { required, choosesProvider }: Kind,
  defaults: PlainMap,
): readonly string[] {
  const isGiven = (key: string): boolean => (item[key] ?? defaults[key]) !== undefined;
  const missing = required.filter((key) => !Object.hasOwn(item, key));
  if (!choosesProvider || isGiven("provider_template")) return missing;
  return [...missing, ...["provider", "model"].filter((key) => !isGiven(key))];
}

function identityKeys({ name, keys }: Kind): string {
  return name === "prices" ? "`provider` and `model`" : keys.map((key) => `\`${key}\``).join(", ");
}

function isComplete(item: PlainMap, kind: Kind, defaults: PlainMap): boolean {
  return kind.required.length > 0
    ? missingKeys(item, kind, defaults).length === 0
    : kind.keys.some((key) => kind.identityOf(item, key) !== undefined);
}

function reportUnmatched(
  item: PlainMap,
  spot: Spot,
  { kind, index, defaults }: { readonly kind: Kind; readonly index: EntryIndex; readonly defaults: PlainMap },
  { reporter }: OverlayContext,
): void {
  const key = kind.keys.find((one) => item[one] !== undefined && item[one] !== null);
  const missing = missingKeys(item, kind, defaults).map((name) => `\`${name}\``);
  if (key === undefined) {
    const message = `this entry of \`${kind.name}\` names none of those below it: it has no ${identityKeys(kind)}`;
    reporter.report("E0012", spot, message, {
      help: `missing to add it as a new one: ${missing.join(", ")}`,
    });
    return;
  }
  const shownValue = key === "hash" ? "this `hash`" : `\`${key}: ${String(item[key])}\``;
  const message = `\`${kind.name}\` has no entry with ${shownValue} for this overlay to change, and ${missing.join(", ")} is missing to add it`;
  reporter.report("E0012", { container: item, key, parent: spot }, message, () => {
    const names = key === "hash" ? [] : index.names(key);
    const suggestion = key === "hash" ? undefined : nearestName(String(item[key]), names);
    const known = names.length === 0 ? undefined : `known: ${listed(names)}`;
    return { suggestion, help: suggestion === undefined ? known : undefined };
  });
}

/** Endpoints inherit missing keys from their project's defaults; aliases do not. */
function defaultsOf({ base, over }: Layer, key: string): PlainMap {
  if (key !== "endpoints") return {};
  const [below, above] = [base["endpoint_defaults"], over["endpoint_defaults"]];
  return { ...(isPlainMap(below) ? below : {}), ...(isPlainMap(above) ? above : {}) };
}

function isMarker(item: PlainMap): boolean {
  return item["replace"] === true && Object.keys(item).length === 1;
}

/** `- replace: true` at the head of a list means that it replaces the whole list. */
function withoutMarker(list: readonly unknown[], place: Spot, { tree }: OverlayContext): readonly unknown[] {
  const [first] = list;
  if (!isPlainMap(first) || !isMarker(first)) return list;
  const items = list.slice(1);
  const moved = new Map<Key, Spot>();
  for (const key of items.keys()) moved.set(key, { container: list, key: key + 1, parent: place });
  tree.derived(items, {}, moved);
  return items;
}
