/**
 * Whether JSON from another process has the shape that a schema of the admin API describes. Unlike a validator it lets
 * unknown keys pass, since a newer gateway may answer more, and checks only what static types are derived from.
 */
import { isJsonObject } from "../base/json.ts";

interface Shape {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly items?: object;
}

/** What is wrong first; undefined: nothing. */
export function conforms(value: unknown, schema: object, path = "body"): string | undefined {
  const { type, properties = {}, required = [], items }: Shape = schema;
  if (typeof type === "string" && !isOfType(value, type)) return `${path} is not of type ${type}`;
  if (Array.isArray(value) && items !== undefined) {
    for (const [index, item] of value.entries()) {
      const fault = conforms(item, items, `${path}[${index}]`);
      if (fault !== undefined) return fault;
    }
  }
  if (!isJsonObject(value)) return undefined;
  for (const key of required) if (!Object.hasOwn(value, key)) return `${path}.${key} is missing`;
  for (const [key, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, key)) continue;
    const fault = conforms(value[key], property, `${path}.${key}`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
