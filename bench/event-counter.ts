/** Counts the events of a server-sent-event stream as its bytes arrive, cut anywhere. It does not read what they say. */

/** More than this without a line end is not an event stream: the rest of the line is forgotten. */
const LINE_CHARACTERS_MAX = 65_536;

export class EventCounter {
  /** `data:` lines so far, `[DONE]` left out. */
  events = 0;
  /** Whether `data: [DONE]` has come. */
  done = false;
  /** The line that is not complete yet, from the line end before it. */
  #tail = "\n";

  push(bytes: Buffer, start: number, end: number): void {
    const text = this.#tail + bytes.toString("latin1", start, end);
    const complete = text.lastIndexOf("\n");
    let at = text.indexOf("\ndata:");
    while (at >= 0 && at < complete) {
      if (text.startsWith(" [DONE]", at + 6)) this.done = true;
      else this.events++;
      at = text.indexOf("\ndata:", at + 6);
    }
    this.#tail = text.slice(complete, complete + LINE_CHARACTERS_MAX);
  }

  reset(): void {
    this.events = 0;
    this.done = false;
    this.#tail = "\n";
  }
}
