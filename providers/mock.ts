/**
 * A provider without a network: answers from a template, deterministically, for demos, tests of a configuration and
 * load tests. All time is the host's clock; with no latency it answers within the call.
 */
import type {
  ChatChunk,
  ChatResult,
  Clock,
  Exchange,
  OptionsOf,
  Provider,
  ProviderFailure,
  ProviderRequest,
  ProviderSink,
  StreamControl,
  Usage,
} from "sluice/provider";
import {
  COMMON_FIELDS,
  contentText,
  countCharacters,
  defineProvider,
  estimateTokens,
  failure,
  firstUnsupportedField,
  textChunk,
} from "sluice/provider";

/** What one call does instead of answering. A number is an HTTP status of 400 or more. */
type Fate = number | "ok" | "timeout" | "unreachable" | "cut";

const DEFAULT_REPLY =
  "Hello from {{model}}! You said: “{{input}}” My instructions: “{{system}}” No model was asked and no key was needed; " +
  "put a real provider into the config and the same call reaches it.";

/** Of the instructions that `{{system}}` shows. */
const SHOWN_CHARACTERS_MAX = 200;

const tokens = { type: "integer", minimum: 0 } as const;
const milliseconds = { type: "integer", minimum: 0, maximum: 600_000 } as const;

const schema = {
  type: "object",
  additionalProperties: false,
  properties: {
    reply: {
      type: "string",
      description:
        "{{input}} is the last user message, {{model}} the model, {{system}} the first 200 characters of the system prompt.",
    },
    latency_ms: milliseconds,
    chunk_ms: milliseconds,
    chunks: { type: "integer", minimum: 1, maximum: 100_000 },
    fail: {
      type: "array",
      minItems: 1,
      maxItems: 1000,
      items: {
        anyOf: [
          { type: "integer", minimum: 400, maximum: 599 },
          { enum: ["ok", "timeout", "unreachable", "cut"] },
        ],
      },
      description:
        "One entry a call; the last one holds from then on. cut: a stream that breaks off half-way.",
    },
    usage: {
      type: "object",
      additionalProperties: false,
      required: ["prompt_tokens", "completion_tokens"],
      properties: { prompt_tokens: tokens, completion_tokens: tokens },
    },
  },
} as const;

type MockOptions = OptionsOf<typeof schema>;

export const mock = defineProvider({
  name: "mock",
  label: "Mock",
  description: "Answers from a template, without key and network.",
  defaultBaseUrl: "mock://local",
  needsApiKey: false,
  schema,
  examples: [
    {},
    { reply: "Echo: {{input}}", latency_ms: 200, chunk_ms: 20, chunks: 50 },
    { fail: [500, "timeout", "ok"], usage: { prompt_tokens: 12, completion_tokens: 30 } },
  ],
  setup: (options, host) => mockProvider(options, host.clock),
});

export default mock;

const TAKEN = {
  has: (field: string) => COMMON_FIELDS.has(field) || field === "input" || field === "dimensions",
};

function mockProvider(options: MockOptions, clock: Clock): Provider {
  const latencyMs = options.latency_ms ?? 0;
  let calls = 0;
  const next = (request: ProviderRequest): Script => {
    const fate = options.fail?.[Math.min(calls, options.fail.length - 1)] ?? "ok";
    calls++;
    const made = request.options?.embed === undefined ? answer : embeddingsOf;
    return { fate, result: made(options, request, `mock-${calls}`) };
  };
  return {
    unsupported: (request) => firstUnsupportedField(request, TAKEN),
    complete(request, x) {
      const { fate, result } = next(request);
      const outcome = fate === "ok" ? result : failed(fate, latencyMs);
      return latencyMs === 0 ? outcome : later(clock, latencyMs, x, outcome);
    },
    stream(request, _x, sink) {
      const script = next(request);
      const play = new Play(clock, options, script, sink);
      play.start(latencyMs);
      return play;
    },
  };
}

interface Script {
  readonly fate: Fate;
  readonly result: ChatResult;
}

function answer(options: MockOptions, request: ProviderRequest, id: string): ChatResult {
  const input = contentText(request.messages.findLast((message) => message.role === "user")?.content ?? "");
  const system = request.messages.flatMap((one) => (one.role === "system" ? contentText(one.content) : []));
  const values: Readonly<Record<string, string>> = {
    input,
    model: request.model,
    system: shortened(system.join("\n").trim() || "none"),
  };
  // One pass: an input that holds a placeholder is not filled in again.
  const content = (options.reply ?? DEFAULT_REPLY).replace(
    /\{\{\s*(input|model|system)\s*\}\}/g,
    (_whole, name: string) => values[name] ?? "",
  );
  return {
    id,
    model: request.model,
    content,
    finishReason: "stop",
    usage: usageOf(options, request, content),
  };
}

/** No character is cut in two. */
function shortened(text: string): string {
  const characters = [...text];
  if (characters.length <= SHOWN_CHARACTERS_MAX) return text;
  return `${characters.slice(0, SHOWN_CHARACTERS_MAX).join("")}…`;
}

const DIMENSIONS = 8;
const DIMENSIONS_MAX = 4096;

