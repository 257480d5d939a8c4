/**
 * A configuration as it may be shown, compared and sent: merged, with its defaults, every reference as it is written, and
 * for each value where that is. No secret enters it, so nothing made from it needs masking.
 */
import { fingerprint } from "../base/ids.ts";
import type { JsonValue } from "../plugin/chat.ts";
import type { SourcePlace } from "./model.ts";
import { escapedReferences } from "./read/references.ts";
import { isPlainMap, type Key, type Spot, type Tree } from "./read/tree.ts";
import { isSensitiveKey } from "./report/mask.ts";
import { slugOf } from "./slug.ts";

export type JsonMap = { readonly [key: string]: JsonValue };
export type ConfigPath = readonly Key[];

/** Where a value comes from. */
export interface Origin {
  /** Of its key, or of the value where it has no key. Absolute file. */
  readonly at: SourcePlace;
  /** As the YAML has it: `projects[0].endpoint_defaults.temperature` for a value that an endpoint inherits. */
  readonly path: string;
}

export interface ShownConfig {
  /** In the YAML's own names and values. Lists are in the order of the files. */
  readonly config: JsonMap;
  /** undefined: the value is a default, or there is none. */
  originOf(path: ConfigPath): Origin | undefined;
  /** The reference that a value is made of, as it is written: `${file:prompts/shop.md}`. */
  referenceOf(path: ConfigPath): string | undefined;
  /**
   * `config` with what `map` makes of each value that is no map and no list, or an empty one. `originOf`: of that value;
   * undefined for a default.
   */
  mapValues(
    map: (value: JsonValue, originOf: (() => Origin) | undefined, path: ConfigPath) => JsonValue,
  ): JsonValue;
}

/** One whose files are at hand. */
export interface LoadedShown extends ShownConfig {
  /** Keys of the map at `path` that are written, with their places. */
  writtenIn(path: ConfigPath): readonly (readonly [key: string, origin: Origin])[];
}

/** `config`: filled in, as the checks see it. */
export function shownConfig(config: object, tree: Tree): LoadedShown {
  let made: JsonMap | undefined;
  // Made when it is first asked for: a load whose text is in use already is not compared. A map's shown form is a map.
  const visible = (): JsonMap => (made ??= merged(shown(config, { tree, isSecret: false }) as JsonMap));
  return {
    get config() {
      return visible();
    },
    originOf(path) {
      const spot = spotOf(config, path);
      return spot !== undefined && tree.isWritten(spot) ? originAt(spot, tree) : undefined;
    },
    writtenIn(path) {
      const parent = spotOf(config, path);
      const container: unknown = parent === undefined ? config : Reflect.get(parent.container, parent.key);
      if (!isPlainMap(container)) return [];
      return Object.keys(container).flatMap((key) => {
        const spot = { container, key, parent };
        return tree.isWritten(spot) ? [[key, originAt(spot, tree)] as const] : [];
      });
    },
    referenceOf(path) {
      const spot = spotOf(config, path);
      return spot && tree.reference(spot.container, spot.key)?.text;
    },
    mapValues(map) {
      const walk = (value: JsonValue, held: unknown, spot: Spot | undefined, path: ConfigPath): JsonValue => {
        const isContainer = typeof value === "object" && value !== null && Object.keys(value).length > 0;
        if (isContainer && typeof held === "object" && held !== null) {
          const below = (item: JsonValue, key: Key): JsonValue =>
            walk(item, Reflect.get(held, key), { container: held, key, parent: spot }, [...path, key]);
          if (Array.isArray(value)) return value.map((item: JsonValue, index) => below(item, index));
          const entries = Object.entries(value);
          return Object.fromEntries(entries.map(([key, item]) => [key, below(item, key)]));
        }
        if (spot === undefined || !tree.isWritten(spot)) return map(value, undefined, path);
        return map(value, () => originAt(spot, tree), path);
      };
      return walk(visible(), config, undefined, []);
    },
  };
}

/** Of a value that is written. */
function originAt(spot: Spot, tree: Tree): Origin {
  const range = tree.keyRange(spot);
  if (range === undefined) throw new Error("a value that is written is somewhere");
  const at = { file: range.source.path, ...range.source.position(range.start) };
  return { at, path: tree.path(spot) };
}

