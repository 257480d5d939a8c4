/** Reads Ollama's answers: one JSON text, or one per line. Pure; any field may be missing. */
import type {
  ChatChunk,
  ChatResult,
  FinishReason,
  JsonObject,
  ProviderFailure,
  StreamDecoder,
  ToolCall,
  Usage,
} from "sluice/provider";
import {
  areCounts,
  asCount,
  asObject,
  asObjects,
  asText,
  asVectors,
  embeddedError,
  eventChunk,
  invalidJson,
  isPresent,
  parseObject,
  readErrorReason,
  readFinish,
  TOOL_CALLS_MAX,
  tooManyToolCalls,
  unusableAnswer,
} from "sluice/provider";

/** Text of a 2xx answer. */
export function decodeOllama(text: string, newId: () => string): ChatResult | ProviderFailure {
  const answer = parseObject(text);
  if (answer === undefined) return invalidJson("the answer", text);
  if (isPresent(answer["error"])) return embeddedError(readErrorReason(answer["error"]));
  const message = asObject(answer["message"]);
  if (message === undefined) return unusableAnswer("the answer has no message");
  const content = asText(message["content"]);
  const calls = new Calls(newId);
  const toolCalls = calls.take(message["tool_calls"]);
  if (toolCalls.length > TOOL_CALLS_MAX) return tooManyToolCalls();
  return {
    // Ollama gives none.
    id: "",
    model: asText(answer["model"]),
    content,
    ...(toolCalls.length > 0 && { toolCalls }),
    ...readFinish(asText(answer["done_reason"]), FINISH_REASONS, {
      text: content !== "",
      calls: toolCalls.length > 0,
    }),
    usage: usageOf(answer),
  };
}

/** Text of a 2xx answer to a call for embeddings. */
export function decodeOllamaVectors(text: string): ChatResult | ProviderFailure {
  const answer = parseObject(text);
  if (answer === undefined) return invalidJson("the answer", text);
  if (isPresent(answer["error"])) return embeddedError(readErrorReason(answer["error"]));
  const embeddings = asVectors(answer["embeddings"]);
  if (embeddings === undefined) return unusableAnswer("the answer has no embeddings");
  const read = asCount(answer["prompt_eval_count"]);
  const usage = read === 0 ? undefined : { promptTokens: read, completionTokens: 0, totalTokens: read };
  return {
    id: "",
    model: asText(answer["model"]),
    content: "",
    finishReason: "stop",
    usage,
    embeddings,
  };
}

/** State of one streamed answer. */
export class OllamaDecoder implements StreamDecoder {
  readonly id = "";
  model = "";
  /** The line with `done: true` came. */
  complete = false;
  thinking = false;
  readonly #calls: Calls;
  #text = false;

  constructor(newId: () => string) {
    this.#calls = new Calls(newId);
  }

  event(_name: string, line: string, out: ChatChunk[]): ProviderFailure | undefined {
    const event = parseObject(line);
    if (event === undefined) return invalidJson("a line of the answer", line);
    if (isPresent(event["error"])) return embeddedError(readErrorReason(event["error"]));
    this.model ||= asText(event["model"]);
    const message = asObject(event["message"]);
    // What the model thinks stands beside the content, and is nobody's.
    const text = asText(message?.["content"]);
    if (asText(message?.["thinking"]) !== "") this.thinking = true;
    if (text !== "") {
      this.#text = true;
      out.push(eventChunk(text, undefined));
    }
    const first = this.#calls.taken;
    const calls = this.#calls.take(message?.["tool_calls"]);
    if (this.#calls.taken > TOOL_CALLS_MAX) return tooManyToolCalls();
    if (calls.length > 0) {
      const toolCalls = calls.map((call, n) => ({ index: first + n, ...call }));
      out.push({ ...eventChunk("", undefined), toolCalls });
    }
    if (event["done"] === true && !this.complete) {
      this.complete = true;
      const said = { text: this.#text, calls: this.#calls.taken > 0 };
      const end = readFinish(asText(event["done_reason"]), FINISH_REASONS, said);
      out.push({ ...eventChunk("", undefined), ...end, usage: usageOf(event) });
    }
    return undefined;
  }
}

/** Tool calls come whole, over one line or several, with indexes that are not to be believed and mostly no ids. */
class Calls {
  taken = 0;
  readonly #newId: () => string;
  readonly #ids = new Set<string>();

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  take(list: unknown): ToolCall[] {
    const calls: ToolCall[] = [];
    for (const call of asObjects(list)) {
      const about = asObject(call["function"]);
      const name = asText(about?.["name"]);
      if (name === "") continue;
      const given = asText(call["id"]);
      const id = given === "" || this.#ids.has(given) ? this.#newId() : given;
      this.#ids.add(id);
      calls.push({ id, name, arguments: argumentsText(about?.["arguments"]) });
    }
    this.taken += calls.length;
    return calls;
  }
}

/** An object, by the format; imitations of it send the JSON text. */
function argumentsText(value: unknown): string {
  return asText(value) || JSON.stringify(asObject(value) ?? {});
}

/** `load` and `unload` end calls without messages; old servers say nothing, and none has a word for tool calls. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["", "stop"],
  ["stop", "stop"],
  ["load", "stop"],
  ["unload", "stop"],
  ["length", "length"],
]);

/** The prompt's count is left out when the prompt was cached: then nothing is known of it, least of all that it is 0. */
function usageOf(answer: JsonObject): Usage | undefined {
  const { prompt_eval_count: prompt, eval_count: completion } = answer;
  if (!isPresent(prompt) || !isPresent(completion) || !areCounts(prompt, completion)) return undefined;
  const promptTokens = asCount(prompt);
  const completionTokens = asCount(completion);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}
