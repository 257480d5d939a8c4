/** Fills in the defaults of a JSON Schema. The keys of maps come in the schema's order. */

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly items?: unknown;
  readonly required?: readonly unknown[];
  readonly default?: unknown;
}

type PlainMap = Record<string, unknown>;

/** Called with each copy and what it was made of. */
export type Derived = (copy: object, base: object) => void;

/** The value with all defaults of its schema; `undefined` where there is neither value nor default. */
export function fill(schema: object, value: unknown, derived?: Derived): unknown {
  const { properties, additionalProperties, items }: Schema = schema;
  if (properties !== undefined && isMap(value)) return fillMap(properties, value, derived);
  if (isMap(additionalProperties) && isMap(value)) {
    const copy: PlainMap = {};
    for (const [key, item] of Object.entries(value)) copy[key] = fill(additionalProperties, item, derived);
    derived?.(copy, value);
    return copy;
  }
  if (isMap(items) && Array.isArray(value)) {
    const copy = value.map((item) => fill(items, item, derived));
    derived?.(copy, value);
    return copy;
  }
  return value;
}

/** False: `fill` finds nothing to fill in, whatever the value. */
export function hasDefaults(schema: unknown): boolean {
  if (!isMap(schema)) return false;
  const { properties, additionalProperties, items }: Schema = schema;
  return (
    Object.values(properties ?? {}).some(
      (property) =>
        isMap(property) && ("default" in property || isSection(property) || hasDefaults(property)),
    ) ||
    hasDefaults(additionalProperties) ||
    hasDefaults(items)
  );
}

/** A map of known keys that can be filled in when it is absent, since it requires none of them. */
function isSection({ properties, required = [] }: Schema): boolean {
  return properties !== undefined && required.length === 0;
}

/** Keys that the schema does not know come last. */
function fillMap(
  properties: Readonly<Record<string, unknown>>,
  value: PlainMap,
  derived: Derived | undefined,
): PlainMap {
  const copy: PlainMap = {};
  for (const [key, property] of Object.entries(properties)) {
    const own = Object.hasOwn(value, key) ? value[key] : undefined;
    // A schema may be `true`.
    if (!isMap(property)) {
      if (own !== undefined) copy[key] = own;
    } else if (own !== undefined) copy[key] = fill(property, own, derived);
    else if ("default" in property) copy[key] = fill(property, property["default"], derived);
    else if (isSection(property)) copy[key] = fill(property, {}, derived);
  }
  const others = Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  const whole =
    others.length === 0 ? copy : { ...copy, ...Object.fromEntries(others.map((key) => [key, value[key]])) };
  derived?.(whole, value);
  return whole;
}

function isMap(value: unknown): value is PlainMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
