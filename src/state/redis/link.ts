/**
 * The connection to Redis: one for commands, one that listens. It comes back by itself, says once when it is lost and
 * once when it is back, and answers LOST in the place of every error. It keeps nothing to be sent later.
 */
import type { Redis, RedisOptions } from "ioredis";
import type { Logger, Random } from "../../plugin/host.ts";
import type { RedisAddress } from "./address.ts";
import type { Script } from "./script.ts";

/** The answer of a server that gave none, or an error. The command may have been executed nevertheless. */
export const LOST: unique symbol = Symbol("lost");

/** How long the server may say nothing at all while it is asked something. */
const SILENCE_MS = 1000;
/** Silence is counted in steps, so that a pause of this process is not taken for one of the server. */
const SILENCE_STEPS = 4;
const CONNECT_TIMEOUT_MS = 2000;
const DISCONNECT_TIMEOUT_MS = 200;
const RETRY_MS = 50;
const RETRY_MS_MAX = 2000;

export interface LinkOptions {
  readonly address: RedisAddress;
  /** KEYS[1] of every script. */
  readonly prefix: string;
  readonly scripts: readonly Script[];
  readonly log: Logger;
  readonly random: Random;
  /** What a lost server means to calls, for the log. */
  readonly whileLost: string;
  /** Default SILENCE_MS. */
  readonly silenceMs?: number;
}

export class RedisLink {
  readonly #options: LinkOptions;
  readonly #client: Redis;
  readonly #listener: Redis;
  readonly #handlers = new Map<string, (message: string) => void>();
  readonly #whenUp: (() => void)[] = [];
  readonly #whenDown: (() => void)[] = [];
  #up = false;
  /** undefined: nothing is wrong. */
  #wrong: string | undefined = "not connected";
  #told = true;
  #closed = false;
  #asked = 0;
  #silentSteps = 0;
  #watch: NodeJS.Timeout | undefined;

  /** `Client`: the class of ioredis. Nothing is connected before `connect`. */
  constructor(Client: typeof Redis, options: LinkOptions) {
    this.#options = options;
    const settings = settingsOf(options);
    this.#client = new Client(settings);
    this.#listener = new Client(settings);
    this.#client.on("ready", () => void this.#begin());
    this.#client.on("error", (error) => this.#fail(reasonOf(error)));
    this.#client.on("close", () => this.#lose());
    // A failure here also occurs there, and is reported there.
    this.#listener.on("error", () => {});
    this.#listener.on("ready", () => void this.#subscribe());
    this.#listener.on("message", (channel, message) => this.#handlers.get(channel)?.(message));
  }

  /** False: nothing is sent, every answer is LOST. */
  get up(): boolean {
    return this.#up;
  }

  /** What is wrong, in few words and without secrets; undefined: nothing. */
  get wrong(): string | undefined {
    return this.#wrong;
  }

  /** `run` is called for each message on `channel`. Before `connect`. */
  listen(channel: string, run: (message: string) => void): void {
    this.#handlers.set(channel, run);
  }

  /** `up` is called whenever the server can be asked again, `down` whenever it no longer can. Before `connect`. */
  onChange(up: () => void, down: () => void): void {
    this.#whenUp.push(up);
    this.#whenDown.push(down);
  }

