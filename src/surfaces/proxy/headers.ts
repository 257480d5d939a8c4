/**
 * Which headers go through the proxy. Names and values pass as they came, in their order; what belongs to one connection
 * alone, to the gateway, or to the endpoint's own headers does not. Framing is never copied: it is told anew.
 */
import type { IncomingMessage } from "node:http";
import { RATE_HEADER_NAMES } from "../rate-headers.ts";

/** Of one connection alone (RFC 9110, section 7.6.1), and what frames a message on it. */
const HOP_BY_HOP = [
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["proxy-authenticate", "proxy-authorization", "proxy-authentication-info", "http2-settings"],
];

/**
 * Not for the upstream: the gateway's own token, its host, and who stands in front of it. A client could write there
 * what it likes, and upstreams that trust the gateway would believe it.
 */
const NOT_FOR_UPSTREAM = [
  ...["authorization", "host", "content-length", "expect", "via", "max-forwards"],
  ...["forwarded", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"],
  ...["x-forwarded-port", "x-forwarded-prefix", "x-forwarded-server"],
];

/** The console's session: cookies know hosts and no ports, so browsers send it here too. */
const CONSOLE_COOKIE = /(?:^|;\s*)sluice_session=[^;]*/g;

/** Browsers send a cookie without a name as its value alone, which may look like any other. */
const SETS_CONSOLE_COOKIE = /^[\s=]*sluice_session\s*(?:[=;]|$)/;

const REQUEST_DROPS: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...NOT_FOR_UPSTREAM]);
const ANSWER_DROPS: ReadonlySet<string> = new Set(HOP_BY_HOP);
/** Trailers may not do what must be known before the body (RFC 9110, section 6.5.1). */
const TRAILER_DROPS: ReadonlySet<string> = new Set([
  ...REQUEST_DROPS,
  ...["content-encoding", "content-type", "content-range", "cookie", "set-cookie", "cache-control"],
]);

const AUTHORIZATION: ReadonlySet<string> = new Set(["authorization"]);
const NONE: ReadonlySet<string> = new Set();
/** Without a length these would seem to have a body of unknown length. */
const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** How this gateway signs messages that it passes on. */
const VIA = "1.1 sluice";

export interface AddedHeaders {
  /** The endpoint's, names and values in turn: they win over the client's. */
  readonly headers: readonly string[];
  readonly accessToken: string | undefined;
  readonly upstreamHost: string;
}

/** Headers of the request to the upstream, framing included. */
export function requestHeaders(req: IncomingMessage, added: AddedHeaders): string[] {
  const { headers, accessToken, upstreamHost } = added;
  const isSigned = accessToken !== undefined;
  const own = withoutNames(headers, isSigned ? AUTHORIZATION : NONE);
  const replaced = [...namesOf(own), ...namedByConnection(req)];
  const out = has(own, "host") ? [] : ["Host", upstreamHost];
  const passed = withoutNames(req.rawHeaders, REQUEST_DROPS, replaced);
  for (let n = 0; n < passed.length; n += 2) {
    const name = passed[n] ?? "";
    const value = passed[n + 1] ?? "";
    const kept =
      plainName(name) === "cookie" ? value.replace(CONSOLE_COOKIE, "").replace(/^;\s*/, "") : value;
    if (kept !== "" || value === "") out.push(name, kept);
  }
  out.push(...own);
  if (isSigned) out.push("Authorization", `Bearer ${accessToken}`);
  const { via } = req.headers;
  out.push("Via", via === undefined ? VIA : `${via}, ${VIA}`);
  return [...out, ...requestFraming(req)];
}

/** RFC 9112, section 6: as the client frames the body, told in this connection's own words. */
function requestFraming({ method = "", headers }: IncomingMessage): string[] {
  const { trailer, te, "content-length": length } = headers;
  // Asked for on this connection too, since trailers are passed on.
  const wants = /(?:^|,)\s*trailers\b/i.test(String(te ?? ""))
    ? ["TE", "trailers", "Connection", "keep-alive, TE"]
    : [];
  if (headers["transfer-encoding"] !== undefined) {
    const named = trailer === undefined ? [] : ["Trailer", trailer];
    return [...wants, "Transfer-Encoding", "chunked", ...named];
  }
  if (length !== undefined) return [...wants, "Content-Length", length];
  return WITH_BODY.has(method) ? [...wants, "Content-Length", "0"] : wants;
}

/**
 * Headers of the answer. `isChunked`: it goes out in chunks, so that trailers may follow. `own`: the gateway's, whose rate
 * limit fields replace the upstream's.
 */
export function answerHeaders(answer: IncomingMessage, isChunked: boolean, own: readonly string[]): string[] {
  const isLimited = own.includes("RateLimit");
  const replaced = isLimited
    ? [...RATE_HEADER_NAMES, ...namedByConnection(answer)]
    : namedByConnection(answer);
  const raw = withoutNames(answer.rawHeaders, ANSWER_DROPS, replaced);
  const out = raw.filter((_, n) => !setsConsoleCookie(raw[n & ~1] ?? "", raw[n | 1] ?? ""));
  for (let n = 0; n < out.length; n += 2) {
    // The gateway's own stands under that name, in every answer and in the log; the upstream's is kept beside it.
    if (plainName(out[n] ?? "") === "x-request-id") out[n] = "X-Upstream-Request-Id";
  }
  const { trailer } = answer.headers;
  return isChunked && trailer !== undefined ? [...out, "Trailer", trailer] : out;
}

/** A proxied upstream may not sign its reader in, or out. */
function setsConsoleCookie(name: string, value: string): boolean {
  return plainName(name) === "set-cookie" && SETS_CONSOLE_COOKIE.test(value);
}

/** What came behind the body, as pairs. `own`: the endpoint's headers, which no trailer may stand in for. */
export function trailers(message: IncomingMessage, own: readonly string[] = []): [string, string][] {
  const kept = withoutNames(message.rawTrailers, TRAILER_DROPS, namesOf(own));
  const pairs: [string, string][] = [];
  for (let n = 0; n < kept.length; n += 2) pairs.push([kept[n] ?? "", kept[n + 1] ?? ""]);
  return pairs;
}

function withoutNames(
  raw: readonly string[],
  drops: ReadonlySet<string>,
  more: readonly string[] = [],
): string[] {
  const others = new Set(more);
  const kept: string[] = [];
  for (let n = 0; n < raw.length; n += 2) {
    const name = plainName(raw[n] ?? "");
    if (!drops.has(name) && !others.has(name)) kept.push(raw[n] ?? "", raw[n + 1] ?? "");
  }
  return kept;
}

/** To many servers `X_Api_Key` is `X-Api-Key`: a client may not say in one way what it may not in the other. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

function namesOf(flat: readonly string[]): string[] {
  return flat.filter((_, n) => n % 2 === 0).map(plainName);
}

function has(flat: readonly string[], name: string): boolean {
  return namesOf(flat).includes(name);
}

/** Headers that the sender declares to be of this connection alone. */
function namedByConnection({ headers }: IncomingMessage): string[] {
  return headers.connection === undefined
    ? []
    : headers.connection.split(",").map((name) => plainName(name.trim()));
}
