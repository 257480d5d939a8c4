/**
 * Builders of the configuration's schema. Each makes one JSON Schema object and keeps, in its type, the keywords that
 * static types follow from; none knows a key.
 */

export interface SchemaNode {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly required?: readonly string[];
}

type More = Readonly<Record<string, unknown>>;
type Properties = Readonly<Record<string, SchemaNode>>;
type None = Readonly<Record<never, never>>;

/** A schema of one type. `M`: the other keywords, as constants. */
type Of<T extends string, M> = { readonly type: T; readonly description: string } & M;

/** What a missing argument stands for: `M` is `None` then. */
const none = <M>(): M => ({}) as M;

/** The default is the example where none is given, unless it shows nothing. */
function node<T extends string, M extends More>(type: T, description: string, more: M): Of<T, M> {
  const { default: value } = more;
  const isExample = value !== undefined && value !== null && value !== "" && JSON.stringify(value) !== "{}";
  return { type, description, ...(isExample ? { examples: [value] } : {}), ...more };
}

export function text<const M extends More = None>(description: string, more: M = none()): Of<"string", M> {
  return node("string", description, more);
}

/** A text that is not empty. */
export function name<const M extends More = None>(description: string, more: M = none()): Of<"string", M> {
  return node("string", description, { minLength: 1, maxLength: 200, ...more });
}

export function flag(description: string, value: boolean): Of<"boolean", { readonly default: boolean }> {
  return node("boolean", description, { default: value });
}

export function integer<const M extends More = None>(
  description: string,
  minimum: number,
  maximum: number,
  more: M = none(),
): Of<"integer", M> {
  return node("integer", description, { minimum, maximum, ...more });
}

export function decimal<const M extends More = None>(
  description: string,
  minimum: number,
  maximum: number,
  more: M = none(),
): Of<"number", M> {
  return node("number", description, { minimum, maximum, ...more });
}

/** An amount in USD: a plain decimal, as a number or in quotes. Its form is checked where its text is known. */
export function usd<const M extends More = None>(
  description: string,
  more: M = none(),
): Omit<Of<string, M>, "type"> & { readonly type: readonly ["number", "string"] } {
  return { ...node("number", description, more), type: ["number", "string"] };
}

export function choice<const V extends readonly string[], const M extends More = None>(
  description: string,
  values: V,
  more: M = none(),
): Of<"string", { readonly enum: V } & M> {
  return node("string", description, { enum: values, examples: [values[0]], ...more });
}

export function url<const M extends More = None>(description: string, more: M = none()): Of<"string", M> {
  const pattern = "^https?://[^\\s/?#]\\S*$";
  return node("string", description, {
    pattern,
    patternErrorMessage: "must be an absolute http or https URL",
    ...more,
  });
}

type ListOf<I> = { readonly items: I; readonly default: readonly unknown[] };

export function list<const I extends SchemaNode>(
  description: string,
  items: I,
  more: More = {},
): Of<"array", ListOf<I>> {
  return node("array", description, { items, default: [], ...more });
}

type SectionOf<P, R> = {
  readonly properties: P;
  readonly additionalProperties: false;
  readonly required?: readonly R[];
};

/** A map with known keys and no others. Absent, it is a map of its defaults. */
export function section<const P extends Properties, const R extends keyof P & string = never>(
  description: string,
  properties: P,
  more: More & { readonly required?: readonly R[] } = {},
): Of<"object", SectionOf<P, NoInfer<R>>> {
  return node("object", description, { properties, additionalProperties: false, ...more });
}

/** `include`: files that are parts of what it stands in. */
export function includes(description: string, example: string) {
  const entry = {
    type: ["string", "object"],
    description: "A path or pattern, or a map of `path` and `secrets`.",
    minLength: 1,
    maxLength: 200,
    properties: {
      path: name("A path or pattern.", { examples: [example] }),
      secrets: section(
        "What the files may refer to.",
        {
          allow: list(
            "Names of environment variables and paths of files; `*` stands for any characters. Files in the folder of the referring file may be read as well, but not as secrets.",
            name("A name, path or pattern.", { examples: ["SUPPORT_*"] }),
            { examples: [["SUPPORT_*"]] },
          ),
        },
        { required: ["allow"] },
      ),
    },
    required: ["path"],
    additionalProperties: false,
    examples: [example],
  } as const;
  return list(description, entry, { examples: [[example]] });
}

/** A map whose keys the author chooses. */
export function mapOf<const A extends SchemaNode | true>(
  description: string,
  additionalProperties: A,
  more: More = {},
): Of<"object", { readonly additionalProperties: A; readonly default: object }> {
  return node("object", description, { additionalProperties, default: {}, ...more });
}

/** The types of a schema with null among them; allowed values likewise. */
type OrNull<S> = Omit<S, "type" | "enum" | "default"> & {
  readonly default: unknown;
  readonly type: readonly [...(S extends { readonly type: infer T } ? TypeList<T> : []), "null"];
} & (S extends { readonly enum: readonly (infer V)[] } ? { readonly enum: readonly (V | null)[] } : unknown);

type TypeList<T> = T extends readonly string[] ? T : [T];

/** The same, or null: not set. */
export function orNull<const S extends SchemaNode>(schema: S): OrNull<S> {
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const { enum: values } = schema;
  const allowed = Array.isArray(values) ? { enum: [...values, null] } : {};
  const nullable: SchemaNode = { default: null, ...schema, type: [...types, "null"], ...allowed };
  return nullable as OrNull<S>; // `OrNull` says what the line above does.
}
