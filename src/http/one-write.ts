/**
 * Sends a response, head and body, in one write. Node checks each header field with two regular expressions and writes head,
 * body and an empty end separately, which is a tenth of the cost of a call. This writes the same bytes and leaves every
 * unusual case to Node.
 */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

/** An idle connection is kept for this long: above the usual 60 s of load balancers, so that they close first. */
export const KEEP_ALIVE_MS = 72_000;

/**
 * What node:http keeps of an answer: the head's text, and whether it has been written. Neither is documented, so
 * `headersSent`, which is, is asked whether the text was taken; every supported Node version runs the tests of this.
 */
interface NodeAnswer {
  _header: string | null;
  _headerSent: boolean;
  /** False when the connection closes after this answer. */
  readonly shouldKeepAlive: boolean;
}

/** An answer whose head is settled and whose bytes are still to be written. */
export interface PreparedAnswer {
  readonly head: string;
  readonly body: string;
  readonly encoding: "latin1" | "utf8";
}

/** Header values that need no further check. */
const PLAIN = /^[\t\x20-\x7e]*$/;
const KEPT_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n\r\n`;

/**
 * Settles status and head. `fields`: names and values in turn, without `Date` and those of the connection; names are
 * constants of the gateway. undefined where Node has to write the answer itself.
 */
export function prepareAnswer(
  res: ServerResponse,
  status: number,
  fields: readonly string[],
  answer: { readonly body: string; readonly length: number },
): PreparedAnswer | undefined {
  // An answer of Node's has the members named above.
  const node = res as unknown as NodeAnswer;
  if (res.headersSent || node.shouldKeepAlive !== true || res.req.method === "HEAD") return undefined;
  let head =
    status === 200 ? "HTTP/1.1 200 OK\r\n" : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i];
    const value = fields[i + 1] ?? "";
    if (name === "Connection" || !PLAIN.test(value)) return undefined;
    head += `${name}: ${value}\r\n`;
  }
  head += connectionFields();
  node._header = head;
  if (!res.headersSent) return undefined;
  res.statusCode = status;
  const { body, length } = answer;
  // As many bytes as characters: all of them are ASCII.
  return { head, body, encoding: length === body.length ? "latin1" : "utf8" };
}

/** Writes a prepared answer and ends it. */
export function writePrepared(res: ServerResponse, { head, body, encoding }: PreparedAnswer): void {
  const socket: Socket | null = res.socket;
  // Without a socket an earlier answer of this connection is still being written: Node keeps the order.
  if (socket === null || !socket.writable) return void res.end(body, encoding);
  (res as unknown as NodeAnswer)._headerSent = true;
  socket.write(head + body, encoding);
  res.end();
}

let fieldsSecond = -1;
let fieldsText = "";

/** `Date`, which has whole seconds, the fields of the connection, and the head's end. */
function connectionFields(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== fieldsSecond) {
    fieldsSecond = second;
    fieldsText = `Date: ${new Date(second * 1000).toUTCString()}\r\n${KEPT_ALIVE}`;
  }
  return fieldsText;
}
