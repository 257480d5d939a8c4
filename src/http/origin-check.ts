/**
 * Whether a request may come from where its browser says it does. A page of another site must not speak to a gateway
 * through its reader's browser, neither with the reader's cookie nor under a name of its own (DNS rebinding).
 */
import type { IncomingMessage } from "node:http";
import { type GatewayError, refuse } from "../plugin/index.ts";

export interface OriginRules {
  /** The client's address, as trusted proxies vouch for it. */
  readonly client: string;
  /** Address that the listener is bound to. */
  readonly ownHost: string;
  /**
   * The request acts by a cookie, or asks for one: only the listener's own pages may send it. Others carry a token that
   * a foreign page does not know, so pages on the client's own machine may send them (developer tools of MCP).
   */
  readonly byCookie: boolean;
}

/**
 * 403, or undefined. `Host` is checked for clients on this machine, since elsewhere any name may be the gateway's.
 * Clients other than browsers send no `Origin`.
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
