/** Addresses: who may be reached and by whom, and what would travel in clear text. */
import { isIP } from "node:net";
import type { Spot } from "../read/tree.ts";
import { type Check, each, under } from "./context.ts";
import { isLoopback } from "./demo-token.ts";

/** `server.trusted_proxies`: addresses and blocks. */
export function checkTrustedProxies(check: Check, entries: readonly string[], parent: Spot): void {
  for (const [entry, spot] of each(entries, parent)) {
    if (isBlock(entry)) continue;
    check.report("E0105", spot, `\`${entry}\` is not an IP address or CIDR block`);
  }
}

/** `network.allow`: hostnames as well. */
export function checkAllowed(check: Check, entries: readonly string[], parent: Spot): void {
  for (const [entry, spot] of each(entries, parent)) {
    if (isBlock(entry) || isHostname(entry)) continue;
    const message = `\`${entry}\` is not a hostname, IP address or CIDR block`;
    check.report("E0105", spot, message, { help: allowHelp(entry) });
  }
}

function isBlock(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

const LABEL = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_-]{0,61}[\p{L}\p{M}\p{N}_])?$/u;

/** Its last label is not a number: that would be an address, and a malformed one. */
function isHostname(text: string): boolean {
  const labels = text.replace(/\.$/, "").split(".");
  return (
    text.length <= 254 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "")
  );
}

function allowHelp(entry: string): string | undefined {
  if (entry.includes("://")) return "give the host alone, without scheme and path";
  if (entry.includes("*"))
    return "there are no wildcards: name each host, or the CIDR block of their addresses";
  if (/^[^:]+:\d+$/.test(entry)) return "leave out the port: an entry allows all ports of a host";
  if (/^\[.*\]$/.test(entry)) return "write the address without brackets";
  return undefined;
}

/** Warns where a secret would be sent over `http:` to another machine. `what`: what would be read on the way. */
export function checkCleartext<K extends string>(
  check: Check,
  item: { readonly [key in K]?: string | null },
  key: K,
  { parent, what }: { readonly parent: Spot | undefined; readonly what: string },
): void {
  const url = item[key];
  if (typeof url !== "string" || !/^http:/i.test(url) || !URL.canParse(url)) return;
  if (isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ""))) return;
  check.report(
    "W0115",
    under(item, key, parent),
    `${key} is \`http://\`: ${what} would travel in clear text`,
    {
      help: "use `https://`",
    },
  );
}
