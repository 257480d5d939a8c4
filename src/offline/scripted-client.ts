/**
 * An `HttpClient` that opens no connection: it answers with the bytes of the case's script, so that the real wire formats
 * encode the request and decode the answer. One for each provider and credential; which target is asked, the call says.
 */
import type { VirtualClock } from "../base/virtual-clock.ts";
import type {
  HttpCall,
  HttpClient,
  HttpError,
  HttpHandler,
  HttpLimits,
  OutboundRequest,
} from "../net/http-client.ts";
import type { Timer } from "../plugin/host.ts";
import type { Dialect } from "./dialects/dialect.ts";
import { spokenReply } from "./dialects.ts";
import { isReply, type ReplyEntry, type ScriptEntry } from "./script.ts";

/** One request that is answered by the script. */
export interface ScriptedRequest {
  readonly request: OutboundRequest;
  readonly streamed: boolean;
  /** Of the format that wrote it; undefined: it is none of the known ones. */
  readonly dialect: Dialect | undefined;
}

/** What a request is answered with. */
export interface ScriptedAnswer {
  readonly entry: ScriptEntry;
  /** The model that was asked. */
  readonly model: string;
  /** Of the request in its case, from 1. */
  readonly number: number;
  /** Of a call for embeddings: the number of vectors and of their dimensions. */
  readonly vectors: { readonly count: number; readonly dimensions: number } | undefined;
}

/** The case that is running. */
export interface ScriptPlayer {
  readonly clock: VirtualClock;
  /** Told of each request before it is answered. A text: why there is no answer. */
  next(asked: ScriptedRequest): ScriptedAnswer | string;
  /** A scripted answer waits for this moment of the clock, which nothing but the case's driver brings about. */
  waitingUntil(monotonicMs: number | undefined): void;
}

export class ScriptedClient implements HttpClient {
  readonly #player: () => ScriptPlayer;
  readonly #dialect: Dialect | undefined;

  constructor(player: () => ScriptPlayer, dialect: Dialect | undefined) {
    this.#player = player;
    this.#dialect = dialect;
  }

