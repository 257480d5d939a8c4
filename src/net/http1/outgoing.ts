/**
 * The bytes of a request, head and body in one text for one write. Whatever could end a line, and so begin a header or
 * a request of its own, is refused.
 */
import type { OutboundRequest } from "../http-client.ts";

export interface Outgoing {
  readonly text: string;
  readonly encoding: "latin1" | "utf8";
}

const NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
/** ASCII only, so that head and body can be encoded as one. */
const VALUE = /^[\t\x20-\x7e]*$/;
/** They delimit the request and control its connection: set by the client itself. */
const OWN = /^(?:content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/i;

/** Header lines, each with its CRLF; or the error, without any value. */
export function headerLines(headers: OutboundRequest["headers"]): string | Error {
  let lines = "";
  for (const [name, value] of Object.entries(headers)) {
    if (!NAME.test(name)) return new Error("invalid header name");
    if (OWN.test(name) || !VALUE.test(value)) return new Error(`invalid ${name} header`);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** `target` and `host` are taken from a parsed URL, which leaves nothing in them that could end a line. */
export function requestStart(method: string, target: string, host: string): string {
  return `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\nuser-agent: sluice\r\n`;
}

/** `head`: the start line and all header lines but the length of the body. */
export function outgoing(head: string, body: string): Outgoing {
  const bytes = Buffer.byteLength(body);
  return {
    text: `${head}content-length: ${bytes}\r\n\r\n${body}`,
    // As many bytes as characters is ASCII, which is written faster as what V8 keeps it as.
    encoding: bytes === body.length ? "latin1" : "utf8",
  };
}
