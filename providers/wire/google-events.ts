/** Reads the events of an answer that Google streams: each has the shape of a whole answer. Pure; any field may be missing. */
import type { ChatChunk, ProviderFailure, StreamDecoder, Usage } from "sluice/provider";
import {
  asObject,
  asText,
  eventChunk,
  invalidJson,
  parseValue,
  readFinish,
  TOOL_CALLS_MAX,
  tooManyToolCalls,
} from "sluice/provider";
import { endWord, FINISH_REASONS, saidIn, usageIn } from "./google-answer.ts";
import { errorIn } from "./google-failure.ts";

/** State of one streamed answer. */
export class GoogleDecoder implements StreamDecoder {
  id = "";
  model = "";
  thinking = false;
  readonly #newId: () => string;
  #calls = 0;
  #text = false;
  #usage: Usage | undefined;
  #word = "";

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  /** A reason to stop came. Older models give one in every event: only the body's end says which was the last. */
  get complete(): boolean {
    return this.#word !== "";
  }

  event(_name: string, raw: string, out: ChatChunk[]): ProviderFailure | undefined {
    const value = parseValue(raw);
    const failed = errorIn(value);
    if (failed !== undefined) return failed;
    const event = asObject(value);
    if (event === undefined) return invalidJson("an event of the answer", raw);
    this.id ||= asText(event["responseId"]);
    this.model ||= asText(event["modelVersion"]);
    this.#word = endWord(event) || this.#word;
    // Of the whole answer so far, each time.
    const usage = usageIn(event);
    this.#usage = usage ?? this.#usage;
    const { text, toolCalls } = saidIn(event, this.#newId);
    if (text === "" && toolCalls.length === 0 && raw.includes('"thought"')) this.thinking = true;
    if (text !== "") this.#text = true;
    if (this.#calls + toolCalls.length > TOOL_CALLS_MAX) return tooManyToolCalls();
    if (toolCalls.length > 0) {
      const deltas = toolCalls.map((call) => ({ index: this.#calls++, ...call }));
      out.push({ ...eventChunk(text, undefined), toolCalls: deltas, usage });
    } else if (text !== "" || usage !== undefined) {
      out.push({ ...eventChunk(text, undefined), usage });
    }
    return undefined;
  }

  end(out: ChatChunk[]): undefined {
    if (!this.complete) return;
    const end = readFinish(this.#word, FINISH_REASONS, { text: this.#text, calls: this.#calls > 0 });
    out.push({ ...eventChunk("", undefined), ...end, usage: this.#usage });
  }
}
