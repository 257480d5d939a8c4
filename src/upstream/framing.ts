/**
 * Splits the bytes of a streamed answer into events: server-sent events, or one JSON text a line. Knows nothing of
 * what an event means. Bytes are decoded only up to the last line break, so no character is ever cut in two.
 */
import { ByteStore } from "../net/http1/answer-body.ts";

/** Longest line, and longest event when its data spans lines, unless more is asked for. A tool call or an image is one event. */
export const EVENT_BYTES_MAX = 16 * 1024 * 1024;

export type OnEvent = (name: string, text: string) => void;

/** Feed it every network read, whose bytes it does not keep, then `end` once. Both return false when a line or event is over its limit. */
export interface Framing {
  push(bytes: Buffer): boolean;
  /** The body is over: what is pending is an event too, blank line or not. */
  end(): boolean;
}

/** Calls `onEvent` with each event's name ("" when it has none) and text, never with an empty text. */
export function framing(
  kind: "sse" | "ndjson",
  onEvent: OnEvent,
  eventBytesMax: number = EVENT_BYTES_MAX,
): Framing {
  return kind === "sse" ? new SseFraming(onEvent, eventBytesMax) : new NdjsonFraming(onEvent, eventBytesMax);
}

const LF = 10;
const CR = 13;
const COLON = 58;

/** Gathers bytes into text of whole lines, each ended by LF, whichever of CR, LF and CRLF the sender uses. */
class WholeLines {
  readonly #bytesMax: number;
  /** The line that has not ended yet. */
  readonly #pending = new ByteStore();
  /** The last byte seen was a CR: an LF that follows belongs to it. */
  #afterCr = false;
  #atStart = true;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** undefined: the pending line is over its limit. */
  take(bytes: Buffer): string | undefined {
    const cr = bytes.lastIndexOf(CR);
    const cut = Math.max(bytes.lastIndexOf(LF), cr) + 1;
    let text = "";
    if (cut > 0) {
      const head = cut === bytes.length ? bytes : bytes.subarray(0, cut);
      text = this.#lines(this.#withPending(head), cr >= 0);
    }
    if (this.#pending.length + bytes.length - cut > this.#bytesMax) return undefined;
    if (cut < bytes.length) this.#pending.add(bytes.subarray(cut));
    return text;
  }

  /** The part of a line that never ended. */
  rest(): string {
    if (this.#pending.length === 0) return "";
    return `${this.#lines(this.#pending.takeText(), false)}\n`;
  }

  #withPending(head: Buffer): string {
    if (this.#pending.length === 0) return head.toString("utf8");
    this.#pending.add(head);
    return this.#pending.takeText();
  }

  #lines(decoded: string, hasCr: boolean): string {
    let text = decoded;
    if (this.#atStart) {
      this.#atStart = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    if (this.#afterCr && text.charCodeAt(0) === LF) text = text.slice(1);
    this.#afterCr = hasCr && text.charCodeAt(text.length - 1) === CR;
    return hasCr ? text.replace(/\r\n?/g, "\n") : text;
  }
}

class SseFraming implements Framing {
  readonly #onEvent: OnEvent;
  readonly #eventMax: number;
  readonly #source: WholeLines;
  #name = "";
  #text: string | undefined;

  constructor(onEvent: OnEvent, eventBytesMax: number) {
    this.#onEvent = onEvent;
    this.#eventMax = eventBytesMax;
    this.#source = new WholeLines(eventBytesMax);
  }

  push(bytes: Buffer): boolean {
    const lines = this.#source.take(bytes);
    return lines !== undefined && this.#read(lines);
  }

  end(): boolean {
    const read = this.#read(this.#source.rest());
    this.#dispatch();
    return read;
  }

  #read(lines: string): boolean {
    let from = 0;
    for (let to = lines.indexOf("\n"); to !== -1; to = lines.indexOf("\n", from)) {
      if (to === from) this.#dispatch();
      else if (lines.startsWith("data", from) && isFieldName(lines, from + 4, to)) {
        const value = fieldValue(lines, from + 5, to);
        this.#text = this.#text === undefined ? value : `${this.#text}\n${value}`;
        if (this.#text.length > this.#eventMax) return false;
      } else if (lines.startsWith("event", from) && isFieldName(lines, from + 5, to)) {
        this.#name = fieldValue(lines, from + 6, to);
      }
      // Anything else is a comment, an id or a retry time: nothing to us.
      from = to + 1;
    }
    return true;
  }

  #dispatch(): void {
    const name = this.#name;
    const text = this.#text;
    this.#name = "";
    this.#text = undefined;
    if (text !== undefined && text !== "") this.#onEvent(name, text);
  }
}

/** A field's name ends at a colon, or with its line: then its value is empty. */
function isFieldName(lines: string, end: number, lineEnd: number): boolean {
  return end === lineEnd || lines.charCodeAt(end) === COLON;
}

/** One space after the colon belongs to the framing, further ones to the value. */
function fieldValue(lines: string, from: number, to: number): string {
  return from >= to ? "" : lines.slice(lines.charCodeAt(from) === 32 ? from + 1 : from, to);
}

class NdjsonFraming implements Framing {
  readonly #onEvent: OnEvent;
  readonly #source: WholeLines;

  constructor(onEvent: OnEvent, eventBytesMax: number) {
    this.#onEvent = onEvent;
    this.#source = new WholeLines(eventBytesMax);
  }

  push(bytes: Buffer): boolean {
    const lines = this.#source.take(bytes);
    if (lines === undefined) return false;
    this.#read(lines);
    return true;
  }

  end(): boolean {
    this.#read(this.#source.rest());
    return true;
  }

  #read(lines: string): void {
    let from = 0;
    for (let to = lines.indexOf("\n"); to !== -1; to = lines.indexOf("\n", from)) {
      const line = lines.slice(from, to);
      if (line.trim() !== "") this.#onEvent("", line);
      from = to + 1;
    }
  }
}
