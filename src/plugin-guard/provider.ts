/**
 * Provider plugins behind the plugin guard: whatever their code throws, rejects with or answers wrongly becomes a failure
 * that is answered 500, whichever network callback raised it. A provider that never answers times out.
 */
import type { ProviderRequest } from "../plugin/chat.ts";
import type { Logger, Timer } from "../plugin/host.ts";
import { type ChatChunk, type ChatResult, type Clock, type Exchange, isPromise } from "../plugin/index.ts";
import type {
  Provider,
  ProviderFailure,
  ProviderSink,
  StreamControl,
  StreamDecoder,
  WireFormat,
} from "../provider-kit/index.ts";
import { failure, isFailure } from "../provider-kit/index.ts";
import { isChatChunk, isObject, isProviderAnswer, isProviderFailure, isWireRequest } from "./answers.ts";
import { guarded, guardedSync, ignoreRejection, type PluginFault, pluginFault } from "./guard.ts";

export interface ProviderGuard {
  readonly plugin: string;
  readonly log: Logger;
}

/** A bug of the provider plugin: no other target is tried, since the provider itself has not failed. */
function broken(fault: PluginFault, accepted: boolean): ProviderFailure {
  const reason = "internal error of the provider plugin";
  return failure({ status: undefined, reason, retryable: false, accepted, internal: true, cause: fault });
}

/** The pure half. Its `encode` and `decoder` still throw, a fault that has been logged: see `guardedProvider`. */
export function guardedFormat(format: WireFormat, { plugin, log }: ProviderGuard): WireFormat {
  const guardOf = (hook: string) => ({ site: { kind: "provider", plugin, hook } as const, log });
  const thrown = (fault: PluginFault): never => {
    throw fault;
  };
  const encoding = { ...guardOf("encode"), accepts: isWireRequest, recover: thrown };
  const decoding = {
    ...guardOf("decode"),
    accepts: isProviderAnswer,
    recover: (fault: PluginFault): ChatResult | ProviderFailure => broken(fault, true),
  };
  const failing = {
    ...guardOf("failure"),
    accepts: isProviderFailure,
    recover: (fault: PluginFault) => broken(fault, false),
  };
  const starting = { ...guardOf("decoder"), accepts: isDecoder, recover: thrown };
  const decoder = guardedSync(starting, format.decoder.bind(format));
  return {
    framing: format.framing,
    encode: guardedSync(encoding, format.encode.bind(format)),
    decode: guardedSync(decoding, format.decode.bind(format)),
    failure: guardedSync(failing, format.failure.bind(format)),
    decoder: (options) => new GuardedDecoder(decoder(options), { plugin, log }),
    ...(format.unsupported !== undefined && { unsupported: format.unsupported.bind(format) }),
    ...(format.dropped !== undefined && { dropped: format.dropped.bind(format) }),
  };
}

function isDecoder(value: unknown): boolean {
  return isObject(value) && typeof value["event"] === "function";
}

class GuardedDecoder implements StreamDecoder {
  readonly #decoder: StreamDecoder;
  readonly #guard: ProviderGuard;

  constructor(decoder: StreamDecoder, guard: ProviderGuard) {
    this.#decoder = decoder;
    this.#guard = guard;
  }

  get id(): string {
    return this.#text("id");
  }

  get model(): string {
    return this.#text("model");
  }

  get complete(): boolean {
    try {
      const value: unknown = this.#decoder.complete;
      ignoreRejection(value);
      return value === true;
    } catch (thrown) {
      this.#fault("decoder.complete", thrown);
      return false;
    }
  }

  get thinking(): boolean {
    try {
      const value: unknown = this.#decoder.thinking;
      ignoreRejection(value);
      return value === true;
    } catch (thrown) {
      this.#fault("decoder.thinking", thrown);
      return false;
    }
  }

  event(name: string, text: string, out: ChatChunk[]): ProviderFailure | undefined {
    const before = out.length;
    try {
      return this.#checked("decoder.event", this.#decoder.event(name, text, out), out, before);
    } catch (thrown) {
      return this.#failed("decoder.event", thrown, out, before);
    }
  }

  end(out: ChatChunk[]): ProviderFailure | undefined {
    const before = out.length;
    try {
      return this.#checked("decoder.end", this.#decoder.end?.(out), out, before);
    } catch (thrown) {
      return this.#failed("decoder.end", thrown, out, before);
    }
  }

