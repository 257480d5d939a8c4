/**
 * Decides which headers pass through the proxy. Names, values and order are kept; hop-by-hop headers, the gateway's, and those
 * that the endpoint sets are removed. Framing is never copied but set for each connection.
 */
import type { IncomingMessage } from "node:http";
import { RATE_HEADER_NAMES } from "../rate-headers.ts";

/** Hop-by-hop headers (RFC 9110, section 7.6.1) and framing. */
const HOP_BY_HOP = [
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["proxy-authenticate", "proxy-authorization", "proxy-authentication-info", "http2-settings"],
];

/**
 * Not passed on: the gateway's token, its host, and forwarding headers. Clients can forge these, and upstreams that trust the
 * gateway would believe them.
 */
const NOT_FOR_UPSTREAM = [
  ...["authorization", "host", "content-length", "expect", "via", "max-forwards"],
  ...["forwarded", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"],
  ...["x-forwarded-port", "x-forwarded-prefix", "x-forwarded-server"],
];

/** The console's session: cookies are not bound to ports, so browsers send it here, too. */
const CONSOLE_COOKIE = /(?:^|;\s*)sluice_session=[^;]*/g;

/** Browsers send a cookie without a name as its value only, which may look like any other cookie. */
const SETS_CONSOLE_COOKIE = /^[\s=]*sluice_session\s*(?:[=;]|$)/;

const REQUEST_DROPS: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...NOT_FOR_UPSTREAM]);
const ANSWER_DROPS: ReadonlySet<string> = new Set(HOP_BY_HOP);
/** Fields that are not allowed in trailers (RFC 9110, section 6.5.1). */
const TRAILER_DROPS: ReadonlySet<string> = new Set([
  ...REQUEST_DROPS,
  ...["content-encoding", "content-type", "content-range", "cookie", "set-cookie", "cache-control"],
]);

const AUTHORIZATION: ReadonlySet<string> = new Set(["authorization"]);
const NONE: ReadonlySet<string> = new Set();
/** Methods that need a Content-Length of 0 when there is no body. */
const WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** This gateway's entry in `Via`. */
const VIA = "1.1 sluice";

export interface AddedHeaders {
  /** The endpoint's, names and values in turn; they override the client's. */
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

/** Frames the body as the client does (RFC 9112, section 6). */
function requestFraming({ method = "", headers }: IncomingMessage): string[] {
  const { trailer, te, "content-length": length } = headers;
  // Requested on this connection, too, since trailers are passed on.
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
 * Headers of the response. `isChunked`: trailers may follow. `own`: the gateway's, whose rate limit fields replace the
 * upstream's.
 */
export function answerHeaders(answer: IncomingMessage, isChunked: boolean, own: readonly string[]): string[] {
  const isLimited = own.includes("RateLimit");
  const replaced = isLimited
    ? [...RATE_HEADER_NAMES, ...namedByConnection(answer)]
    : namedByConnection(answer);
  const raw = withoutNames(answer.rawHeaders, ANSWER_DROPS, replaced);
  const out = raw.filter((_, n) => !setsConsoleCookie(raw[n & ~1] ?? "", raw[n | 1] ?? ""));
  for (let n = 0; n < out.length; n += 2) {
    // The gateway's request id has that name; the upstream's is renamed.
    if (plainName(out[n] ?? "") === "x-request-id") out[n] = "X-Upstream-Request-Id";
  }
  const { trailer } = answer.headers;
  return isChunked && trailer !== undefined ? [...out, "Trailer", trailer] : out;
}

/** A proxied upstream must not change the console's session. */
function setsConsoleCookie(name: string, value: string): boolean {
  return plainName(name) === "set-cookie" && SETS_CONSOLE_COOKIE.test(value);
}

/** The trailers as pairs. `own`: the endpoint's headers, which no trailer may replace. */
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

/** Many servers treat `X_Api_Key` as `X-Api-Key`: both are removed alike. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

function namesOf(flat: readonly string[]): string[] {
  return flat.filter((_, n) => n % 2 === 0).map(plainName);
}

function has(flat: readonly string[], name: string): boolean {
  return namesOf(flat).includes(name);
}

/** Headers that `Connection` names. */
function namedByConnection({ headers }: IncomingMessage): string[] {
  return headers.connection === undefined
    ? []
    : headers.connection.split(",").map((name) => plainName(name.trim()));
}