  send(request: OutboundRequest, handler: HttpHandler, limits: HttpLimits): HttpCall {
    const player = this.#player();
    const streamed = limits.awaitsContent === true;
    const answer = player.next({ request, streamed, dialect: this.#dialect });
    const play = new Play(player, handler, limits);
    if (typeof answer === "string") play.fail(unreachable(answer));
    else play.begin(answersOf(answer, streamed, this.#dialect));
    return play;
  }

  connections(): readonly [] {
    return [];
  }

  async close(): Promise<void> {}
}

/** What happens to one request: a head, network reads, then the end or an error. */
interface Events {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly reads: readonly (string | Uint8Array)[];
  readonly error?: HttpError;
}

function unreachable(why: string): HttpError {
  return { kind: "unreachable", reason: "unreachable", cause: new Error(why) };
}

const BROKEN_OFF: HttpError = {
  kind: "reset",
  reason: "connection lost before the answer was complete",
  cause: new Error("the script ends the connection here"),
};

/** "timeout": nothing comes. */
function answersOf(
  { entry, model, number, vectors }: ScriptedAnswer,
  streamed: boolean,
  dialect: Dialect | undefined,
): Events | HttpError | "timeout" {
  if ("timeout" in entry) return "timeout";
  if ("disconnect" in entry) return unreachable("the script ends the connection here");
  if ("status" in entry) return statusEvents(entry, dialect);
  const headers = { "content-type": streamed ? "text/event-stream" : "application/json" };
  if ("recording" in entry) return { status: 200, headers, reads: [entry.recording] };
  if ("json" in entry) {
    return { status: 200, headers: JSON_HEADERS, reads: [JSON.stringify(entry.json)] };
  }
  if (!isReply(entry) || dialect === undefined) {
    return unreachable("this provider has a wire format of its own: script its answers as json or recording");
  }
  const spoken = spokenReply(entry, model, number);
  if (vectors !== undefined) {
    const body = dialect.vectors?.(vectorsOf(vectors), model) ?? dialect.whole(spoken);
    return { status: 200, headers: JSON_HEADERS, reads: [body] };
  }
  if (!streamed) {
    const body = dialect.whole(spoken);
    if (entry.disconnectAfterChunks === undefined) return { status: 200, headers, reads: [body] };
    return { status: 200, headers, reads: [body.slice(0, body.length >> 1)], error: BROKEN_OFF };
  }
  const { before, pieces, after } = dialect.stream(spoken);
  return streamEvents(entry, headers, [before, ...pieces], after);
}

const JSON_HEADERS = { "content-type": "application/json" };

function streamEvents(
  { disconnectAfterChunks: cut }: ReplyEntry,
  headers: Events["headers"],
  reads: readonly string[],
  after: string,
): Events {
  const sent = (list: readonly string[]): readonly string[] => list.filter((read) => read !== "");
  if (cut === undefined) return { status: 200, headers, reads: sent([...reads, after]) };
  return { status: 200, headers, reads: sent(reads.slice(0, cut + 1)), error: BROKEN_OFF };
}

function statusEvents(
  { status, headers = {}, body }: Extract<ScriptEntry, { status: number }>,
  dialect: Dialect | undefined,
): Events {
  const text = body === undefined ? (dialect?.error(status) ?? "") : textOf(body);
  const named = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { status, headers: { ...JSON_HEADERS, ...named }, reads: text === "" ? [] : [text] };
}

export function textOf(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** The same for the same place: small numbers that no test would take for an answer of a model. */
function vectorsOf({ count, dimensions }: NonNullable<ScriptedAnswer["vectors"]>): number[][] {
  return Array.from({ length: count }, (_, row) =>
    Array.from({ length: dimensions }, (_, column) => ((row + 1) * (column + 1)) / 1000),
  );
}

/** Plays one answer: each network read in an iteration of the event loop of its own, none while the call is on pause. */
class Play implements HttpCall {
  readonly #player: ScriptPlayer;
  readonly #handler: HttpHandler;
  readonly #limits: HttpLimits;
  #events: Events | undefined;
  #at = -1;
  #isPaused = false;
  #isScheduled = false;
  #over = false;
  #timer: Timer | undefined;

  constructor(player: ScriptPlayer, handler: HttpHandler, limits: HttpLimits) {
    this.#player = player;
    this.#handler = handler;
    this.#limits = limits;
  }

  begin(events: Events | HttpError | "timeout"): void {
    if (events === "timeout") return this.#wait();
    if ("kind" in events) return this.fail(events);
    this.#events = events;
    this.#schedule();
  }

  fail(error: HttpError): void {
    setImmediate(() => this.#end(() => this.#handler.onError(error)));
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#events !== undefined) this.#schedule();
  }

  cancel(): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#player.waitingUntil(undefined);
  }

  contentBegun(): void {}

  /** As long as the provider's own limits allow, by the case's clock. */
  #wait(): void {
    const { firstByteTimeoutMs, totalTimeoutMs } = this.#limits;
    const ms = Math.min(firstByteTimeoutMs, totalTimeoutMs);
    const { clock } = this.#player;
    this.#timer = clock.after(ms, () => {
      this.#player.waitingUntil(undefined);
      const error: HttpError = { kind: "timeout", reason: `timed out after ${ms} ms`, cause: undefined };
      this.#end(() => this.#handler.onError(error));
    });
    this.#player.waitingUntil(clock.monotonicMs() + ms);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#over) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#step();
    });
  }

  #step(): void {
    const events = this.#events;
    if (this.#over || this.#isPaused || events === undefined) return;
    if (this.#at < 0) {
      this.#at = 0;
      const { headers } = events;
      this.#handler.onHead(events.status, { record: () => ({ ...headers }) });
      if (this.#over) return;
    }
    const read = events.reads[this.#at++];
    if (read !== undefined) {
      this.#handler.onChunk(typeof read === "string" ? Buffer.from(read) : Buffer.from(read));
      return this.#schedule();
    }
    const { error } = events;
    this.#end(() => (error === undefined ? this.#handler.onEnd() : this.#handler.onError(error)));
  }

  #end(tell: () => void): void {
    if (this.#over) return;
    this.#over = true;
    tell();
  }
}
