/**
 * A load at a fixed rate, whatever the target makes of it: calls become due with the clock, and how late each answer is
 * counts from then, so that a target that falls behind cannot hide it. Loopback only.
 */
import { connect, type Socket } from "node:net";
import { ResponseReader } from "./response-reader.ts";

export interface SteadyPlan {
  readonly port: number;
  /** A whole HTTP/1.1 request as bytes. */
  readonly request: Buffer;
  readonly callsPerSecond: number;
  readonly connections: number;
  /** What each answer must be. */
  readonly status: number;
  /** Numbers from 0 to 1, which make arrivals a Poisson process: independent of each other. Default: evenly spaced. */
  readonly random?: () => number;
}

/** Calls that are due are sent together. Timers are not finer than 1 ms, and a coarse one costs less. */
const TICK_MS = { evenly: 4, random: 1 };
const READ_BUFFER = Buffer.alloc(65_536);

export class SteadyLoad {
  /** How late each answer came, since the latest `begin`. */
  latenciesMs: number[] = [];
  /** What went wrong first; "" while nothing has. */
  failure = "";
  readonly #plan: SteadyPlan;
  /** In turn, so that no connection is idle for long enough to be closed. */
  readonly #free: Client[] = [];
  readonly #clients: Client[];
  readonly #timer: NodeJS.Timeout;
  /** When calls that wait for a connection were due, from `#next` on. */
  #due: number[] = [];
  #next = 0;
  /** When the next call is due. */
  #nextDueMs: number;

  constructor(plan: SteadyPlan) {
    this.#plan = plan;
    this.#clients = Array.from({ length: plan.connections }, () => new Client(plan, this));
    this.#nextDueMs = performance.now();
    const tickMs = plan.random === undefined ? TICK_MS.evenly : TICK_MS.random;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** A window begins. */
  begin(): void {
    this.latenciesMs = [];
  }

  close(): void {
    clearInterval(this.#timer);
    for (const client of this.#clients) client.socket.destroy();
  }

  /** A connection can take the next call. */
  isFree(client: Client): void {
    const dueMs = this.#due[this.#next];
    if (dueMs === undefined) {
      this.#free.push(client);
      return;
    }
    this.#next++;
    client.call(dueMs);
  }

  fail(reason: string): void {
    if (this.failure === "") this.failure = reason;
    this.close();
  }

  #tick(): void {
    const nowMs = performance.now();
    this.#due = this.#due.slice(this.#next);
    this.#next = 0;
    while (this.#nextDueMs <= nowMs) {
      const client = this.#free.shift();
      if (client === undefined) this.#due.push(this.#nextDueMs);
      else client.call(this.#nextDueMs);
      this.#nextDueMs += this.#gapMs();
    }
  }

  #gapMs(): number {
    const { callsPerSecond, random } = this.#plan;
    const meanMs = 1000 / callsPerSecond;
    return random === undefined ? meanMs : -Math.log(1 - random()) * meanMs;
  }
}

class Client {
  readonly socket: Socket;
  readonly #plan: SteadyPlan;
  readonly #load: SteadyLoad;
  readonly #reader = new ResponseReader();
  #dueMs = 0;

  constructor(plan: SteadyPlan, load: SteadyLoad) {
    this.#plan = plan;
    this.#load = load;
    const onread = { buffer: READ_BUFFER, callback: (length: number) => this.#read(length) };
    this.socket = connect({ host: "127.0.0.1", port: plan.port, noDelay: true, onread });
    this.socket.on("connect", () => load.isFree(this));
    this.socket.on("error", (error) => load.fail(error.message));
    this.socket.on("end", () => load.fail("the connection closed"));
  }

  call(dueMs: number): void {
    this.#dueMs = dueMs;
    this.socket.write(this.#plan.request);
  }

  #read(length: number): boolean {
    const reader = this.#reader;
    if (!reader.push(READ_BUFFER, length)) return true;
    const { status, malformed, excerpt } = reader;
    reader.reset();
    this.#load.latenciesMs.push(performance.now() - this.#dueMs);
    if (malformed || status !== this.#plan.status) this.#load.fail(`${status} ${excerpt}`);
    else this.#load.isFree(this);
    return true;
  }
}
