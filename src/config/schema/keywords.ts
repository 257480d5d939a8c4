/** Words to write the configuration's schema with. Each makes one JSON Schema object; none knows a key. */

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

/** The default serves as the example where none is given and it says something. */
function node(type: string, description: string, more: More): SchemaNode {
  const { default: value } = more;
  const telling = value !== undefined && value !== null && value !== "" && JSON.stringify(value) !== "{}";
  return { type, description, ...(telling ? { examples: [value] } : {}), ...more };
}

export function text(description: string, more: More = {}): SchemaNode {
  return node("string", description, more);
}

/** A text that must say something. */
export function name(description: string, more: More = {}): SchemaNode {
  return node("string", description, { minLength: 1, maxLength: 200, ...more });
}

export function flag(description: string, value: boolean): SchemaNode {
  return node("boolean", description, { default: value });
}

export function integer(description: string, minimum: number, maximum: number, more: More = {}): SchemaNode {
  return node("integer", description, { minimum, maximum, ...more });
}

export function decimal(description: string, minimum: number, maximum: number, more: More = {}): SchemaNode {
  return node("number", description, { minimum, maximum, ...more });
}

/** An amount in USD: a plain decimal, as a number or in quotes. Its form is checked where its text is known. */
export function usd(description: string, more: More = {}): SchemaNode {
  return { ...node("number", description, more), type: ["number", "string"] };
}

export function choice(description: string, values: readonly string[], more: More = {}): SchemaNode {
  return node("string", description, { enum: values, examples: [values[0]], ...more });
}

export function url(description: string, more: More = {}): SchemaNode {
  const form = {
    pattern: "^https?://[^\\s/?#]\\S*$",
    patternErrorMessage: "must be an absolute http or https URL",
  };
  return node("string", description, { ...form, ...more });
}

export function list(description: string, items: SchemaNode, more: More = {}): SchemaNode {
  return node("array", description, { items, default: [], ...more });
}

/** A map with known keys and no others. Absent, it is a map of its defaults. */
export function section(
  description: string,
  properties: Readonly<Record<string, SchemaNode>>,
  more: More = {},
): SchemaNode {
  return node("object", description, { properties, additionalProperties: false, ...more });
}

/** `include`: files that are parts of what it stands in. */
export function includes(description: string, example: string): SchemaNode {
  const entry: SchemaNode = {
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
  };
  return list(description, entry, { examples: [[example]] });
}

/** A map whose keys the author chooses. */
export function mapOf(
  description: string,
  additionalProperties: SchemaNode | true,
  more: More = {},
): SchemaNode {
  return node("object", description, { additionalProperties, default: {}, ...more });
}

/** The same, or null: not set. */
export function orNull(schema: SchemaNode): SchemaNode {
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const { enum: values } = schema;
  const allowed = Array.isArray(values) ? { enum: [...values, null] } : {};
  return { default: null, ...schema, type: [...types, "null"], ...allowed };
}
