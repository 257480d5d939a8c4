/** Whose request it is: the peer's address, or what a trusted proxy in front of the gateway says of it. */
import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";

/** Loaded when proxies are trusted: it would cost every start some milliseconds. `require` knows no types; these are its own. */
const loadIpaddr = (): typeof import("ipaddr.js") => createRequire(import.meta.url)("ipaddr.js");

/** Reads a request's client address. Compiled once per configuration. */
export type ClientAddress = (req: IncomingMessage) => string;

/**
 * `trusted`: CIDRs whose X-Forwarded-For is believed. The header is read from its end, past trusted hops, so that
 * a client cannot put an address of its choice in front.
 */
export function clientAddress(trusted: readonly string[]): ClientAddress {
  if (trusted.length === 0) return (req) => plain(req.socket.remoteAddress ?? "");
  const ipaddr = loadIpaddr();
  const ranges = trusted.map((cidr) =>
    ipaddr.parseCIDR(cidr.includes("/") ? cidr : `${cidr}/${isV6(cidr) ? 128 : 32}`),
  );
  const isTrusted = (text: string): boolean => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return ranges.some((range) => address.kind() === range[0].kind() && address.match(range));
  };
  return (req) => {
    let address = plain(req.socket.remoteAddress ?? "");
    const header = req.headers["x-forwarded-for"];
    const hops = (Array.isArray(header) ? header.join(",") : (header ?? "")).split(",");
    while (hops.length > 0 && isTrusted(address)) {
      const hop = hops.pop()?.trim() ?? "";
      if (!ipaddr.isValid(hop)) break;
      address = plain(hop);
    }
    return address;
  };
}

function isV6(text: string): boolean {
  return text.includes(":");
}

/** An IPv4 address that came over an IPv6 socket is shown as the IPv4 address it is. */
function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
