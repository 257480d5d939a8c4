/** A streamed answer as a client reads it, one event at a time. Knows the framing of SSE and no more. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { at } from "./at.ts";

export class EventStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #message: IncomingMessage;
  readonly #events: string[] = [];
  #rest = "";
  #ended = false;
  #wake: (() => void) | undefined;

  /** `heard`: takes what comes as it comes. */
  constructor(message: IncomingMessage, heard: string[] = []) {
    this.status = message.statusCode ?? 0;
    this.headers = message.headers;
    this.#message = message;
    message.setEncoding("utf8");
    message.on("data", (text: string) => {
      heard.push(text);
      this.#take(text);
    });
    message.on("error", () => this.#end());
    message.on("close", () => this.#end());
  }

  /** The next event: its data, or the whole line of a comment (`: …`). undefined: the answer is over. */
  async next(): Promise<string | undefined> {
    while (this.#events.length === 0 && !this.#ended) {
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
    return this.#events.shift();
  }

  /** All events that are still to come. */
  async rest(): Promise<string[]> {
    const events: string[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event);
    return events;
  }

  /** What came last without being a whole event: all of an answer that is none, a refusal's JSON. */
  get remainder(): string {
    return this.#rest;
  }

  /** Stops reading, as a slow client does, or goes on. */
  pause(): void {
    this.#message.pause();
  }

  resume(): void {
    this.#message.resume();
  }

  /** Goes away. */
  leave(): void {
    this.#message.destroy();
  }

  #take(text: string): void {
    this.#rest += text;
    let border = this.#rest.indexOf("\n\n");
    for (; border >= 0; border = this.#rest.indexOf("\n\n")) {
      const block = this.#rest.slice(0, border);
      this.#rest = this.#rest.slice(border + 2);
      this.#events.push(block.startsWith("data: ") ? block.slice("data: ".length) : block);
    }
    this.#wake?.();
  }

  #end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}

/** The text of an answer: what its chunks add up to. */
export function textOf(events: readonly string[]): string {
  return chunksOf(events)
    .map((chunk) => at(chunk, "choices", 0, "delta", "content") ?? "")
    .join("");
}

/** The JSON of every event but `[DONE]` and comments. */
export function chunksOf(events: readonly string[]): unknown[] {
  return events
    .filter((event) => event !== "[DONE]" && !event.startsWith(":"))
    .map((event): unknown => JSON.parse(event));
}
