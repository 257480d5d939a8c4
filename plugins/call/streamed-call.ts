/**
 * A call that is answered by a stream. Until its first content another target can still take over, so the head waits
 * for it; from then on chunks pass straight through.
 */
import type {
  Answer,
  AnswerStream,
  ChatChunk,
  ChunkSink,
  GatewayError,
  MaybePromise,
  Target,
} from "sluice/plugin";
import type { ProviderFailure, ProviderSink, StreamControl } from "sluice/provider";
import { type FailoverSequence, INACTIVE } from "./failover.ts";

/**
 * Asks for a stream; answers when its first content has come, at once if it comes at once. A call cancelled before
 * that gets no answer.
 */
export function streamed(sequence: FailoverSequence): MaybePromise<Answer> {
  const opening = new PendingStream(sequence);
  sequence.x.onCancel(() => opening.cancel());
  opening.tryNext();
  return opening.answer ?? new Promise((resolve) => (opening.settle = resolve));
}

/** The time before the first content of a stream: while it lasts, another target can still take over. */
class PendingStream {
  answer: Answer | undefined;
  settle: ((answer: Answer) => void) | undefined;
  readonly #sequence: FailoverSequence;
  #current: TargetStream | undefined;

  constructor(sequence: FailoverSequence) {
    this.#sequence = sequence;
  }

  tryNext(): void {
    const target = this.#sequence.next();
    if (target === undefined) return;
    const stream = new TargetStream(this.#sequence, target, this);
    this.#current = stream;
    if (target.active) stream.start();
    else stream.fail(INACTIVE);
  }

  cancel(): void {
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
  readonly #sequence: FailoverSequence;
  readonly #target: Target;
  #opening: PendingStream | undefined;
  #control: StreamControl | undefined;
  #sink: ChunkSink | undefined;
  #held: ChatChunk[] = [];
  /** How the stream ended while nobody was attached. */
  #ended: "end" | GatewayError | undefined;
  #over = false;

  constructor(sequence: FailoverSequence, target: Target, opening: PendingStream) {
    this.#sequence = sequence;
    this.#target = target;
    this.#opening = opening;
    this.provider = target.provider;
  }

  start(): void {
    const control = this.#target.client.stream(this.#sequence.request(this.#target), this.#sequence.x, this);
    this.#control = control;
    if (this.#over) control.cancel();
  }

  begin(id: string, model: string): void {
    const named = this.#sequence.named(id, model);
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
    this.#sequence.succeed(this.#target);
    if (this.id === "") this.begin("", "");
    if (this.#sink === undefined) {
      this.#ended = "end";
      this.#open();
    } else this.#sink.end();
  }

  fail(failed: ProviderFailure): void {
    if (this.#over) return;
    this.#over = true;
    const refusal = this.#sequence.fail(this.#target, failed, this.#opening !== undefined);
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
    this.#sequence.cancel(this.#target, accepted);
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
    this.#sequence.begin(this.#target);
    this.#sequence.x.onCancel(undefined);
    opening.done(this);
  }
}

function isContent(chunk: ChatChunk): boolean {
  if (chunk.text !== "" || chunk.toolCalls !== undefined || chunk.nativeOnly === true) return true;
  return chunk.finishReason !== undefined;
}
