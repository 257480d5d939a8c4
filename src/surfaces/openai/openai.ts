/**
 * The wrapper surface: OpenAI's chat completions, embeddings and models over every provider, through the same chain as
 * any call. What a client names as `model` is an alias of the configuration.
 */
import type { CompiledEndpoint, CompiledProject, ModelEntry } from "../../compile/model.ts";
import { EventStream } from "../../http/event-stream.ts";
import { sendJson } from "../../http/respond.ts";
import type { Call } from "../../pipeline/call.ts";
import { runChat } from "../../pipeline/chat.ts";
import type { ClosingAnswer, EventWriter, Reply } from "../../pipeline/reply.ts";
import type { Usage } from "../../plugin/chat.ts";
import type { ChatResult, GatewayError } from "../../plugin/index.ts";
import { countCharacters, reject } from "../../plugin/index.ts";
import type { RequestContext } from "../request-context.ts";
import type { Route, SurfaceModule } from "../route.ts";
import { closingEvents, completionOf, wholeAsEvents } from "./answer.ts";
import { readWrapperBody, type WrapperInput } from "./body.ts";
import { type EmbeddingsInput, embeddingsOf, readEmbeddingsBody } from "./embeddings.ts";
import { errorBodyFor } from "./errors.ts";
import { refusedCostly, refusedUnjudgeable } from "./refused-members.ts";

const PROJECT = { surface: "wrapper", projectType: "ai_wrapper" } as const;

const completions: Route<WrapperInput, CompiledEndpoint> = {
  ...PROJECT,
  ...{ method: "POST", path: "/api/{project_uuid}/v1/chat/completions", scope: "chat", body: "json" },
  summary: "OpenAI's chat completions; `model` is an alias.",
  read: readWrapperBody,
  target: aliasOf,
  handler(context, endpoint, input) {
    const refusal = refusedCostly(endpoint, input.options) ?? refusedUnjudgeable(endpoint, input);
    if (refusal !== undefined) return refusal;
    // A stream with several choices is sent once all of them are complete.
    begin(context, endpoint, input, input.stream && (input.options.n ?? 1) === 1);
    runChat(context.call, endpoint, new CompletionReply(context, endpoint, input));
    return undefined;
  },
};

const embeddings: Route<EmbeddingsInput, CompiledEndpoint> = {
  ...PROJECT,
  ...{ method: "POST", path: "/api/{project_uuid}/v1/embeddings", scope: "chat", body: "json" },
  summary: "OpenAI's embeddings; `model` is an alias.",
  read: readEmbeddingsBody,
  target: aliasOf,
  handler(context, endpoint, input) {
    const refusal = refusedCostly(endpoint, input.options);
    if (refusal !== undefined) return refusal;
    begin(context, endpoint, input, false);
    runChat(context.call, endpoint, {
      whole: (_x, result, usage) => context.sendJson(200, embeddingsOf(result, usage, input.base64)),
      refuse: (_x, error) => context.sendError(error),
      // Embeddings are not streamed.
      events: () => new EventStream(context.res, () => context.headers()),
    });
    return undefined;
  },
};

const models: Route<undefined, CompiledProject> = {
  ...PROJECT,
  ...{ method: "GET", path: "/api/{project_uuid}/v1/models", scope: "models", body: "none" },
  summary: "Lists the aliases of the project, in the order of its configuration.",
  handler: (context, { models: data }) => sendModels(context, { object: "list", data }),
};

const model: Route<undefined, ModelEntry> = {
  ...PROJECT,
  ...{ method: "GET", path: "/api/{project_uuid}/v1/models/{alias+}", scope: "models", body: "none" },
  summary: "Shows one alias.",
  target(project, _input, { target }) {
    const alias = decoded(target.param);
    // The entry of an alias that was renamed has its present name.
    const name = project.aliases.get(alias)?.ref.slug;
    return project.models.find(({ id }) => id === name) ?? reject("alias_not_found", { alias });
  },
  handler: sendModels,
};

export const openai: SurfaceModule = {
  routes: [completions, embeddings, models, model],
  errors: { below: "v1/", body: errorBodyFor },
};

function sendModels(context: RequestContext, body: object): undefined {
  sendJson(context.res, 200, JSON.stringify(body), context.headers());
  context.end(200, undefined);
}

/** As it is where it is not valid percent-encoding; no alias has that form. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function aliasOf(
  { aliases }: CompiledProject,
  { model: alias }: { readonly model: string },
): CompiledEndpoint | GatewayError {
  return aliases.get(alias) ?? reject("alias_not_found", { alias });
}

function begin(
  { call, body }: RequestContext,
  endpoint: CompiledEndpoint,
  { messages, options }: Pick<WrapperInput, "messages" | "options">,
  stream: boolean,
): void {
  call.endpoint = endpoint.ref;
  call.body = body;
  call.received = messages;
  call.messages = messages;
  call.receivedCharacters = countCharacters(messages);
  call.options = options;
  call.stream = stream;
}

class CompletionReply implements Reply {
  readonly #context: RequestContext;
  readonly #input: WrapperInput;
  readonly #guarded: boolean;
  #events: CompletionEvents | undefined;

  constructor(context: RequestContext, { response, stream }: CompiledEndpoint, input: WrapperInput) {
    this.#context = context;
    this.#input = input;
    this.#guarded = response.length > 0 || stream.length > 0;
  }

  whole(x: Call, result: ChatResult, usage: Usage): void {
    const created = Math.floor(x.rt.clock.nowMs() / 1000);
    const answer = { result, usage, guarded: this.#guarded, created };
    if (this.#input.stream) {
      const events = this.events();
      events.write(wholeAsEvents(answer, this.#input.usageEvent));
      events.end();
    } else this.#context.sendJson(200, JSON.stringify(completionOf(answer)));
  }

  refuse(_x: Call, error: GatewayError): void {
    if (this.#events?.open) this.#events.fail(error);
    else this.#context.sendError(error);
  }

  events(): EventWriter {
    return (this.#events = new CompletionEvents(this.#context, this.#input.usageEvent));
  }
}

class CompletionEvents extends EventStream {
  readonly #usageEvent: boolean;

  constructor(context: RequestContext, usageEvent: boolean) {
    super(context.res, () => context.headers(), context.errorBody);
    this.#usageEvent = usageEvent;
  }

  closing(answer: ClosingAnswer): string {
    return closingEvents(answer, this.#usageEvent);
  }
}
