/**
 * Reads JSON of which nothing is certain: every field may be missing or of another type. All JSON that clients, providers
 * and other servers send is parsed here, so that whatever was parsed can be walked and written without a stack overflow.
 */

import type { JsonObject } from "../../plugin/chat.ts";

/** Levels of nesting that JSON from outside may have. */
export const JSON_DEPTH_MAX = 100;

/** Parses JSON. Throws a SyntaxError when `text` is not JSON or nests deeper than JSON_DEPTH_MAX levels. @since 0.2.0 */
export function parseJson(text: string): unknown {
  if (nestsTooDeep(text)) throw new SyntaxError(`JSON nests deeper than ${JSON_DEPTH_MAX} levels`);
  return JSON.parse(text);
}

/** Whether JSON nests deeper than JSON_DEPTH_MAX levels. Linear; of text that is not JSON the result says nothing. @since 0.2.0 */
export function nestsTooDeep(text: string): boolean {
  // Each level takes two brackets.
  if (text.length <= 2 * JSON_DEPTH_MAX) return false;
  // Most texts have fewer brackets than that in all.
  if (countUpTo(text, "[", JSON_DEPTH_MAX) + countUpTo(text, "{", JSON_DEPTH_MAX) <= JSON_DEPTH_MAX)
    return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > JSON_DEPTH_MAX) return true;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
  }
  return false;
}

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** How often `character` occurs; counting stops above `max`. */
function countUpTo(text: string, character: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1 && count <= max; at = text.indexOf(character, at + 1))
    count++;
  return count;
}

/** Where the string that begins at `from` has its closing quote; the text's end when it has none. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === BACKSLASH) escapes--;
    // After an even number of backslashes the quote is not escaped.
    if ((end - escapes) % 2 === 0) return end;
  }
  return text.length;
}

/** The object that a text is; undefined for any other text. @since 0.2.0 */
export function parseObject(text: string): JsonObject | undefined {
  return asObject(parseValue(text));
}

/** What a text says as JSON; undefined when it is not JSON, or nests too deep. @since 0.2.0 */
export function parseValue(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The object, or undefined for anything else. @since 0.2.0 */
export function asObject(value: unknown): JsonObject | undefined {
  // An object of JSON.parse: any key may be asked for, and gives unknown.
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

/** The objects of a list; none for anything else. @since 0.2.0 */
export function asObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(asObject).filter((entry) => entry !== undefined) : [];
}

/** The first of a list, where it is an object. @since 0.2.0 */
export function firstObject(value: unknown): JsonObject | undefined {
  return Array.isArray(value) ? asObject(value[0]) : undefined;
}

/** Lists of numbers, none of them empty; undefined for anything else. @since 0.2.0 */
export function asVectors(value: unknown): readonly (readonly number[])[] | undefined {
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

/** False for undefined and null. @since 0.1.0 */
export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** "" for anything but a text. @since 0.2.0 */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * True when the counts of a reported usage can be relied on: each is absent or a whole number that is not negative, and
 * at least one is there. Otherwise the usage is left out, so that the gateway estimates it: a count of 0 would be free.
 * @since 0.2.0
 */
export function areCounts(...values: readonly unknown[]): boolean {
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
  return values.some(isPresent) && values.every((value) => !isPresent(value) || isCount(value));
}

/** A whole number that is not negative; 0 for anything else. @since 0.2.0 */
export function asCount(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
}
