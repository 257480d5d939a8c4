/**
 * Where on its upstream a proxied call goes: the endpoint's path with the rest of the client's path and its query behind
 * it. Nothing may lead out of the endpoint's path, however it is written; all else is left as it came.
 */

/** Deeper than anybody encodes who does not mean to hide something. */
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

/** Dot segments resolved as RFC 3986 does (section 5.2.4); undefined where there is nothing left to go up from. */
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

/** Without any of these a path holds no dot segment. */
const DOUBTFUL = /\.|%/;

/**
 * Servers differ in what they decode before they look for dot segments: slashes that are encoded or turned round, codes
 * of codes, parameters behind the dots.
 */
function hidesDots(segment: string): boolean {
  let text = segment;
  for (let n = 0; n < DECODINGS_MAX; n++) {
    if (text.split(/[/\\]/).some((part) => /^\s*\.\.?\s*(?:;|$)/.test(part))) return true;
    const next = text.replace(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (next === text) return false;
    text = next;
  }
  return true;
}
