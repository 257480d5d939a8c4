/**
 * Bounds the number of members in a JSON text before it is parsed: parsing, schemas and guardrails take far longer for a
 * body of many small members than for one long text of the same size.
 */

/** Members of objects and items of lists that a body may have, at all depths. */
export const MEMBERS_MAX = 100_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const OPEN_MAP = 0x7b;

/** True when the JSON text has more members than `max`: commas and opening brackets outside of strings. */
export function hasTooManyMembers(json: Buffer, max = MEMBERS_MAX): boolean {
  // Each takes a byte.
  if (json.length <= max) return false;
  let members = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if ((byte === COMMA || byte === OPEN_LIST || byte === OPEN_MAP) && ++members > max) return true;
  }
  return false;
}
