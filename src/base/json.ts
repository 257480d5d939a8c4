/** The test whether a JSON value is an object, for all readers of JSON whose shape is not known. */
import type { JsonValue } from "../plugin/chat.ts";

export type JsonMap = { readonly [key: string]: JsonValue };

/** Neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
