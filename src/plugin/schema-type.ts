/** Static types from JSON Schemas that are written as constants, so that a key is declared once. Types only. */

/** A JSON Schema as far as types follow from it. */
type Shape = object | boolean;

/** Values of a schema that have passed it and have its defaults. */
export type ValueOf<S> = Value<S, "valid">;

/**
 * The same, while faults are still being collected: a required key that is missing has been reported, and the value goes
 * on without it.
 */
export type FilledOf<S> = Value<S, "filled">;

/** Values of a schema as they are given, before its defaults are filled in. */
export type GivenOf<S> = Value<S, "given">;

/**
 * Options as `setup` is handed them: values that the schema `S` accepts, with its defaults, and the values of the keys of
 * endpoints `K` that a built-in stage reads. For code outside `setup`: `type Options = OptionsOf<typeof schema>`.
 * @since 0.2.0
 */
export type OptionsOf<S, K = Readonly<Record<never, never>>> = ValueOf<S> & KeyValues<K>;

/** Values of keys with these schemas, where all of them are given or have a default. */
export type KeyValues<P> = { readonly [K in keyof P]: ValueOf<P[K]> };

type Mode = "valid" | "filled" | "given";

type Value<S, M extends Mode> = S extends { readonly enum: readonly (infer V)[] }
  ? V
  : S extends { readonly const: infer V }
    ? V
    : S extends { readonly anyOf: readonly (infer A)[] }
      ? Value<A, M>
      : S extends { readonly type: readonly (infer T)[] }
        ? OfType<T, S, M>
        : S extends { readonly type: infer T }
          ? OfType<T, S, M>
          : unknown;

/** Distributes over a list of types. */
type OfType<T, S, M extends Mode> = T extends "string"
  ? string
  : T extends "integer" | "number"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? readonly (S extends { readonly items: infer I } ? Value<I, M> : unknown)[]
          : T extends "object"
            ? MapOf<S, M>
            : unknown;

type MapOf<S, M extends Mode> = S extends { readonly properties: infer P }
  ? S extends { readonly additionalProperties: true }
    ? Known<P, S, M> & { readonly [key: string]: unknown }
    : Known<P, S, M>
  : S extends { readonly additionalProperties: infer A extends Shape }
    ? { readonly [key: string]: Value<A, M> }
    : { readonly [key: string]: unknown };

type Known<P, S, M extends Mode> = Flat<
  { readonly [K in PresentKeys<P, S, M>]: Value<P[K], M> } & {
    readonly [K in Exclude<keyof P, PresentKeys<P, S, M>>]?: Value<P[K], M>;
  }
>;

/** The required keys; and once filled in, those with a default and sections (absent, they are maps of their defaults). */
type PresentKeys<P, S, M extends Mode> =
  | (M extends "given" ? never : FilledKeys<P>)
  | (M extends "valid" | "given"
      ? S extends { readonly required?: readonly (infer R)[] }
        ? Extract<R, keyof P>
        : never
      : never);

type FilledKeys<P> = {
  [K in keyof P]: P[K] extends { readonly default: unknown } ? K : IsSection<P[K]> extends true ? K : never;
}[keyof P];

/** A map that is filled in when it is absent: one with known keys, none of them required. */
type IsSection<S> = S extends { readonly type: "object"; readonly properties: object }
  ? S extends { readonly required?: readonly (infer R)[] }
    ? [unknown] extends [R]
      ? true
      : [R] extends [never]
        ? true
        : false
    : true
  : false;

type Flat<T> = { readonly [K in keyof T]: T[K] };
