/**
 * What a request's head must satisfy before a surface sees it, beyond what the HTTP parser checks. Two readers of one
 * message must not be able to disagree about it (RFC 9112, sections 3.2 and 6.1), so ambiguous heads are refused.
 */
import type { IncomingMessage } from "node:http";
import { type GatewayError, reject } from "../plugin/index.ts";

/** Header lines of one request. Node would drop what follows its own maximum unseen, so that one is switched off. */
export const HEADERS_MAX = 2000;

/** The refusal of a head that must not reach a surface; undefined: it is acceptable. */
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

/** Header lines of this name (lower case). Node joins or drops repeated ones; the raw list has them all. */
export function countHeader(raw: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const one = raw[i] ?? "";
    if (one.length === name.length && one.toLowerCase() === name) count++;
  }
  return count;
}
