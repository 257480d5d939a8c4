/** The client's address: the peer's, or the one that a trusted proxy reports. */
import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import type { Socket } from "node:net";

/** Loaded only when proxies are trusted, since it costs milliseconds at start. `require` has no types; these are the package's. */
const loadIpaddr = (): typeof import("ipaddr.js") => createRequire(import.meta.url)("ipaddr.js");

/** Reads a request's client address. Compiled once per configuration. */
export type ClientAddress = (req: IncomingMessage) => string;

/**
 * `trusted`: CIDRs whose X-Forwarded-For is trusted. The header is read from its end, past trusted hops, so that a client
 * cannot spoof an address by prepending one.
 */
export function clientAddress(trusted: readonly string[]): ClientAddress {
  if (trusted.length === 0) return (req) => peerAddress(req.socket);
  const ipaddr = loadIpaddr();
  const isTrusted = addressSet(trusted);
  return (req) => {
    let address = peerAddress(req.socket);
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

/** Whether an address is in one of these blocks (CIDR, or an address alone). */
export function addressSet(blocks: readonly string[]): (address: string) => boolean {
  if (blocks.length === 0) return () => false;
  const ipaddr = loadIpaddr();
  const ranges = blocks.map((cidr) =>
    ipaddr.parseCIDR(cidr.includes("/") ? cidr : `${cidr}/${isV6(cidr) ? 128 : 32}`),
  );
  return (text) => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return ranges.some((range) => address.kind() === range[0].kind() && address.match(range));
  };
}

/** The address at the other end of a connection. */
export function peerAddress(socket: Socket): string {
  return plain(socket.remoteAddress ?? "");
}

/** The /64 network of an IPv6 address, since a client can use any address of it; an IPv4 address unchanged. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const zeros = new Array<string>(Math.max(0, 8 - groups(head).length - groups(tail).length)).fill("0");
  return [...groups(head), ...zeros, ...groups(tail)].slice(0, 4).join(":");
}

function isV6(text: string): boolean {
  return text.includes(":");
}

/** An IPv4-mapped IPv6 address as IPv4. */
function plain(address: string): string {
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
