/** Markdown tables of the keys that a JSON Schema declares, for the generated pages. */

type SchemaNode = Readonly<Record<string, unknown>>;

/** A key of a schema and its row: key, type, default, meaning. */
export interface KeyRow {
  /** `[]` for each entry of a list, `*` for any name. */
  readonly path: string;
  readonly row: string;
}

/** One row per key, depth first. */
export function keyRows(of: unknown, path = ""): KeyRow[] {
  const schema = node(of);
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(node(schema["properties"])).flatMap(([key, value]) => {
    const own = node(value);
    const here = path === "" ? key : `${path}.${key}`;
    const fallback =
      "default" in own
        ? `\`${cell(JSON.stringify(own["default"]))}\``
        : required.includes(key)
          ? "required"
          : "";
    const meaning = cell(String(own["description"] ?? ""));
    const row = `| \`${here}\` | ${cell(typeOf(own))} | ${fallback} | ${meaning} |`;
    const nested = own["additionalProperties"];
    return [
      { path: here, row },
      ...keyRows(own, here),
      ...("items" in own ? keyRows(own["items"], `${here}[]`) : []),
      ...(typeof nested === "object" ? keyRows(nested, `${here}.*`) : []),
    ];
  });
}

export function keyTable(heading: string, rows: readonly KeyRow[]): string {
  return `| ${heading} | Type | Default | Meaning |\n|---|---|---|---|\n${rows.map(({ row }) => row).join("\n")}`;
}

function typeOf(schema: SchemaNode): string {
  if ("const" in schema) return `\`${JSON.stringify(schema["const"])}\``;
  if (Array.isArray(schema["enum"])) return schema["enum"].map((value) => `\`${String(value)}\``).join(", ");
  const types = Array.isArray(schema["type"]) ? schema["type"].join(" or ") : String(schema["type"] ?? "any");
  const { minimum, maximum } = schema;
  if (typeof minimum === "number" && typeof maximum === "number") return `${types}, ${minimum} to ${maximum}`;
  if (typeof minimum === "number") return `${types}, ${minimum} or more`;
  return types;
}

/** The value as a schema; an empty one in place of anything that is not an object. */
function node(value: unknown): SchemaNode {
  // Members of an object are unknown until they are read.
  return typeof value === "object" && value !== null ? (value as SchemaNode) : {};
}

export function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
