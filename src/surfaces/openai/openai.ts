/**
 * The wrapper surface: OpenAI's chat completions and embeddings over every provider, through the same chain as any
 * call. What a client names as `model` is an alias of the configuration.
 */
import type { CompiledEndpoint, CompiledProject } from "../../compile/model.ts";
import type { JsonBody } from "../../http/body.ts";
import { EventStream } from "../../http/event-stream.ts";
import type { Call } from "../../pipeline/call.ts";
import { runChat } from "../../pipeline/chat.ts";
import type { ClosingAnswer, EventWriter, Reply } from "../../pipeline/reply.ts";
import type { CallOptions, ChatResult, GatewayError, Message, Usage } from "../../plugin/index.ts";
import { charactersOf, isGatewayError, reject } from "../../plugin/index.ts";
import type { Visit } from "../arrival.ts";
import { closingEvents, completionOf, wholeAsEvents } from "./answer.ts";
import { readWrapperBody, type WrapperInput } from "./body.ts";
import { refusedCostly } from "./costly.ts";
import { embeddingsOf, readEmbeddingsBody } from "./embeddings.ts";
import { refusedUnjudgeable } from "./judgeable.ts";

/** Answers `POST …/v1/chat/completions`. */
export function serveCompletions(visit: Visit): void {
  admitWrapper(visit, (project, body) => {
    const input = readWrapperBody(body);
    if (isGatewayError(input)) return visit.refuse(input);
    const endpoint = project.aliases.get(input.model);
    if (endpoint === undefined) return visit.refuse(reject("alias_not_found", { alias: input.model }));
    const refusal = refusedCostly(endpoint, input.options) ?? refusedUnjudgeable(endpoint, input);
    if (refusal !== undefined) return visit.refuse(refusal);
    // Several answers come one after the other only where each is whole.
    const stream = input.stream && (input.options.n ?? 1) === 1;
    begin(visit.call, endpoint, { body, ...input, stream });
    runChat(visit.call, endpoint, new CompletionReply(visit, endpoint, input));
  });
}

/** Answers `POST …/v1/embeddings`. */
export function serveEmbeddings(visit: Visit): void {
  admitWrapper(visit, (project, body) => {
    const input = readEmbeddingsBody(body);
    if (isGatewayError(input)) return visit.refuse(input);
    const endpoint = project.aliases.get(input.model);
    if (endpoint === undefined) return visit.refuse(reject("alias_not_found", { alias: input.model }));
    const refusal = refusedCostly(endpoint, input.options);
    if (refusal !== undefined) return visit.refuse(refusal);
    begin(visit.call, endpoint, { body, ...input, stream: false });
    runChat(visit.call, endpoint, {
      whole: (_x, result, usage) => visit.answer(200, embeddingsOf(result, usage, input.base64)),
      refuse: (_x, error) => visit.sendError(error),
      // Nobody asked for events.
      events: () => new EventStream(visit.res, () => visit.headers()),
    });
  });
}

function admitWrapper(visit: Visit, read: (project: CompiledProject, body: JsonBody) => void): void {
  visit.admit(
    "ai_wrapper",
    () => reject("not_wrapper_project", {}),
    (project) => visit.readBody((body) => read(project, body)),
  );
}

interface Asked {
  readonly body: JsonBody;
  readonly messages: readonly Message[];
  readonly options: CallOptions;
  readonly stream: boolean;
}

function begin(call: Call, endpoint: CompiledEndpoint, { body, messages, options, stream }: Asked): void {
  call.endpoint = endpoint.ref;
  call.body = body;
  call.received = messages;
  call.messages = messages;
  call.receivedCharacters = charactersOf(messages);
  call.options = options;
  call.stream = stream;
}

class CompletionReply implements Reply {
  readonly #visit: Visit;
  readonly #input: WrapperInput;
  readonly #guarded: boolean;
  #events: CompletionEvents | undefined;

  constructor(visit: Visit, { response, stream }: CompiledEndpoint, input: WrapperInput) {
    this.#visit = visit;
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
    } else this.#visit.answer(200, JSON.stringify(completionOf(answer)));
  }

  refuse(_x: Call, error: GatewayError): void {
    if (this.#events?.open) this.#events.fail(error);
    else this.#visit.sendError(error);
  }

  events(): EventWriter {
    return (this.#events = new CompletionEvents(this.#visit, this.#input.usageEvent));
  }
}

class CompletionEvents extends EventStream {
  readonly #usageEvent: boolean;

  constructor(visit: Visit, usageEvent: boolean) {
    super(visit.res, () => visit.headers(), visit.errorBody);
    this.#usageEvent = usageEvent;
  }

  closing(answer: ClosingAnswer): string {
    return closingEvents(answer, this.#usageEvent);
  }
}
