/**
 * Checks of a request's head beyond those of the HTTP parser: ambiguous heads, which two parsers could read differently, are
 * refused (RFC 9112, sections 3.2 and 6.1), and so are requests of other sites' pages.
 */
import type { IncomingMessage } from "node:http";
import { type GatewayError, refuse, reject } from "../plugin/index.ts";

/** Header lines of one request. Node's own maximum is disabled, since it drops further lines silently. */
export const HEADERS_MAX = 2000;

/** undefined: the head is acceptable. */
export function refusedHead(req: IncomingMessage): GatewayError | undefined {
  const raw = req.rawHeaders;
  if (req.httpVersionMajor !== 1) {
    return reject("malformed_http", {}, { detail: "unsupported HTTP version" });
  }
  if (raw.length > 2 * HEADERS_MAX) return reject("headers_too_large", {});
  const hosts = countHeader(raw, "host");
  if (hosts > 1) return reject("malformed_http", {}, { detail: "more than one Host header" });
  if (hosts === 0 && req.httpVersionMinor > 0) {
    return reject("malformed_http", {}, { detail: "Host header is missing" });
  }
  const coding = req.headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    return reject("transfer_coding_unsupported", {});
  }
  return undefined;
}

/** Header lines of this name (lower case). Node joins or drops repeated ones; the raw list has all. */
export function countHeader(raw: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const one = raw[i] ?? "";
    if (one.length === name.length && one.toLowerCase() === name) count++;
  }
  return count;
}

/**
 * A page of another site must not call a gateway through its reader's browser, neither with the reader's cookie nor
 * under a name of its own (DNS rebinding).
 */
export interface OriginRules {
  /** The client's address, according to trusted proxies. */
  readonly client: string;
  /** Address that the listener is bound to. */
  readonly ownHost: string;
  /**
   * The request is authorized by a cookie, or requests one: only the listener's own pages may send it. Other requests carry
   * a token that a foreign page does not have, so local pages may send them (developer tools of MCP).
   */
  readonly byCookie: boolean;
}

/**
 * 403, or undefined. `Host` is checked for local clients only, since elsewhere any name may be the gateway's. Clients other
 * than browsers send no `Origin`.
 */
export function refusedOrigin(req: IncomingMessage, rules: OriginRules): GatewayError | undefined {
  const { client, ownHost, byCookie } = rules;
  const { origin, host = "" } = req.headers;
  const own = hostname(`http://${host}`);
  const isLocal = isLoopback(client);
  if (isLocal && own !== ownHost && !isLoopback(own)) {
    return refuse(403, "host_not_allowed", "Host is not allowed.");
  }
  if (origin === undefined || authority(origin) === host) return undefined;
  const from = hostname(origin);
  if (!byCookie && from !== "" && (from === own || (isLocal && isLoopback(from)))) return undefined;
  return refuse(403, "origin_not_allowed", "Origin is not allowed.");
}

/** Host and port; undefined when there is none, as in `null`. */
function authority(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Without brackets, in lower case; "" when there is none. */
function hostname(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
