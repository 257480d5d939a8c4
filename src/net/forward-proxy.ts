/**
 * Which forward proxy a URL is reached through, and the CONNECT tunnel to it. Decides nothing about what may be reached:
 * the SSRF guard has done so before a tunnel is opened.
 */
import type { Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { codedError } from "./http-client.ts";

/** The forward proxy for a URL; undefined: it is reached directly. */
export type ProxyFor = (url: URL) => URL | undefined;

export const directly: ProxyFor = () => undefined;

/** Of a proxy's answer to CONNECT. */
const HEAD_BYTES_MAX = 16 * 1024;

/**
 * As `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say, in capitals or not; loopback is always reached directly. Throws an
 * Error for people when a proxy is not a URL: to go without it would bypass what the operator wants.
 */
export function environmentProxies(env: Readonly<Record<string, string | undefined>>): ProxyFor {
  const https = proxyOf(env, "HTTPS_PROXY");
  const http = proxyOf(env, "HTTP_PROXY");
  if (https === undefined && http === undefined) return directly;
  const excepted = noProxy(env["no_proxy"] ?? env["NO_PROXY"] ?? "");
  return (url) => (excepted(url) ? undefined : url.protocol === "https:" ? https : http);
}

/** One proxy for every URL. */
export function fixedProxy(url: string): ProxyFor {
  const proxy = new URL(url);
  return () => proxy;
}

function proxyOf(env: Readonly<Record<string, string | undefined>>, name: string): URL | undefined {
  const text = env[name.toLowerCase()] ?? env[name] ?? "";
  if (text === "") return undefined;
  const url = text.includes("://") ? text : `http://${text}`;
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
    throw new Error(`the environment variable ${name} must be an http or https URL`);
  return new URL(url);
}

/** Hosts with their subdomains, `host:port`, addresses, CIDR blocks, or `*` for all. */
function noProxy(list: string): (url: URL) => boolean {
  const entries = list
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map((entry) => entry.toLowerCase());
  return ({ protocol, hostname, port }) => {
    const host = hostname.replace(/^\[|\]$|\.$/g, "");
    const atPort = port === "" ? (protocol === "https:" ? "443" : "80") : port;
    return isLoopback(host) || entries.some((entry) => matches(entry, host, atPort));
  };
}

function isLoopback(host: string): boolean {
  if (!ipaddr.isValid(host)) return host === "localhost" || host.endsWith(".localhost");
  return ipaddr.process(host).range() === "loopback";
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (ipaddr.isValidCIDR(entry)) {
    if (!ipaddr.isValid(host)) return false;
    const [network, bits] = ipaddr.parseCIDR(entry);
    const address = ipaddr.process(host);
    // Of one kind, which the types of `match` cannot say.
    return address.kind() === network.kind() && address.match([network, bits] as never);
  }
  const [, named = "", atPort] =
    /^(.*?)(?::(\d+))?$/.exec(ipaddr.isValid(entry) ? `[${entry}]` : entry) ?? [];
  if (atPort !== undefined && atPort !== port) return false;
  const name = named.replace(/^\[|\]$|^\*?\./g, "");
  return host === name || (!ipaddr.isValid(host) && host.endsWith(`.${name}`));
}

/** Asks the proxy at the other end of `socket` for a tunnel. `done` is called once; the socket is not closed here. */
export function openTunnel(
  socket: Socket,
  proxy: URL,
  target: { readonly host: string; readonly port: number },
  done: (error: Error | undefined) => void,
): void {
  const host = target.host.includes(":") ? `[${target.host}]` : target.host;
  const authority = `${host}:${target.port}`;
  let head = "";
  const settle = (error: Error | undefined): void => {
    socket.off("data", read).off("end", ended).off("error", settle).off("close", ended);
    done(error);
  };
  const ended = (): void => settle(codedError("EPROXY", "the forward proxy closed the connection"));
  const read = (bytes: Buffer): void => {
    // One character a byte.
    head += bytes.toString("latin1");
    const end = head.indexOf("\r\n\r\n");
    if (end < 0 && head.length <= HEAD_BYTES_MAX) return;
    const status = /^HTTP\/1\.[01] (\d{3})(?: |\r)/.exec(head)?.[1];
    if (end < 0 || status === undefined)
      return settle(codedError("EPROXY", "the forward proxy answered with malformed HTTP"));
    if (!status.startsWith("2")) return settle(codedError("EPROXY", `the forward proxy answered ${status}`));
    if (head.length > end + 4)
      return settle(codedError("EPROXY", "the forward proxy sent more than its answer"));
    socket.pause();
    settle(undefined);
  };
  socket.on("data", read).on("end", ended).on("error", settle).on("close", ended);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorization(proxy)}\r\n`);
}

function authorization({ username, password }: URL): string {
  if (username === "" && password === "") return "";
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `proxy-authorization: Basic ${Buffer.from(pair).toString("base64")}\r\n`;
}
