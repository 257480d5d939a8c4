/**
 * Stage `call`: asks the targets in their order until one answers. Moves on only where another target may do better
 * (CONTRACT section 5), and never after the first content of a stream. Knows no wire format and no HTTP.
 */
import type {
  Answer,
  AnswerStream,
  Attempt,
  ChatChunk,
  ChatResult,
  ChunkSink,
  Clock,
  Exchange,
  GatewayError,
  Host,
  MaybePromise,
  ProviderFailure,
  ProviderRequest,
  ProviderSink,
  StreamControl,
  Target,
} from "sluice/plugin";
import { definePlugin, failure, isFailure, isPromise, reject } from "sluice/plugin";

export const call = definePlugin<object>({
  name: "call",
  stage: "call",
  description: "Asks the endpoint's model, then its failover entries, in order.",
  schema: { type: "object", additionalProperties: false },
  examples: [{}],
  setup: (_options, host) => ({
    call: (x, targets) => {
      const primary = targets[0];
      if (primary === undefined || !targets.some((target) => target.enabled)) {
        return reject("provider_disabled", { key: primary?.provider ?? "" });
      }
      const tries = new Tries(host, x, targets);
      return x.stream ? streamed(tries) : whole(tries);
    },
  }),
});

export default call;

/** What an attempt is that nobody waited for to end. */
const GIVEN_UP = "cancelled";

/** An attempt is filed when it starts, so that a call given up meanwhile shows it too. */
type OpenAttempt = { -readonly [Key in keyof Attempt]: Attempt[Key] };

/** The targets of one call, one after the other, and what became of each. */
class Tries {
  readonly x: Exchange;
  readonly #host: Host;
  readonly #clock: Clock;
  readonly #targets: readonly Target[];
  readonly #failures: string[] = [];
  #at = -1;
  #current: OpenAttempt | undefined;
  #startedMs = 0;

  constructor(host: Host, x: Exchange, targets: readonly Target[]) {
    this.#host = host;
    this.#clock = host.clock;
    this.x = x;
    this.#targets = targets;
  }

  /** The next target that may be asked; undefined when none is left. */
  next(): Target | undefined {
    while (++this.#at < this.#targets.length) {
      const target = this.#targets[this.#at];
      if (!target?.enabled) continue;
      const { provider, model, credential } = target;
      this.#startedMs = this.#clock.monotonicMs();
      this.#current = { provider, model, credential, outcome: GIVEN_UP, status: undefined, durationMs: 0 };
      this.x.attempts.push(this.#current);
      return target;
    }
    return undefined;
  }

  request(target: Target): ProviderRequest {
    // Field by field: spreading a frozen object is slow, and this runs on every call.
    const { model, temperature, topP, maxOutputTokens, responseSchema } = target.settings;
    const { messages, options } = this.x;
    return { model, messages, temperature, topP, maxOutputTokens, responseSchema, options };
  }

  /** The target answered, whole. */
  succeed(): void {
    this.#close("ok", 200);
  }

  /** The call was given up. `accepted`: the target had begun to answer. */
  giveUp(accepted: boolean): void {
    this.#close(GIVEN_UP, accepted ? 200 : undefined);
  }

  /** undefined: go on with the next target. */
  fail(target: Target, failed: ProviderFailure, mayMoveOn: boolean): GatewayError | undefined {
    const said = failed.status === undefined ? failed.reason : `${failed.status}: ${failed.reason}`;
    this.#close(said, failed.accepted ? 200 : failed.status);
    this.#failures.push(`${target.model}: ${target.label} ${said}`);
    if (mayMoveOn && failed.movesOn && this.#hasNext() && !this.x.ended) return undefined;
    const detail = this.#failures.length > 1 ? this.#failures.join("; ") : undefined;
    const extras = { cause: failed.cause ?? failed, ...(detail === undefined ? {} : { detail }) };
    return reject("provider_failed", { reason: `${target.label} ${said}` }, extras);
  }

  named(id: string, model: string): { readonly id: string; readonly model: string } {
    return {
      id: id === "" ? `chatcmpl-${this.#host.random.uuid()}` : id,
      model: model === "" ? (this.#current?.model ?? "") : model,
    };
  }

  #hasNext(): boolean {
    return this.#targets.some((target, index) => index > this.#at && target.enabled);
  }

  #close(outcome: string, status: number | undefined): void {
    const attempt = this.#current;
    if (attempt === undefined) return;
    attempt.outcome = outcome;
    attempt.status = status;
    attempt.durationMs = this.#clock.monotonicMs() - this.#startedMs;
  }
}

/** An inactive credential counts as a failed try (CONTRACT section 5). */
const INACTIVE = failure({
  status: undefined,
  reason: "credential is inactive",
  movesOn: true,
  accepted: false,
});

/** Asks for a whole answer. Synchronous as long as the providers are. */
function whole(tries: Tries): MaybePromise<Answer> {
  for (let target = tries.next(); target !== undefined; target = tries.next()) {
    const asked = target;
    const settled = asked.active ? asked.client.complete(tries.request(asked), tries.x) : INACTIVE;
    if (isPromise(settled)) return settled.then((result) => judge(tries, asked, result) ?? whole(tries));
    const answer = judge(tries, asked, settled);
    if (answer !== undefined) return answer;
  }
  return reject("internal", {});
}

function judge(tries: Tries, target: Target, result: ChatResult | ProviderFailure): Answer | undefined {
  if (isFailure(result)) return tries.fail(target, result, true);
  tries.succeed();
  return result.id !== "" && result.model !== ""
    ? result
    : { ...result, ...tries.named(result.id, result.model) };
}

/**
 * Asks for a stream; answers when its first content has come, at once if it comes at once. A call given up before
 * that gets no answer: nobody waits for one.
 */
function streamed(tries: Tries): MaybePromise<Answer> {
  const opening = new Opening(tries);
  tries.x.onCancel(() => opening.giveUp());
  opening.tryNext();
  return opening.answer ?? new Promise((resolve) => (opening.settle = resolve));
}

/** The time before the first content of a stream: while it lasts, another target can still take over. */
class Opening {
  answer: Answer | undefined;
  settle: ((answer: Answer) => void) | undefined;
  readonly #tries: Tries;
  #current: TargetStream | undefined;