  #checked(
    hook: string,
    failed: ProviderFailure | undefined,
    out: ChatChunk[],
    before: number,
  ): ProviderFailure | undefined {
    for (let i = before; i < out.length; i++) {
      if (!isChatChunk(out[i])) return this.#failed(hook, new TypeError("no chunk was added"), out, before);
    }
    if (failed === undefined || isProviderFailure(failed)) return failed;
    ignoreRejection(failed);
    return this.#failed(hook, new TypeError("the answer is neither undefined nor a failure"), out, before);
  }

  /** What the event has added goes with it. */
  #failed(hook: string, thrown: unknown, out: ChatChunk[], before: number): ProviderFailure {
    out.length = before;
    return broken(this.#fault(hook, thrown), true);
  }

  #text(field: "id" | "model"): string {
    try {
      const value: unknown = this.#decoder[field];
      if (typeof value === "string") return value;
      ignoreRejection(value);
      return "";
    } catch (thrown) {
      this.#fault(`decoder.${field}`, thrown);
      return "";
    }
  }

  #fault(hook: string, thrown: unknown): PluginFault {
    const { plugin, log } = this.#guard;
    return pluginFault({ site: { kind: "provider", plugin, hook }, log }, thrown);
  }
}

export interface ForeignLimits {
  readonly clock: Clock;
  /** Of an answer that is not streamed; to the first chunks of a stream; between two batches of it. */
  readonly timeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
}

/**
 * A provider as stage `call` asks it. `foreign`: the plugin answers by itself, so that what it puts into the sink is
 * checked and its time is limited here; absent, it is a wire format spoken by the gateway's own client.
 */
export function guardedProvider(provider: Provider, guard: ProviderGuard, foreign?: ForeignLimits): Provider {
  const { plugin, log } = guard;
  const siteOf = (hook: string) => ({ kind: "provider", plugin, hook }) as const;
  const asked = guarded<[ProviderRequest, Exchange], ChatResult | ProviderFailure>(
    {
      site: siteOf("complete"),
      log,
      accepts: isProviderAnswer,
      recover: (fault) => broken(fault, false),
    },
    provider.complete.bind(provider),
  );
  const unsupported = provider.unsupported?.bind(provider);
  const dropped = provider.dropped?.bind(provider);
  return {
    complete(request, x) {
      const answer = asked(request, x);
      if (foreign === undefined || !isPromise(answer)) return answer;
      return inTime(answer, foreign, () => {
        pluginFault({ site: siteOf("complete"), log }, lateness(foreign.timeoutMs), x);
      });
    },
    stream: (request, x, sink) => startStream({ provider, guard, foreign, request, x, sink }),
    ...(unsupported !== undefined && {
      unsupported: guardedSync(
        {
          site: siteOf("unsupported"),
          log,
          accepts: (answer) => answer === undefined || typeof answer === "string",
          // The request is encoded later, and fails there if it must.
          recover: () => undefined,
        },
        unsupported,
      ),
    }),
    ...(dropped !== undefined && {
      dropped: guardedSync(
        { site: siteOf("dropped"), log, accepts: Array.isArray, recover: (): readonly string[] => [] },
        dropped,
      ),
    }),
    close: () => provider.close?.(),
  };
}

function lateness(ms: number): Error {
  return new Error(`no answer within ${ms} ms`);
}

function timedOut(ms: number): ProviderFailure {
  return failure({ status: undefined, reason: `timed out after ${ms} ms`, retryable: true, accepted: false });
}

function inTime(
  answer: Promise<ChatResult | ProviderFailure>,
  limits: ForeignLimits,
  late: () => void,
): Promise<ChatResult | ProviderFailure> {
  return new Promise((resolve) => {
    const timer = limits.clock.after(limits.timeoutMs, () => {
      late();
      resolve(timedOut(limits.timeoutMs));
    });
    // A guarded promise never rejects.
    void answer.then((settled) => {
      timer.cancel();
      resolve(settled);
    });
  });
}

/** After the end, or of a stream that could not begin. */
const NO_STREAM: StreamControl = Object.freeze({ pause() {}, resume() {}, cancel() {} });

interface StreamStart {
  readonly provider: Provider;
  readonly guard: ProviderGuard;
  readonly foreign: ForeignLimits | undefined;
  readonly request: ProviderRequest;
  readonly x: Exchange;
  readonly sink: ProviderSink;
}

