/** Builders of the JSON Schemas that describe the admin API's bodies. Static types follow from them (`ValueOf`). */

export type Schema = object;

type Properties = Readonly<Record<string, Schema>>;

export function text(
  description: string,
  more: { readonly minLength?: number; readonly maxLength?: number } = {},
) {
  return { type: "string", description, ...more } as const;
}

/** RFC 3339, UTC. */
export function moment(description: string) {
  return { type: "string", format: "date-time", description } as const;
}

export function count(description: string) {
  return { type: "integer", minimum: 0, description } as const;
}

export function decimal(description: string) {
  return { type: "number", minimum: 0, description } as const;
}

export function flag(description: string) {
  return { type: "boolean", description } as const;
}

export function choice<const V extends readonly string[]>(description: string, values: V) {
  return { type: "string", description, enum: values } as const;
}

/** The same, or null. */
export function orNull<const S extends { readonly type: string }>(schema: S) {
  return { ...schema, type: [schema.type, "null"] } as unknown as Omit<S, "type"> & {
    readonly type: readonly [S["type"], "null"];
  }; // What the line above makes.
}

export function list<const I extends Schema>(description: string, items: I) {
  return { type: "array", description, items } as const;
}

/** A map whose keys are all present, except for the optional ones, and that has no others. */
export function object<const P extends Properties, const O extends keyof P & string = never>(
  description: string,
  properties: P,
  optional: readonly O[] = [],
) {
  const isRequired = (key: keyof P & string): key is Exclude<keyof P & string, O> =>
    !optional.some((one) => one === key);
  // The keys of an object that was written as a literal are the keys of its type.
  const keys = Object.keys(properties) as (keyof P & string)[];
  const required = keys.filter(isRequired);
  return { type: "object", description, properties, required, additionalProperties: false } as const;
}
