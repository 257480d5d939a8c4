/**
 * The SSRF guard: which addresses a request made for somebody else may go to (`proxy.ssrf`). Pure but for the
 * one resolving of a name, whose addresses are checked and are the ones connected to. Opens no connection itself.
 */
import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** What `network.allow` lets through. */
export interface SsrfAllow {
  /** In lower case, without a dot at the end. */
  readonly names: ReadonlySet<string>;
  readonly blocks: readonly (readonly [network: Address, bits: number])[];
}

/** Resolves a name to all of its addresses; Node's own unless a test says otherwise. */
export type Resolve = (
  name: string,
  answer: (
    error: Error | null,
    addresses: readonly { readonly address: string; readonly family: number }[],
  ) => void,
) => void;

/** The guard has refused a name's addresses: no connection was opened. */
export class SsrfError extends Error {
  readonly code = "ESSRF";
}

/** Public ranges of IPv6; all else is somebody's own, of this machine, or leads back into IPv4. */
const GLOBAL = ipaddr.IPv6.parseCIDR("2000::/3");
/** Names of IPv4 addresses on networks that have none (RFC 6052); they are what they name. */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");
/** A public address that is nevertheless the metadata service of Azure's machines. */
const AZURE_METADATA = "168.63.129.16";

const WORDS: Readonly<Record<string, string>> = {
  unspecified: "an unspecified address",
  loopback: "a loopback address",
  linkLocal: "a link-local address",
  carrierGradeNat: "a carrier-grade NAT address",
  private: "a private address",
  uniqueLocal: "a private address",
  deprecatedSiteLocal: "a private address",
  multicast: "a multicast address",
  broadcast: "a broadcast address",
};

/** `entries`: CIDR blocks, addresses and hostnames. What is none of them lets nothing through. */
export function ssrfAllow(entries: readonly string[]): SsrfAllow {
  const names = new Set<string>();
  const blocks: (readonly [Address, number])[] = [];
  for (const entry of entries) {
    if (ipaddr.isValidCIDR(entry)) blocks.push(ipaddr.parseCIDR(entry));
    else if (ipaddr.isValid(entry)) {
      const address = ipaddr.parse(entry);
      blocks.push([address, address.kind() === "ipv4" ? 32 : 128]);
    } else names.add(nameOf(entry));
  }
  return { names, blocks };
}

/**
 * The URL when it may be asked for, else why not. An address in any notation is decided here (URLs know them all:
 * decimal, octal, hex, full-width); a name is decided when it is resolved, by `guardedLookup`.
 */
export function checkUrl(url: string, allow: SsrfAllow): URL | string {
  if (!URL.canParse(url)) return "it is not a URL";
  const parsed = new URL(url);
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return "it is not an HTTP URL";
  if (parsed.username !== "" || parsed.password !== "") return "it holds a user or a password";
  const host = parsed.hostname.replace(/^\[|\]$/g, "");
  const refusal = ipaddr.isValid(host) ? addressRefusal(host, allow) : undefined;
  return refusal ?? parsed;
}

/** Why this address may not be connected to; undefined: it may. */
export function addressRefusal(text: string, allow: SsrfAllow): string | undefined {
  if (!ipaddr.isValid(text)) return `${text} is not an address`;
  const address = ipaddr.parse(inHex(text));
  const meant = meantBy(address);
  if (isAllowed(address, allow) || isAllowed(meant, allow)) return undefined;
  if (text.includes("%")) return `${text} is a link-local address`;
  const range = meant.range();
  if (range === "unicast" && isPublic(meant)) return undefined;
  const named = meant === address ? text : `${text} (${meant.toString()})`;
  return `${named} is ${WORDS[range] ?? "a reserved address"}`;
}

/** True: `network.allow` has this name, and it may have any address. */
export function isAllowedName(name: string, { names }: SsrfAllow): boolean {
  return names.has(nameOf(name));
}

/**
 * Resolves names for `net.connect`: once, all addresses checked, and those very addresses are what it connects to. A
 * name that `network.allow` lets through may have any.
 */
export function guardedLookup(allow: SsrfAllow, resolve: Resolve = resolveName): LookupFunction {
  return (name, options, answer) => {
    resolve(name, (error, addresses) => {
      const first = addresses[0];
      if (error !== null || first === undefined) return answer(error ?? new Error("no address"), "", 0);
      if (!isAllowedName(name, allow)) {
        for (const { address } of addresses) {
          const refusal = addressRefusal(address, allow);
          if (refusal !== undefined) return answer(new SsrfError(`${name}: ${refusal}`), "", 0);
        }
      }
      if (options.all === true) answer(null, [...addresses]);
      else answer(null, first.address, first.family);
    });
  };
}

const resolveName: Resolve = (name, answer) =>
  systemLookup(name, { all: true }, (error, addresses) => answer(error, error === null ? addresses : []));

/** ipaddr.js takes `::10.0.0.1` for `::ffff:10.0.0.1`, which is another address; URLs do not. */
function inHex(text: string): string {
  const url = `http://[${text}]/`;
  return text.includes(":") && text.includes(".") && URL.canParse(url)
    ? new URL(url).hostname.slice(1, -1)
    : text;
}

function nameOf(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

/** An IPv4 address written as IPv6 is that IPv4 address. */
function meantBy(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  if (!address.match(NAT64)) return address;
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

function isPublic(address: Address): boolean {
  return address instanceof ipaddr.IPv4 ? address.toString() !== AZURE_METADATA : address.match(GLOBAL);
}

function isAllowed(address: Address, { blocks }: SsrfAllow): boolean {
  return blocks.some(
    // Of one kind, as has just been seen; the types of `match` cannot say so.
    ([network, bits]) => network.kind() === address.kind() && address.match([network, bits] as never),
  );
}
