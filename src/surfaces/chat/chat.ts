/** The chat surface: direct and dispatcher calls, answered as one JSON body or as server-sent events. */
import type { CompiledProject } from "../../compile/model.ts";
import type { JsonBody } from "../../http/body.ts";
import { EventStream } from "../../http/event-stream.ts";
import { sendError } from "../../http/respond.ts";
import type { Call } from "../../pipeline/call.ts";
import { runChat } from "../../pipeline/chat.ts";
import type { EventWriter, Reply } from "../../pipeline/reply.ts";
import { toolCallsJson } from "../../pipeline/tool-calls.ts";
import type { ChatResult, GatewayError, Usage } from "../../plugin/index.ts";
import { isGatewayError, reject } from "../../plugin/index.ts";
import type { Visit } from "../arrival.ts";
import { readChatBody, readEndpointSlug } from "../chat-body.ts";

/** Answers a chat call. `slug` is undefined for the dispatcher, whose body names the endpoint. */
export function serveChat(visit: Visit, slug: string | undefined): void {
  visit.admit(
    "ai_gateway",
    () => reject("not_gateway_project", {}),
    (project) => visit.readBody((body) => callEndpoint(visit, project, slug, body)),
  );
}

function callEndpoint(
  visit: Visit,
  project: CompiledProject,
  named: string | undefined,
  body: JsonBody,
): void {
  const input = readChatBody(body);
  if (isGatewayError(input)) return visit.refuse(input);
  const slug = named ?? readEndpointSlug(body);
  if (isGatewayError(slug)) return visit.refuse(slug);
  const endpoint = project.endpoints.get(slug);
  if (endpoint === undefined || !endpoint.isActive)
    return visit.refuse(reject("endpoint_not_found", { slug }));

  const { call } = visit;
  call.endpoint = endpoint.ref;
  call.body = body;
  call.received = input.messages;
  call.messages = input.messages;
  call.receivedCharacters = input.characters;
  // Honoured only where the endpoint allows it; ignored otherwise (specification, chat request).
  call.stream = input.stream && endpoint.streamingEnabled;
  runChat(call, endpoint, new ChatReply(visit));
}

class ChatReply implements Reply {
  readonly #visit: Visit;
  #events: EventStream | undefined;

  constructor(visit: Visit) {
    this.#visit = visit;
  }

  whole(x: Call, result: ChatResult, usage: Usage): void {
    this.#visit.answer(200, chatBody(x, result, usage));
  }

  refuse(_x: Call, error: GatewayError): void {
    if (this.#events?.open) this.#events.fail(error);
    else sendError(this.#visit.req, this.#visit.res, error, this.#visit.headers());
  }

  events(): EventWriter {
    return (this.#events = new EventStream(this.#visit.res, () => this.#visit.headers()));
  }
}

/** The specification's chat response object. */
function chatBody(x: Call, result: ChatResult, usage: Usage): string {
  const { promptTokens, completionTokens, totalTokens } = usage;
  const session = x.sessionId === undefined ? "" : `,"session_id":${JSON.stringify(x.sessionId)}`;
  const reason =
    result.finishReason !== "error" || result.providerFinishReason === undefined
      ? ""
      : `,"provider_finish_reason":${JSON.stringify(result.providerFinishReason)}`;
  // The specification's object has no tool calls, since nobody here can ask for tools: shown where a model makes one.
  const calls = result.toolCalls?.length ? `,"tool_calls":${toolCallsJson(result.toolCalls)}` : "";
  return `{"ok":true,"id":${JSON.stringify(result.id)},"model":${JSON.stringify(result.model)},"content":${JSON.stringify(result.content)}${calls},"finish_reason":"${result.finishReason}","usage":{"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},"total_tokens":${totalTokens}},"meta":{"request_id":"${x.requestId}"${session}${reason}}}`;
}