  /** Resolves after the first attempt, successful or not; further attempts are automatic. */
  async connect(): Promise<void> {
    const first = new Promise<void>((resolve) => {
      this.#whenUp.push(resolve);
      this.#client.once("close", resolve);
    });
    const listening = new Promise<void>((resolve) => {
      this.#listener.once("close", resolve);
      this.#listener.once("ready", () => this.#subscribe().then(resolve));
    });
    this.#client.connect().catch(() => {});
    this.#listener.connect().catch(() => {});
    await Promise.all([first, listening]);
    if (!this.#up) this.#tell(false);
  }

  async run({ sha, lua }: Script, ...args: readonly string[]): Promise<unknown> {
    const { prefix } = this.#options;
    const reply = await this.#ask(() => this.#client.evalsha(sha, 1, prefix, ...args), "NOSCRIPT");
    // The server's scripts have been flushed since they were loaded.
    return reply === UNKNOWN ? this.#ask(() => this.#client.eval(lua, 1, prefix, ...args)) : reply;
  }

  async command(name: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#ask(() => this.#client.call(name, ...args));
  }

  /** What is under way is answered LOST. */
  close(): void {
    this.#closed = true;
    this.#wrong = "closed";
    clearInterval(this.#watch);
    this.#client.disconnect();
    this.#listener.disconnect();
    this.#lose();
  }

  async #ask(send: () => Promise<unknown>, unknown?: string): Promise<unknown> {
    if (!this.#up) return LOST;
    this.#asked += 1;
    this.#watch ??= this.#watchSilence();
    try {
      const reply = await send();
      if (this.#wrong !== undefined && this.#up) this.#recover();
      return reply;
    } catch (error) {
      if (unknown !== undefined && error instanceof Error && error.message.startsWith(unknown))
        return UNKNOWN;
      // A broken connection tells its own reason.
      if (this.#up && isReply(error)) this.#fail(reasonOf(error));
      return LOST;
    } finally {
      this.#asked -= 1;
      this.#silentSteps = 0;
    }
  }

  /** One timer for all requests: a server that is silent for too long is considered lost. */
  #watchSilence(): NodeJS.Timeout {
    const stepMs = (this.#options.silenceMs ?? SILENCE_MS) / SILENCE_STEPS;
    this.#silentSteps = 0;
    return setInterval(() => {
      if (this.#asked === 0) {
        clearInterval(this.#watch);
        this.#watch = undefined;
        return;
      }
      this.#silentSteps += 1;
      if (this.#silentSteps <= SILENCE_STEPS) return;
      this.#silentSteps = 0;
      this.#fail("timed out");
      this.#client.stream?.destroy();
    }, stepMs).unref();
  }

  /** Scripts first: everything asked later comes after them on the same connection. */
  async #begin(): Promise<void> {
    const loads = this.#options.scripts.map(({ lua }) => this.#client.script("LOAD", lua));
    try {
      await Promise.all(loads);
    } catch (error) {
      this.#fail(reasonOf(error));
      this.#client.disconnect(true);
      return;
    }
    if (this.#closed || this.#client.status !== "ready") return;
    this.#up = true;
    this.#recover();
    for (const run of this.#whenUp) run();
  }

  async #subscribe(): Promise<void> {
    if (this.#handlers.size === 0) return;
    await this.#listener.subscribe(...this.#handlers.keys()).catch(() => {});
  }

  #recover(): void {
    this.#wrong = undefined;
    this.#tell(true);
  }

  #fail(reason: string): void {
    if (this.#closed) return;
    // An error without detail often follows one with detail.
    if (reason !== UNTOLD) this.#wrong = reason;
    this.#wrong ??= reason;
    if (this.#up) this.#tell(false);
  }

  #lose(): void {
    if (!this.#up) return;
    this.#up = false;
    this.#wrong ??= "connection closed";
    this.#tell(false);
    for (const run of this.#whenDown) run();
  }

  /** Once a change: a server that is away for an hour is one line, not one a call. */
  #tell(well: boolean): void {
    if (this.#closed || this.#told === well) return;
    this.#told = well;
    const { address, log, whileLost } = this.#options;
    if (well) log.warn({ redis: address.shown }, "redis is back");
    else log.error({ redis: address.shown, reason: this.#wrong }, `redis is lost: ${whileLost}`);
  }
}

const UNKNOWN = Symbol("unknown script");
const UNTOLD = "connection failed";

function settingsOf({ address, random }: LinkOptions): RedisOptions {
  const { shown: _, tls, ...place } = address;
  return {
    ...place,
    ...(tls ? { tls: {} } : {}),
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Its timer may outlive the connection, and keep a process that is done.
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    // What is not answered is lost at once: whether to send it again is for those to say who sent it.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    disableClientInfo: true,
    // A server that became a replica will not take writes again: the address may lead to another by now.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
    retryStrategy: (times) =>
      Math.min(RETRY_MS * 2 ** Math.min(times - 1, 10), RETRY_MS_MAX) * (0.5 + random.fraction() / 2),
  };
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ENOTFOUND: "unknown host",
  ENOENT: "no such socket",
  ETIMEDOUT: "timed out",
};

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === "ReplyError";
}

/** Only the first word of the server's error, e.g. `OOM`: the rest may quote what it was asked. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const code = "code" in error ? String(error.code) : "";
  // Codes of TLS, say, are constants and name no secret.
  if (code !== "") return REASONS[code] ?? `${UNTOLD}: ${code}`;
  const word = /\b(?:ERR|[A-Z]{3,})\b/.exec(error.message)?.[0];
  return word === undefined ? UNTOLD : `answers ${word}`;
}
