/**
 * The upstream path of a proxied call: the endpoint's path, then the rest of the client's path and its query. Nothing may lead
 * out of the endpoint's path, however it is encoded; everything else is passed on unchanged.
 */

/** Repeated encoding beyond this is treated as an attempt to hide dot segments. */
const DECODINGS_MAX = 4;

/**
 * `base`: path and query of the upstream's URL. `rest`: empty, or a path from its slash on; `query`: empty, or from its
 * question mark on. undefined: the rest would lead out of the base.
 */
export function joinPath(base: URL, rest: string, query: string): string | undefined {
  const below = resolved(rest);
  if (below === undefined) return undefined;
  const path = below === "" ? base.pathname : `${base.pathname.replace(/\/$/, "")}${below}`;
  if (base.search === "") return path + query;
  return path + base.search + (query.length > 1 ? `&${query.slice(1)}` : "");
}

/** Resolves dot segments as RFC 3986, section 5.2.4; undefined where they lead above the root. */
function resolved(rest: string): string | undefined {
  if (!DOUBTFUL.test(rest)) return rest;
  const segments = rest.split("/").slice(1);
  const kept: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const dots = segment.replace(/%2e/gi, ".");
    const isLast = index === segments.length - 1;
    if (dots === "..") {
      if (kept.pop() === undefined) return undefined;
      if (isLast) kept.push("");
    } else if (dots === ".") {
      if (isLast) kept.push("");
    } else if (hidesDots(segment)) return undefined;
    else kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

/** A path without any of these has no dot segment. */
const DOUBTFUL = /\.|%/;

/**
 * Servers differ in what they decode before they look for dot segments: encoded slashes and backslashes, repeated encoding,
 * parameters after the dots.
 */
function hidesDots(segment: string): boolean {
  let text = segment;
  for (let n = 0; n < DECODINGS_MAX; n++) {
    if (text.split(/[/\\\uff0f\uff3c]/).some(isDots)) return true;
    const next = decoded(text);
    if (next === text) return false;
    text = next;
  }
  return true;
}

/** One or two dots as a lenient parser finds them: before parameters, a query, a fragment or a NUL, within whitespace. */
function isDots(part: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: C strings end at NUL, and blanks are trimmed
  return /^[\s\0-\x1f]*[.\uff0e]{1,2}(?:[\s\0-\x1f]*$|[;?#\s\0-\x1f])/.test(part);
}

const OVERLONG = /%(?:c[01]|e0%8[01]|f0%80%8[01])%[89ab][0-9a-f]/gi;

/** ASCII in percent-encoding: in the overlong UTF-8 that decoders should refuse, as `%uXXXX`, and of one byte. */
function decoded(text: string): string {
  return text
    .replace(OVERLONG, overlongCharacter)
    .replace(/%ef%bc%(?:8[ef]|bc)/gi, decodeURIComponent)
    .replace(/%u([0-9a-f]{4})/gi, characterOf)
    .replace(/%([0-7][0-9a-f])/gi, characterOf);
}

/** The lead's last bit is the seventh of the character, the trail holds the other six. */
function overlongCharacter(whole: string): string {
  const [lead = "", trail = ""] = whole.slice(1).split("%").slice(-2);
  return String.fromCharCode(((Number.parseInt(lead, 16) & 1) << 6) | (Number.parseInt(trail, 16) & 0x3f));
}

function characterOf(_whole: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
