/** Distinguishes network addresses from versions, times and documentation examples. */

import { namesVersion, STRUCTURE_CHARACTERS } from "./structure.ts";

/** Where an address may begin: the text, and the place in it. */
export interface AddressPlace {
  readonly text: string;
  readonly at: number;
}

const OCTET = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = new RegExp(`${OCTET}(?:\\.${OCTET}){3}(?!\\.?\\d)`, "y");
/** Loopback, "any", netmasks, and networks written like hosts (also the likes of `Chrome/120.0.0.0`). */
const NO_MACHINE = /^(?:127|0|255)\.|\.0\.0\.0$/;
/** `1.2.3.4`, `4.8.30.0`, `13.0.3.21` may as well be versions: here words must speak for an address. */
const LIKE_A_VERSION = /^(?:\d\.\d{1,2}\.|(?:1\d|2[0-5])\.\d{1,2}\.\d{1,2}\.\d{1,2}$)|\.0$/;
/** Of 10.x too, unless words say that it is a version. */
const PRIVATE = /^10\./;
const SAYS_ADDRESS =
  /\b(?:ip|ips|ipv4|addr|address|addresses|adresse|host|hosts|hostname|server|servers|dns|ping|client|from|gateway|router|subnet|peer|remote|nameserver|resolver|listen|ssh|proxy|machine|node)\b[^\n]{0,24}$|:\/\/$|\w@$/i;
const SAYS_ADDRESS_BEHIND = /^(?:\/(?:3[0-2]|[12]\d|[89])(?!\d)|:\d{2,5}(?!\d))/;
const SOCKET = /^:\d{2,5}(?!\d)/;
/** `zlib@1.2.13.1`, `v8@10.2.154.26`: releases of packages; machines that one logs in to have other numbers. */
const RELEASE = /^1?\d\./;
/** Private, link-local, shared, and reserved for documentation and benchmarks: they identify nobody. */
const NOBODYS =
  /^(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|192\.0\.[02]|198\.(?:1[89]|51\.100)|203\.0\.113)\./;

/** Length of the IPv4 address that begins in `plain` at `offset`, which is `place` in the text; 0: none does. */
export function ipv4Length(plain: string, offset: number, { text, at }: AddressPlace): number {
  const before = text.slice(Math.max(0, at - STRUCTURE_CHARACTERS), at);
  if (plain[offset - 1] === "." || isTied(before)) return 0;
  IPV4.lastIndex = offset;
  const found = IPV4.exec(plain)?.[0] ?? "";
  if (found === "" || NO_MACHINE.test(found)) return 0;
  if (before.endsWith("@") && RELEASE.test(found)) return 0;
  const behind = text.slice(at + found.length, at + found.length + STRUCTURE_CHARACTERS);
  if (NOBODYS.test(found) && (isQuoted(before) || isExplained(before, behind))) return 0;
  if (isLiteral(before)) return 0;
  // The name of a reverse look-up, whose digits are reversed.
  if (namesVersion(before, behind) || behind.startsWith(".in-addr.")) return 0;
  if (!LIKE_A_VERSION.test(found) || PRIVATE.test(found)) return found.length;
  return SAYS_ADDRESS.test(before) || SAYS_ADDRESS_BEHIND.test(behind) ? found.length : 0;
}

/** True when the digits continue a name: `v1.2.3.4` is one word, `Json.13.0.3.1` and `Chrome/99.1.2.3` are names. */
function isTied(before: string): boolean {
  if (/[A-Za-z][-_.]$/.test(before)) return true;
  return /[A-Za-z]\/$/.test(before) && !/:\/\/\S{0,40}$/.test(before);
}

const IPV6_CHARACTERS = /[0-9a-f:]{2,39}/iy;
/** Link-local, local, and set aside for manuals. */
const NOBODYS_IPV6 = /^(?:fe[89ab][0-9a-f]:|f[cd][0-9a-f]{2}:|2001:0?db8:|::ffff:)/i;

/** The run of hex digits and colons around a colon, not reaching left of `from`; its end, and whether it is an address. */
export function ipv6Around(
  text: string,
  colon: number,
  from: number,
): { readonly start: number; readonly end: number; readonly isAddress: boolean } | undefined {
  // A time, a label, a port: most colons have no hex digit or colon on both sides.
  if (!isHexDigit(text.charCodeAt(colon + 1)) && text[colon + 1] !== ":") return undefined;
  let start = colon;
  while (start > from && colon - start < 4 && isHexDigit(text.charCodeAt(start - 1))) start--;
  IPV6_CHARACTERS.lastIndex = start;
  const run = (IPV6_CHARACTERS.exec(text)?.[0] ?? "").replace(/(?<!:):$/, "");
  const before = text.slice(Math.max(0, start - 24), start);
  const example = (NOBODYS_IPV6.test(run) && isQuoted(before)) || isLiteral(before);
  return { start, end: start + run.length, isAddress: !example && isIpv6(run) };
}

/** An address of a machine: eight groups, or fewer around one `::`. Loopback and bare prefixes name no machine. */
function isIpv6(run: string): boolean {
  if (!/\d/.test(run) || /:::|::.*::/.test(run) || /[0-9a-f]{5}/i.test(run)) return false;
  const groups = run.split(":").filter((group) => group !== "");
  if (run.endsWith("::")) return false;
  if (run.includes("::")) return groups.length >= 2 && groups.length <= 7 && (groups[0]?.length ?? 0) >= 3;
  // Eight groups of two are a hardware address.
  return groups.length === 8 && run.split(":").length === 8 && groups.some((group) => group.length !== 2);
}

/** Addresses in code quotes, in URLs and at the end of IPv6 addresses are examples, not personal data. */
function isQuoted(before: string): boolean {
  return /["'`](?:https?:\/\/)?\[?[0-9a-f:]{0,12}$/i.test(before);
}

/** A quoted argument of a function, a quoted value in a line comment or compared with: a machine that a program names. */
function isLiteral(before: string): boolean {
  return /(?:[\w$]\(|\/\/ |[=!]==? ?)["'`]\[?[0-9a-f:]{0,12}$/i.test(before);
}

/** A line comment of a program that explains where it connects to, such as `// 192.168.1.1:6379`. */
function isExplained(before: string, behind: string): boolean {
  return before.endsWith("// ") && SOCKET.test(behind);
}

function isHexDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || ((code | 32) >= 97 && (code | 32) <= 102);
}