  constructor(tries: Tries) {
    this.#tries = tries;
  }

  tryNext(): void {
    const target = this.#tries.next();
    if (target === undefined) return;
    const stream = new TargetStream(this.#tries, target, this);
    this.#current = stream;
    if (target.active) stream.start();
    else stream.fail(INACTIVE);
  }

  giveUp(): void {
    this.#current?.cancel();
  }

  done(answer: Answer): void {
    this.answer = answer;
    this.settle?.(answer);
  }
}

/** Chunks kept between the first content and `attach`; beyond it the provider is held back. */
const HELD_CHUNKS_MAX = 256;

/** One target's stream: holds what comes until it is attached, then passes it straight on. */
class TargetStream implements ProviderSink, AnswerStream {
  readonly kind = "stream";
  readonly provider: string;
  id = "";
  model = "";
  readonly #tries: Tries;
  readonly #target: Target;
  #opening: Opening | undefined;
  #control: StreamControl | undefined;
  #sink: ChunkSink | undefined;
  #held: ChatChunk[] = [];
  /** How the stream ended while nobody was attached. */
  #ended: "end" | GatewayError | undefined;
  #over = false;

  constructor(tries: Tries, target: Target, opening: Opening) {
    this.#tries = tries;
    this.#target = target;
    this.#opening = opening;
    this.provider = target.provider;
  }

  start(): void {
    const control = this.#target.client.stream(this.#tries.request(this.#target), this.#tries.x, this);
    this.#control = control;
    if (this.#over) control.cancel();
  }

  begin(id: string, model: string): void {
    const named = this.#tries.named(id, model);
    this.id = named.id;
    this.model = named.model;
  }

  batch(chunks: readonly ChatChunk[]): void {
    if (this.#sink !== undefined) this.#sink.batch(chunks);
    else if (!this.#over) this.#hold(chunks);
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#tries.succeed();
    if (this.id === "") this.begin("", "");
    if (this.#sink === undefined) {
      this.#ended = "end";
      this.#open();
    } else this.#sink.end();
  }

  fail(failed: ProviderFailure): void {
    if (this.#over) return;
    this.#over = true;
    const refusal = this.#tries.fail(this.#target, failed, this.#opening !== undefined);
    const opening = this.#opening;
    this.#opening = undefined;
    if (refusal === undefined) opening?.tryNext();
    else if (opening !== undefined) opening.done(refusal);
    else if (this.#sink !== undefined) this.#sink.fail(refusal);
    else this.#ended = refusal;
  }

  attach(sink: ChunkSink): void {
    const held = this.#held;
    this.#held = [];
    this.#sink = sink;
    if (held.length > 0) sink.batch(held);
    const ended = this.#ended;
    if (ended === "end") sink.end();
    else if (ended !== undefined) sink.fail(ended);
    else if (held.length > HELD_CHUNKS_MAX) this.resume();
  }

  pause(): void {
    this.#control?.pause();
  }

  resume(): void {
    this.#control?.resume();
  }

  cancel(): void {
    const accepted = this.#opening === undefined;
    this.#opening = undefined;
    this.#sink = undefined;
    this.#ended = undefined;
    if (this.#over) return;
    this.#over = true;
    this.#tries.giveUp(accepted);
    this.#control?.cancel();
  }

  #hold(chunks: readonly ChatChunk[]): void {
    this.#held.push(...chunks);
    if (this.#opening !== undefined && chunks.some(isContent)) this.#open();
    if (this.#held.length > HELD_CHUNKS_MAX) this.pause();
  }

  #open(): void {
    const opening = this.#opening;
    this.#opening = undefined;
    if (opening === undefined) return;
    this.#tries.x.onCancel(undefined);
    opening.done(this);
  }
}

function isContent(chunk: ChatChunk): boolean {
  return chunk.text !== "" || chunk.finishReason !== undefined;
}
