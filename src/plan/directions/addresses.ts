/** Which addresses contain which others: CIDR blocks, single addresses and the address that a listener binds. */
import ipaddr from "ipaddr.js";
import type { JsonValue } from "../../plugin/chat.ts";
import { bySet, type Compare, directionOf, known } from "./direction.ts";

type Block = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** undefined: a hostname, which contains itself alone. */
function blockOf(text: string): Block | undefined {
  const [address = "", bits] = text.split("/");
  if (!ipaddr.isValid(address)) return undefined;
  const parsed = ipaddr.parse(address);
  return [parsed, bits === undefined ? (parsed.kind() === "ipv4" ? 32 : 128) : Number(bits)];
}

function contains(outer: JsonValue, inner: JsonValue): boolean {
  if (typeof outer !== "string" || typeof inner !== "string") return false;
  const [out, into] = [blockOf(outer), blockOf(inner)];
  if (out === undefined || into === undefined) return sameHost(outer) === sameHost(inner);
  const [network, bits] = out;
  const [address, length] = into;
  return network.kind() === address.kind() && bits <= length && address.match(network, bits);
}

const sameHost = (name: string): string => name.toLowerCase().replace(/\.$/, "");

/** Lists of addresses, blocks and hostnames: the fewer addresses the stricter. */
export const byAddresses: Compare = bySet(contains);

const ANY = /^(?:0\.0\.0\.0|::|\[::\])$/;

function reachOf(host: string): number {
  if (ANY.test(host)) return 2;
  if (host === "localhost") return 0;
  const block = blockOf(host.replace(/^\[|\]$/g, ""));
  return block?.[0].range() === "loopback" ? 0 : 1;
}

/** Addresses to listen on: loopback is within any other one, and each within `0.0.0.0`. */
export const byListener: Compare = known((before, after) => {
  const [was, is] = [reachOf(String(before)), reachOf(String(after))];
  return was === is ? directionOf(was === 1, was === 1) : directionOf(is < was, is > was);
});