/** Without `include`, since nothing is left to include, and with the slugs that are made from names. */
function merged({ include: _, ...config }: JsonMap): JsonMap {
  const projects = mapsIn(config["projects"]).map(({ include: _included, ...project }) => ({
    ...project,
    endpoints: mapsIn(project["endpoints"]).map((endpoint) => ({
      ...endpoint,
      slug: endpoint["slug"] ?? slugOf(String(endpoint["name"])),
    })),
  }));
  return { ...config, projects };
}

const mapsIn = (list: JsonValue | undefined): readonly JsonMap[] =>
  // Items of a checked list of maps.
  Array.isArray(list) ? (list as readonly JsonMap[]) : [];

export function isJsonMap(value: JsonValue | undefined): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A map as it is; anything else as an empty one. */
export function asJsonMap(value: JsonValue | undefined): JsonMap {
  return isJsonMap(value) ? value : {};
}

interface Showing {
  readonly tree: Tree;
  readonly isSecret: boolean;
}

function shown(value: unknown, showing: Showing): JsonValue {
  if (typeof value === "string") return shownText(value, showing.isSecret);
  if (typeof value === "number" || typeof value === "boolean") return showing.isSecret ? HIDDEN : value;
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value)) return value.map((item, index) => shownAt(value, index, item, showing));
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, shownAt(value, key, item, showing)]));
}

function shownAt(container: object, key: Key, value: unknown, showing: Showing): JsonValue {
  const isSecret = showing.isSecret || (typeof key === "string" && isHidden(key));
  // A reference makes no map and no list.
  const isScalar = typeof value !== "object" || value === null;
  const reference = isScalar ? showing.tree.reference(container, key) : undefined;
  if (reference === undefined)
    return shown(typeof value === "string" ? escapedReferences(value) : value, { ...showing, isSecret });
  return isSecret ? withoutWritten(reference.shown) : shownText(reference.shown, false);
}

const hiddenKeys = new Map<string, boolean>();
/** Keys of configurations are few; those that maps of users bring are not remembered beyond that. */
const KEYS_REMEMBERED = 1000;

function isHidden(key: string): boolean {
  let hidden = hiddenKeys.get(key);
  if (hidden === undefined) {
    hidden = key !== "hash" && isSensitiveKey(key);
    if (hiddenKeys.size < KEYS_REMEMBERED) hiddenKeys.set(key, hidden);
  }
  return hidden;
}

const HIDDEN = "***";
const REFERENCE = /\$\{(?:env|file):[^}\n]*\}?/g;
const USER = /(\/\/)([^\s/@]+)@/g;
const SCHEME = /^(?:Bearer|Basic|Token) $/i;

/** `Bearer ${env:KEY}` stays; anything else that is written in a secret, such as a default, may be part of it. */
function withoutWritten(text: string): string {
  const references = (text.match(REFERENCE) ?? []).map(withoutDefault);
  const rest = text.replace(REFERENCE, "");
  if (rest === "" || SCHEME.test(rest)) return rest + references.join("");
  return `${references.join("")} ${masked(rest)}`;
}

/** `${env:KEY:-default}`: the default may be a secret as well. */
function withoutDefault(reference: string): string {
  const at = reference.indexOf(":-");
  const end = reference.endsWith("}") ? reference.length - 1 : reference.length;
  if (!reference.startsWith("${env:") || at < 0 || at + 2 >= end) return reference;
  return `${reference.slice(0, at + 2)}${masked(reference.slice(at + 2, end))}${reference.slice(end)}`;
}

function shownText(text: string, isSecret: boolean): string {
  if (isSecret) return text === "" ? "" : masked(text);
  return text.replace(USER, (_, slashes: string, user: string) => `${slashes}${withoutWritten(user)}@`);
}

/** Equal for equal secrets, so that a change is seen. */
const masked = (secret: string): string => `fingerprint:${fingerprint(secret)}`;

function spotOf(root: object, path: ConfigPath): Spot | undefined {
  let container: unknown = root;
  let spot: Spot | undefined;
  for (const key of path) {
    if (typeof container !== "object" || container === null) return undefined;
    spot = { container, key, parent: spot };
    container = Reflect.get(container, key);
  }
  return spot;
}

/** Every value that is no map and no list as `{value, at}`; `at`: `file:line`, or "default". */
export function withProvenance(shown: ShownConfig, placeText: (at: SourcePlace) => string): JsonValue {
  return shown.mapValues((value, originOf) => ({
    value,
    at: originOf === undefined ? "default" : placeText(originOf().at),
  }));
}
