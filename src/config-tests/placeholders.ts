/**
 * `{{name}}` in test cases. A text that is one placeholder and nothing else takes the value with its type; inside a
 * longer text the value is written out. `\{{name}}` stands for the braces themselves.
 */
import { isPlainMap, type Key, type PlainMap, type Spot, type Tree } from "../config/read/tree.ts";

const PLACEHOLDER = /\\?\{\{\s*([\w.-]+)\s*\}\}/g;
const WHOLE = /^\{\{\s*([\w.-]+)\s*\}\}$/;

/** A value for placeholders. `at`: where it is written, for mistakes that it makes. */
export interface Binding {
  readonly value: unknown;
  readonly at?: Spot;
}

export type Bindings = (name: string) => Binding | undefined;

/** Names of the placeholders of a text, in order. */
export function placeholdersIn(text: string): readonly string[] {
  if (!text.includes("{{")) return [];
  return [...text.matchAll(PLACEHOLDER)].flatMap(([written, name = ""]) =>
    written.startsWith("\\") ? [] : [name],
  );
}

/** True when any text of the value holds braces, so that it must be filled in. */
export function hasPlaceholders(value: unknown): boolean {
  if (typeof value === "string") return value.includes("{{");
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasPlaceholders);
}

export interface Filling {
  readonly bindings: Bindings;
  /** Told where the copies come from, so that mistakes in them have a place. */
  readonly tree?: Tree;
  /** Placeholders that are not bound yet, and their escapes, stay as they are. */
  readonly isPartial?: boolean;
}

/** A copy with the placeholders replaced; the value itself when it has none. */
export function filled(value: unknown, filling: Filling): unknown {
  if (typeof value === "string") return filledText(value, filling).value;
  if (typeof value !== "object" || value === null || !hasPlaceholders(value)) return value;
  const moved = new Map<Key, Spot>();
  const copy: PlainMap | unknown[] = Array.isArray(value) ? [] : {};
  for (const [name, item] of Object.entries(value)) {
    const key: Key = Array.isArray(value) ? Number(name) : name;
    if (typeof item !== "string") Reflect.set(copy, key, filled(item, filling));
    else {
      const binding = filledText(item, filling);
      Reflect.set(copy, key, binding.value);
      if (binding.at !== undefined) moved.set(key, binding.at);
    }
  }
  filling.tree?.derived(copy, value, moved);
  return copy;
}

function filledText(text: string, { bindings, isPartial = false }: Filling): Binding {
  if (!text.includes("{{")) return { value: text };
  const [, only] = WHOLE.exec(text) ?? [];
  if (only !== undefined) return bindings(only) ?? { value: text };
  const value = text.replace(PLACEHOLDER, (written: string, name: string) => {
    if (written.startsWith("\\")) return isPartial ? written : written.slice(1);
    const binding = bindings(name);
    return binding === undefined ? written : asText(binding.value);
  });
  return { value };
}

function asText(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** Every text of a value with its spot. */
export function* textsIn(
  container: object,
  parent: Spot | undefined,
): Generator<{ readonly text: string; readonly spot: Spot }> {
  for (const [name, value] of Object.entries(container)) {
    const key: Key = Array.isArray(container) ? Number(name) : name;
    const spot: Spot = { container, key, parent };
    if (typeof value === "string") yield { text: value, spot };
    else if (Array.isArray(value) || isPlainMap(value)) yield* textsIn(value, spot);
  }
}
