/**
 * Server-sent events to one client. The head waits for the first write, so that a failure before it can still have a
 * status of its own; a client that reads slowly is reported, so that its provider can be held back.
 */
import type { ServerResponse } from "node:http";
import { flushInBatch } from "../base/batching.ts";
import type { GatewayError } from "../plugin/index.ts";
import { setProbe } from "./half-close.ts";
import { closeConnection, errorBody, type FlatHeaders } from "./respond.ts";

const HEAD: FlatHeaders = [
  "Content-Type",
  "text/event-stream",
  "Cache-Control",
  "no-cache",
  "X-Accel-Buffering",
  "no",
  "X-Content-Type-Options",
  "nosniff",
];

export class EventStream {
  readonly #res: ServerResponse;
  readonly #headers: () => FlatHeaders;
  readonly #errorBody: (error: GatewayError) => string;
  /** Goes out at the end of this turn of the loop. */
  #unsent = "";
  #behind = false;
  #ended = false;
  #drained: (() => void) | undefined;
  open = false;

  constructor(
    res: ServerResponse,
    /** Asked when the head goes out. */
    headers: () => FlatHeaders,
    bodyOf: (error: GatewayError) => string = errorBody,
  ) {
    this.#errorBody = bodyOf;
    this.#res = res;
    this.#headers = headers;
  }

  /** Sends text of whole events; false when the client is behind. */
  write(text: string): boolean {
    if (!this.open) {
      this.open = true;
      setProbe(this.#res, () => {
        if (!this.#ended && !this.#behind) this.write(": \n\n");
      });
      this.#res.writeHead(200, [...HEAD, ...this.#headers()]);
    }
    if (this.#unsent === "" && text !== "") flushInBatch(() => this.#send(), this.#res, closeConnection);
    this.#unsent += text;
    return !this.#behind;
  }

  /** Runs once when a client that was behind has caught up. One at a time: a later one takes the earlier one's place. */
  onDrain(run: () => void): void {
    this.#drained = run;
    if (!this.#behind) this.#caughtUp();
  }

  /** A failure after the first byte: the error body as an event, then the end (CONTRACT section 4). */
  fail(error: GatewayError): void {
    if (this.#ended) return;
    this.write(`data: ${this.#errorBody(error)}\n\ndata: [DONE]\n\n`);
    this.end();
  }

  /** What is unsent goes out with the end. */
  end(): void {
    this.#ended = true;
    if (this.#unsent === "") this.#res.end();
  }

  #send(): void {
    const text = this.#unsent;
    this.#unsent = "";
    if (this.#ended) this.#res.end(text);
    else if (!this.#res.write(text) && !this.#behind) {
      this.#behind = true;
      // The only listener, however much is written meanwhile.
      this.#res.once("drain", () => this.#caughtUp());
    }
  }

  #caughtUp(): void {
    this.#behind = false;
    const run = this.#drained;
    this.#drained = undefined;
    run?.();
  }
}
