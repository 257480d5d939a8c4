/**
 * Server-sent events to one client. The head is sent with the first write, so that a failure before it has its own status;
 * a slow client is reported, so that its provider can be paused.
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
  /** Written at the end of the event-loop iteration. */
  #unsent = "";
  #behind = false;
  #ended = false;
  #drained: (() => void) | undefined;
  open = false;

  constructor(
    res: ServerResponse,
    /** Called when the head is sent. */
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

  /** Called once when a slow client has caught up. A later callback replaces an earlier one. */
  onDrain(run: () => void): void {
    this.#drained = run;
    if (!this.#behind) this.#caughtUp();
  }

  /** A failure after the first byte: the error body as an event, then the end (`stream.failure-late`). */
  fail(error: GatewayError): void {
    if (this.#ended) return;
    this.write(`data: ${this.#errorBody(error)}\n\ndata: [DONE]\n\n`);
    this.end();
  }

  /** Unsent text is written with the end. */
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
      // At most one listener, however much is written meanwhile.
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
