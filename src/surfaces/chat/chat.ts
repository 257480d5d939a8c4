/**
 * The chat surface: direct and dispatcher calls, answered as one JSON body or as server-sent events, the endpoint
 * listing, and the end of a conversation.
 */
import type { CompiledEndpoint, CompiledProject } from "../../compile/model.ts";
import { EventStream } from "../../http/event-stream.ts";
import { sendEmpty, sendJson } from "../../http/respond.ts";
import type { Call } from "../../pipeline/call.ts";
import { runChat } from "../../pipeline/chat.ts";
import { type EventWriter, type Reply, toolCallsJson } from "../../pipeline/reply.ts";
import type { Usage } from "../../plugin/chat.ts";
import type { ChatResult, GatewayError, MaybePromise } from "../../plugin/index.ts";
import { andThen, isGatewayError, reject } from "../../plugin/index.ts";
import { OWN_SESSIONS } from "../../state/tables.ts";
import { type ChatInput, readChatBody, readEndpointSlug } from "../chat-body.ts";
import type { RequestContext } from "../request-context.ts";
import type { Route, SurfaceModule } from "../route.ts";

const PROJECT = { surface: "chat", scope: "chat", projectType: "ai_gateway" } as const;

const direct: Route<ChatInput, CompiledEndpoint> = {
  ...PROJECT,
  ...{ method: "POST", path: "/api/{project_uuid}/{slug}", body: "json" },
  summary: "Calls an endpoint.",
  read: readChatBody,
  target: (project, _input, { target }) => endpointOf(project, target.param),
  handler: callEndpoint,
};

const dispatcher: Route<ChatInput, CompiledEndpoint> = {
  ...PROJECT,
  ...{ method: "POST", path: "/api/{project_uuid}/chat/completions", body: "json" },
  summary: "Calls the endpoint that the body names in `endpoint`.",
  read: readChatBody,
  target(project, _input, { body }) {
    const slug = readEndpointSlug(body);
    return isGatewayError(slug) ? slug : endpointOf(project, slug);
  },
  handler: callEndpoint,
};

const deleteSession: Route<undefined, CompiledProject> = {
  ...PROJECT,
  ...{ method: "DELETE", path: "/api/{project_uuid}/sessions/{id+}", body: "none" },
  summary: "Ends a conversation of the token.",
  handler: (context, project) =>
    andThen(forget(context, project), (isKnown) => {
      // The call may have been cancelled while the store was asked.
      if (context.call.ended) return undefined;
      if (!isKnown) return reject("session_not_found", { id: context.target.param });
      sendEmpty(context.res, 204, context.headers());
      return void context.end(204, undefined);
    }),
};

const listing: Route<undefined, CompiledProject> = {
  ...{ surface: "listing", scope: "admin", projectType: "ai_gateway" },
  ...{ method: "GET", path: "/api/{project_uuid}/endpoints", body: "none" },
  summary: "Lists the endpoints of the project, in the order of its configuration.",
  handler(context, { listingJson }) {
    sendJson(context.res, 200, `{"ok":true,"data":${listingJson}}`, context.headers());
    return void context.end(200, undefined);
  },
};

export const chat: SurfaceModule = { routes: [direct, dispatcher, deleteSession, listing] };

function endpointOf(project: CompiledProject, slug: string): CompiledEndpoint | GatewayError {
  const endpoint = project.endpoints.get(slug);
  return endpoint?.isActive === true ? endpoint : reject("endpoint_not_found", { slug });
}

function callEndpoint(context: RequestContext, endpoint: CompiledEndpoint, input: ChatInput): undefined {
  const { call } = context;
  call.endpoint = endpoint.ref;
  call.body = context.body;
  call.received = input.messages;
  call.messages = input.messages;
  call.receivedCharacters = input.characters;
  // Honored only where the endpoint allows it; ignored otherwise (specification, chat request).
  call.stream = input.stream && endpoint.streamingEnabled;
  runChat(call, endpoint, new ChatReply(context));
}

class ChatReply implements Reply {
  readonly #context: RequestContext;
  #events: EventStream | undefined;

  constructor(context: RequestContext) {
    this.#context = context;
  }

  whole(x: Call, result: ChatResult, usage: Usage): void {
    this.#context.sendJson(200, chatBody(x, result, usage));
  }

  refuse(_x: Call, error: GatewayError): void {
    if (this.#events?.open) this.#events.fail(error);
    else this.#context.sendError(error);
  }

  events(): EventWriter {
    return (this.#events = new EventStream(this.#context.res, () => this.#context.headers()));
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
  // The specification's object has no tool calls, since clients of this surface cannot define tools: shown where a model
  // makes one.
  const calls = result.toolCalls?.length ? `,"tool_calls":${toolCallsJson(result.toolCalls)}` : "";
  return `{"ok":true,"id":${JSON.stringify(result.id)},"model":${JSON.stringify(result.model)},"content":${JSON.stringify(result.content)}${calls},"finish_reason":"${result.finishReason}","usage":{"prompt_tokens":${promptTokens},"completion_tokens":${completionTokens},"total_tokens":${totalTokens}},"meta":{"request_id":"${x.requestId}"${session}${reason}}}`;
}

function forget({ gateway, call, target }: RequestContext, project: CompiledProject): MaybePromise<boolean> {
  const { param: id } = target;
  const { sessions } = gateway.rt.store;
  return andThen(
    sessions.ownerOf(id),
    (owner) =>
      owner !== undefined && belongsTo(owner, project.ref.uuid, call.token.id) && sessions.delete(owner, id),
  );
}

/** An owner is made by `conversationOwner`: project, endpoint, token. Slugs have no slash. */
function belongsTo(owner: string, projectUuid: string, tokenId: string): boolean {
  const ofProject = `${OWN_SESSIONS}${projectUuid}/`;
  if (!owner.startsWith(ofProject)) return false;
  return owner.slice(owner.indexOf("/", ofProject.length) + 1) === tokenId;
}