/** A vector of length 1 for each text: equal texts have equal ones, others differ. */
function embeddingsOf(options: MockOptions, request: ProviderRequest, id: string): ChatResult {
  const dimensions = Math.min(request.options?.embed?.dimensions ?? DIMENSIONS, DIMENSIONS_MAX);
  const embeddings = request.messages.map(({ content }) => vectorOf(contentText(content), dimensions));
  const prompt = options.usage?.prompt_tokens ?? estimateTokens(countCharacters(request.messages));
  const usage = { promptTokens: prompt, completionTokens: 0, totalTokens: prompt };
  return { id, model: request.model, content: "", finishReason: "stop", usage, embeddings };
}

function vectorOf(text: string, dimensions: number): readonly number[] {
  // FNV-1a over the text, then a linear congruential generator seeded by it.
  let state = 0x811c9dc5;
  for (let n = 0; n < text.length; n++) state = Math.imul(state ^ text.charCodeAt(n), 0x01000193);
  const raw = Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state / 0x80000000;
  });
  const length = Math.hypot(...raw) || 1;
  return raw.map((value) => value / length);
}

function usageOf(options: MockOptions, request: ProviderRequest, content: string): Usage {
  const characters = countCharacters(request.messages);
  const promptTokens = options.usage?.prompt_tokens ?? estimateTokens(characters);
  const completionTokens = options.usage?.completion_tokens ?? estimateTokens(content.length);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}

function failed(fate: Fate, afterMs: number): ProviderFailure {
  if (fate === "timeout") {
    return failure({
      status: undefined,
      reason: `timed out after ${afterMs} ms`,
      retryable: true,
      accepted: false,
    });
  }
  if (fate === "cut") {
    return failure({ status: 200, reason: "the answer broke off", retryable: true, accepted: true });
  }
  if (typeof fate === "number") {
    const retryable = fate === 408 || fate === 429 || fate >= 500;
    return failure({ status: fate, reason: "scripted failure", retryable, accepted: false });
  }
  return failure({ status: undefined, reason: "unreachable", retryable: true, accepted: false });
}

function later<T>(clock: Clock, delayMs: number, x: Exchange, outcome: T): Promise<T | ProviderFailure> {
  return new Promise((settle) => {
    const cancel = (): void => {
      timer.cancel();
      settle(failure({ status: undefined, reason: "cancelled", retryable: false, accepted: false }));
    };
    const timer = clock.after(delayMs, () => {
      x.signal.removeEventListener("abort", cancel);
      settle(outcome);
    });
    if (x.signal.aborted) cancel();
    else x.signal.addEventListener("abort", cancel, { once: true });
  });
}

/** One streamed answer. With no pause between chunks it is one batch. */
class Play implements StreamControl {
  readonly #clock: Clock;
  readonly #chunkMs: number;
  readonly #script: Script;
  readonly #sink: ProviderSink;
  readonly #pieces: readonly string[];
  #at = 0;
  #timer: ReturnType<Clock["after"]> | undefined;
  #paused = false;
  /** A step fell due while paused. */
  #due = false;
  #over = false;

  constructor(clock: Clock, options: MockOptions, script: Script, sink: ProviderSink) {
    this.#clock = clock;
    this.#chunkMs = options.chunk_ms ?? 0;
    this.#script = script;
    this.#sink = sink;
    const pieces = split(script.result.content, options.chunks);
    this.#pieces = script.fate === "cut" ? pieces.slice(0, Math.ceil(pieces.length / 2)) : pieces;
  }

  start(latencyMs: number): void {
    const { fate } = this.#script;
    const answers = fate === "ok" || fate === "cut";
    this.#after(latencyMs, () => (answers ? this.#begin() : this.#fail(failed(fate, latencyMs))));
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#due) return;
    this.#due = false;
    this.#step();
  }

  cancel(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  #begin(): void {
    this.#sink.begin(this.#script.result.id, this.#script.result.model);
    this.#step();
  }

  #step(): void {
    if (this.#over) return;
    if (this.#paused) {
      this.#due = true;
      return;
    }
    const until = this.#chunkMs === 0 ? this.#pieces.length : this.#at + 1;
    const chunks: ChatChunk[] = this.#pieces.slice(this.#at, until).map(textChunk);
    this.#at = until;
    const last = until >= this.#pieces.length;
    if (last && this.#script.fate === "ok") chunks.push(this.#finish());
    this.#sink.batch(chunks);
    if (!last) this.#after(this.#chunkMs, () => this.#step());
    else if (this.#script.fate === "cut") this.#fail(failed("cut", 0));
    else this.#end();
  }

  #finish(): ChatChunk {
    return { ...textChunk(""), finishReason: "stop", usage: this.#script.result.usage };
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.end();
  }

  #fail(failure: ProviderFailure): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.fail(failure);
  }

  #after(delayMs: number, run: () => void): void {
    if (delayMs === 0) run();
    else this.#timer = this.#clock.after(delayMs, run);
  }
}

/** Words with the space before them, or a number of parts of about equal length; no character is cut in two. */
function split(text: string, parts: number | undefined): readonly string[] {
  if (parts === undefined) return text.match(/\s*\S+|\s+$/g) ?? [text];
  const characters = [...text];
  const count = Math.max(1, Math.min(parts, characters.length));
  const border = (part: number): number => Math.floor((part * characters.length) / count);
  return Array.from({ length: count }, (_, part) =>
    characters.slice(border(part), border(part + 1)).join(""),
  );
}
