/** Reads JSON of which nothing is certain: every field may be missing or of another type. */

export type Json = Readonly<Record<string, unknown>>;

/** The object that a text is; undefined for any other text. */
export function parsed(text: string): Json | undefined {
  return record(parsedValue(text));
}

/** What a text says as JSON; undefined when it is none. */
export function parsedValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function record(value: unknown): Json | undefined {
  // An object of JSON.parse: any key may be asked for, and gives unknown.
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** The objects of a list; none for anything else. */
export function records(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(record).filter((entry) => entry !== undefined) : [];
}

export function firstOf(value: unknown): Json | undefined {
  return Array.isArray(value) ? record(value[0]) : undefined;
}

/** Lists of numbers, none of them empty; undefined for anything else. */
export function vectorsIn(value: unknown): readonly (readonly number[])[] | undefined {
  return Array.isArray(value) && value.length > 0 && Array.from(value, isVector).every(Boolean)
    ? value
    : undefined;
}

function isVector(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "number");
}

export function hasItems(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** "" for anything but a text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A whole number that is not negative; 0 for anything else. */
export function count(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
