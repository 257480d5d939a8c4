/**
 * How a surface answers: the pipeline decides what is sent, a surface its wire format. The events of a streamed answer are
 * OpenAI's chat completion chunks on every surface, so they are made here.
 */
import type { ToolCall, ToolCallDelta, Usage } from "../plugin/chat.ts";
import type { ChatChunk, ChatResult, GatewayError } from "../plugin/index.ts";
import type { Call } from "./call.ts";

export interface Reply {
  /** A whole answer. `usage` is reported or estimated. */
  whole(x: Call, result: ChatResult, usage: Usage): void;
  /** A refusal or failure, when nothing has been sent yet. */
  refuse(x: Call, error: GatewayError): void;
  /** The writer of a streamed answer. Called once, when the first content has arrived. */
  events(x: Call): EventWriter;
}

/** A streamed answer whose text has been written. */
export interface ClosingAnswer {
  readonly result: ChatResult;
  readonly usage: Usage;
  /** `{"id":…,"object":…,"created":…,"model":…,"choices":[` of events that the gateway writes itself. */
  readonly head: string;
  /** JSON text of the provider's own last events, where the call requested them (`CallOptions.native`). */
  readonly finishEvent: string | undefined;
  readonly usageEvent: string | undefined;
}

/** The client's end of a streamed answer. Headers are sent with the first write: until then an error has its own status. */
export interface EventWriter {
  /** The headers have been sent. */
  readonly open: boolean;
  /** Text of whole events. False: the client is behind, and `onDrain` runs once when it has caught up. */
  write(text: string): boolean;
  onDrain(run: () => void): void;
  /** The events that end an answer. Absent: `ChunkEvents.closing`. */
  closing?(answer: ClosingAnswer): string;
  /** A failure after the first byte: the error body as an event, then the end. */
  fail(error: GatewayError): void;
  end(): void;
}

/** The events of one streamed answer, as text. */
export class ChunkEvents {
  /** `{"id":…,"object":…,"created":…,"model":…,"choices":[` of every event that the gateway writes itself. */
  readonly head: string;
  #roleSent = false;

  constructor(id: string, model: string, nowMs: number) {
    const created = Math.floor(nowMs / 1000);
    this.head = `{"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)},"choices":[`;
  }

  /** The provider's own event where it can be sent unchanged. Finish and usage are sent by `closing`. */
  of(chunk: ChatChunk): string {
    if (chunk.native !== undefined && chunk.finishReason === undefined && chunk.usage === undefined) {
      const role = this.#roleSent || chunk.native.includes('"role"') ? "" : this.role();
      this.#roleSent = true;
      return `${role}data: ${chunk.native}\n\n`;
    }
    if (chunk.text === "" && chunk.toolCalls === undefined) return "";
    let events = this.role();
    if (chunk.text !== "") events += this.#delta(`"content":${JSON.stringify(chunk.text)}`);
    // One per event, as OpenAI sends them: some clients read only the first of a list.
    for (const call of chunk.toolCalls ?? [])
      events += this.#delta(`"tool_calls":${toolCallDeltaJson(call)}`);
    return events;
  }

  /** The event that opens an answer; "" when it has been sent. */
  role(): string {
    if (this.#roleSent) return "";
    this.#roleSent = true;
    return this.#delta('"role":"assistant","content":""');
  }

  /** The last events of the chat surface. */
  closing({ requestId: request_id, sessionId: session_id }: Call, result: ChatResult, usage: Usage): string {
    const finish = `data: ${this.head}{"index":0,"delta":{},"finish_reason":"${result.finishReason}"}]}\n\n`;
    const provider_finish_reason = result.finishReason === "error" ? result.providerFinishReason : undefined;
    const meta = JSON.stringify({ request_id, session_id, provider_finish_reason });
    const used = `{"prompt_tokens":${usage.promptTokens},"completion_tokens":${usage.completionTokens},"total_tokens":${usage.totalTokens}}`;
    return `${finish}data: ${this.head}],"usage":${used},"meta":${meta}}\n\ndata: [DONE]\n\n`;
  }

  #delta(delta: string): string {
    return `data: ${this.head}{"index":0,"delta":{${delta}},"finish_reason":null}]}\n\n`;
  }
}

/** `tool_calls` of a whole message. */
export function toolCallsJson(calls: readonly ToolCall[]): string {
  const list = calls.map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  return JSON.stringify(list);
}

/** `tool_calls` of one event: the first part of a call has its id, type and name. */
function toolCallDeltaJson({ index, id, name, arguments: text }: ToolCallDelta): string {
  const type = id === undefined ? undefined : "function";
  return JSON.stringify([{ index, id, type, function: { name, arguments: text } }]);
}