function startStream({ provider, guard, foreign, request, x, sink }: StreamStart): StreamControl {
  const watched = foreign === undefined ? undefined : new WatchedStream(sink, guard, foreign, x);
  try {
    const control: unknown = provider.stream(request, x, watched ?? sink);
    if (isControl(control)) return watched?.controlledBy(control) ?? control;
    ignoreRejection(control);
    throw new TypeError("the answer is not a stream control");
  } catch (thrown) {
    const { plugin, log } = guard;
    const fault = pluginFault({ site: { kind: "provider", plugin, hook: "stream" }, log }, thrown, x);
    (watched ?? sink).fail(broken(fault, false));
    return NO_STREAM;
  }
}

function isControl(value: unknown): value is StreamControl {
  return isObject(value) && ["pause", "resume", "cancel"].every((name) => typeof value[name] === "function");
}

/** The stream of a provider with sockets of its own: its events are checked, its control is guarded, its time limited. */
class WatchedStream implements ProviderSink, StreamControl {
  readonly #sink: ProviderSink;
  readonly #guard: ProviderGuard;
  readonly #x: Exchange;
  #control: StreamControl | undefined;
  readonly #limits: ForeignLimits;
  #timer: Timer | undefined;
  #heardMs: number;
  #paused = false;
  #begun = false;
  /** Chunks have been received. */
  #answers = false;
  #over = false;

  constructor(sink: ProviderSink, guard: ProviderGuard, limits: ForeignLimits, x: Exchange) {
    this.#sink = sink;
    this.#guard = guard;
    this.#x = x;
    this.#limits = limits;
    this.#heardMs = limits.clock.monotonicMs();
    this.#watch(limits.firstByteTimeoutMs);
  }

  /** One timer for many batches: it is set anew only when it fires. */
  #watch(delayMs: number): void {
    const { clock, firstByteTimeoutMs, idleTimeoutMs } = this.#limits;
    this.#timer = clock.after(delayMs, () => {
      const limitMs = this.#answers ? idleTimeoutMs : firstByteTimeoutMs;
      const leftMs = this.#paused ? limitMs : this.#heardMs + limitMs - clock.monotonicMs();
      if (leftMs > 0) return this.#watch(leftMs);
      this.#fault("stream", lateness(limitMs));
      this.#break(timedOut(limitMs));
    });
  }

  /** The wait for the first chunks is over: a shorter limit may hold from now on. */
  #firstChunks(): void {
    this.#answers = true;
    this.#timer?.cancel();
    this.#watch(this.#limits.idleTimeoutMs);
  }

  controlledBy(control: StreamControl): this {
    this.#control = control;
    return this;
  }

  begin(id: string, model: string): void {
    if (this.#over || this.#begun) return;
    this.#begun = true;
    this.#sink.begin(typeof id === "string" ? id : "", typeof model === "string" ? model : "");
  }

  batch(chunks: readonly ChatChunk[]): void {
    if (this.#over) return;
    if (!Array.isArray(chunks) || !chunks.every(isChatChunk))
      return this.#break(broken(this.#fault("sink.batch", new TypeError("not a list of chunks")), true));
    if (!this.#begun) this.begin("", "");
    this.#heardMs = this.#limits.clock.monotonicMs();
    if (!this.#answers && chunks.length > 0) this.#firstChunks();
    this.#sink.batch(chunks);
  }

  end(): void {
    if (this.#stop()) this.#sink.end();
  }

  fail(failed: ProviderFailure): void {
    if (isObject(failed) && isFailure(failed) && isProviderFailure(failed)) {
      if (this.#stop()) this.#sink.fail(failed);
      return;
    }
    if (this.#over) return;
    this.#break(broken(this.#fault("sink.fail", new TypeError("not a failure")), this.#begun));
  }

  pause(): void {
    this.#paused = true;
    this.#tell("pause");
  }

  resume(): void {
    this.#paused = false;
    this.#heardMs = this.#limits.clock.monotonicMs();
    this.#tell("resume");
  }

  cancel(): void {
    if (this.#stop()) this.#tell("cancel");
  }

  /** Ends the stream with a failure and cancels the plugin's stream. */
  #break(failed: ProviderFailure): void {
    if (!this.#stop()) return;
    this.#tell("cancel");
    this.#sink.fail(failed);
  }

  #stop(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    return true;
  }

  #tell(what: "pause" | "resume" | "cancel"): void {
    try {
      ignoreRejection(this.#control?.[what]());
    } catch (thrown) {
      this.#fault(`stream.${what}`, thrown);
    }
  }

  #fault(hook: string, thrown: unknown): PluginFault {
    const { plugin, log } = this.#guard;
    return pluginFault({ site: { kind: "provider", plugin, hook }, log }, thrown, this.#x);
  }
}
