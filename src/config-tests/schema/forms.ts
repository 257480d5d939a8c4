/** Forms that the sections of a test file share: matchers, durations, values of any type. */
import { list, mapOf, type SchemaNode, text } from "../../config/schema/keywords.ts";

/** `{{name}}`: replaced by a value of the row, a saved value or a fact of the project. */
export const PLACEHOLDER = "\\{\\{\\s*[\\w.-]+\\s*\\}\\}";
export const DURATION_FORM = "[0-9]+(?:\\.[0-9]+)?(?:ms|s|m|h|d)";

export const duration = (description: string, examples: readonly string[]) =>
  text(description, {
    pattern: `^(?:${DURATION_FORM}|${PLACEHOLDER})$`,
    patternErrorMessage: "must be a duration, such as 500ms, 61s, 5m, 2h or 32d",
    examples,
  });

/** Values of any type, for keys whose form the provider or the client decides. */
export const ANY_TYPES = ["string", "number", "boolean", "object", "array", "null"] as const;
export const anything = (description: string, more: Readonly<Record<string, unknown>> = {}) =>
  ({ type: ANY_TYPES, description, ...more }) as const;

/** What may stand in the place of an expected value. */
export const matcherKeys = {
  contains: anything("The text holds this text, or the list an item equal to this.", { examples: ["EMAIL"] }),
  matches: text("A regular expression (RE2) that matches somewhere in the text.", { examples: ["^You "] }),
  excludes: anything("The text does not hold this text (or any of these), nor the list such an item.", {
    examples: ["ann@example.org"],
  }),
  min: { type: ["number", "string"], description: "The number is at least this.", examples: [1] },
  max: { type: ["number", "string"], description: "The number is at most this.", examples: [0.001] },
  // `any` and `none` are names of matchers, not types.
  one_of: list("The value is one of these.", anything("A value."), { minItems: 1, examples: [[200, 201]] }),
  any: {
    type: "boolean",
    enum: [true],
    description: "Any value, as long as there is one.",
    examples: [true],
  },
  none: { type: "boolean", enum: [true], description: "There is no such value.", examples: [true] },
  length: {
    type: ["integer", "string"],
    description: "Characters of the text, or items of the list.",
    minimum: 0,
    pattern: `^${PLACEHOLDER}$`,
    examples: [3],
  },
} as const;

export const MATCHERS: ReadonlySet<string> = new Set(Object.keys(matcherKeys));

/** A value of one type, or a matcher, or a placeholder. */
export function expected(
  type: "string" | "number" | "integer",
  description: string,
  more: Readonly<Record<string, unknown>> = {},
): SchemaNode {
  const own = type === "string" ? ["string"] : [type, "string"];
  const form =
    type === "string"
      ? {}
      : {
          pattern: `^${PLACEHOLDER}$`,
          patternErrorMessage: "must be a number, a matcher such as {max: 5}, or a placeholder",
        };
  return {
    ...{ type: [...own, "object"], description, properties: matcherKeys, additionalProperties: false },
    ...form,
    ...more,
  };
}

export const expectedMap = (description: string, more: Readonly<Record<string, unknown>> = {}) =>
  mapOf(description, anything("A value."), more);

export const headers = (description: string) =>
  mapOf(
    description,
    { type: ["string", "number", "null"], description: "A header's value; null leaves it out." },
    {
      examples: [{ "X-Tenant": "a" }],
    },
  );

const TYPE_WORDS: Readonly<Record<string, string>> = {
  boolean: "true or false",
  integer: "an integer",
  number: "a number",
};

/** A copy in which a placeholder may stand for every number and boolean. */
export function acceptPlaceholders<S extends SchemaNode>(schema: S): S {
  // What is added to a node keeps its other keywords, which is all that `S` says of it.
  return accepting(schema) as S;
}

function accepting(schema: SchemaNode): SchemaNode {
  const { properties, items, additionalProperties, type } = schema;
  const copy = {
    ...schema,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, one]) => [key, accepting(one)]),
          ),
        }),
    ...(items === undefined ? {} : { items: accepting(items) }),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: accepting(additionalProperties) }
      : {}),
  };
  const word = typeof type === "string" ? TYPE_WORDS[type] : undefined;
  if (word === undefined || schema["enum"] !== undefined) return copy;
  const patternErrorMessage = `must be ${word}, or a placeholder`;
  return { ...copy, type: [String(type), "string"], pattern: `^${PLACEHOLDER}$`, patternErrorMessage };
}
