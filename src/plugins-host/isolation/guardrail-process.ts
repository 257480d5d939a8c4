/**
 * One process of an isolated guardrail, from start to exit: channel, memory limit, reason of the exit. Has no queue and
 * no deadlines: those are in isolated-guardrail.ts.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { entryOf } from "../../base/thread.ts";
import { CHANNEL_FD, Channel } from "./channel.ts";
import {
  type ChildMessage,
  type GatewayMessage,
  type GuardrailSource,
  readChildMessage,
} from "./messages.ts";
import { residentBytes } from "./resident-memory.ts";

const MEGABYTE = 1_048_576;
/** JavaScript objects that the process may hold. V8 ends the process beyond it. */
const HEAP_MEGABYTES_MAX = 128;
/** The whole process: Node.js itself (some 60 MB, 150 MB when it runs TypeScript), heap and buffers. */
const RESIDENT_BYTES_MAX = 384 * MEGABYTE;
/** Between two checks of the memory, while a judgement is open and while none is. */
const WATCH_BUSY_MS = 25;
const WATCH_IDLE_MS = 1000;
/** The guardrail's `close`. */
const CLOSE_MS = 1000;
/** Between the end of a process and that of its channel, for what it sent last. */
const LAST_MESSAGES_MS = 250;

/** After `died`, or after `kill` and `close`, there are no further events. */
export interface ProcessEvents {
  received(message: ChildMessage): void;
  died(reason: string): void;
}

/** Processes that have not ended, of all guardrails. */
let running = 0;

export function runningProcesses(): number {
  return running;
}

export class GuardrailProcess {
  readonly #child: ChildProcess;
  readonly #socket: Socket;
  readonly #channel: Channel<GatewayMessage>;
  readonly #events: ProcessEvents;
  /** Real time, since memory grows in real time, whatever clock calls run on. */
  #watch: NodeJS.Timeout | undefined;
  #isBusy = true;
  #isOver = false;
  /** The cause of its exit, as the process reported it. */
  #exitCause: string | undefined;

  /** `entry`: the module that the process runs; see `entryOf`. */
  constructor(entry: URL, source: GuardrailSource, events: ProcessEvents) {
    this.#events = events;
    this.#child = spawn(process.execPath, commandLine(entry), {
      // It holds secrets of others.
      env: {},
      // No descriptor but the channel: neither the gateway's output nor its sockets and files.
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      windowsHide: true,
    });
    running++;
    let isRunning = true;
    const ended = (): void => {
      if (isRunning) running--;
      isRunning = false;
    };
    this.#child.once("exit", (code, signal) => {
      ended();
      this.#exited(code, signal);
    });
    this.#child.once("error", (error) => {
      if (this.#child.pid === undefined) ended();
      this.#die(`its process could not be started: ${error.message}`);
    });
    const socket = this.#child.stdio[CHANNEL_FD];
    // Without descriptors left there is no channel, and "error" follows.
    this.#socket = socket instanceof Socket ? socket : new Socket();
    this.#channel = new Channel("gateway", this.#socket, {
      received: (message) => this.#received(message),
      failed: () => this.#die("its process sent bytes that are not a message"),
    });
    // Writing to a process that has just ended; its exit is what counts.
    this.#socket.on("error", () => undefined);
    this.#socket.once("close", () => this.#endsSoon("its process closed its channel"));
    this.#watchAfter(WATCH_BUSY_MS);
    this.post({ kind: "start", source, gatewayPid: process.pid });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** False: the message is too long for the channel. */
  post(message: GatewayMessage): boolean {
    try {
      this.#channel.post(message);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * While judgements are open, and during setup, the memory is checked more often and the process keeps the gateway
   * alive.
   */
  setBusy(isBusy: boolean): void {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    if (isBusy) this.#watchAfter(WATCH_BUSY_MS);
    for (const handle of [this.#child, this.#socket]) isBusy ? handle.ref() : handle.unref();
  }

  /** Ends it at once, whatever it is doing. */
  kill(): void {
    this.#isOver = true;
    clearTimeout(this.#watch);
    this.#child.kill("SIGKILL");
    this.#socket.destroy();
  }

  /** Closes the guardrail, and resolves when the process has ended. */
  async close(): Promise<void> {
    if (this.#isOver) return this.#exit();
    this.#isOver = true;
    this.#child.ref();
    this.post({ kind: "close" });
    const late = setTimeout(() => this.kill(), CLOSE_MS);
    await this.#exit();
    clearTimeout(late);
    this.kill();
  }

  async #exit(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    this.#child.ref();
    await new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
  }

  #received(value: unknown): void {
    if (this.#isOver) return;
    const message = readChildMessage(value);
    if (message === undefined) this.#die("its process sent an invalid message");
    else if (message.kind === "dying") this.#exitCause = message.message;
    else this.#events.received(message);
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    const how = signal === null ? `exited with code ${code}` : `ended by ${signal}`;
    const aborted = signal === "SIGABRT" || signal === "SIGTRAP" || code === 134;
    const hint = aborted ? `, after an abort or at its heap limit of ${HEAP_MEGABYTES_MAX} MB` : "";
    this.#endsSoon(`its process ${how}${hint}`);
  }

  /** Waits for messages that the process sent before it ended. */
  #endsSoon(reason: string): void {
    if (this.#isOver) return;
    if (this.#channel.isOver) {
      // The exit is known a moment after the channel's end, and has more detail.
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        return this.#die(this.#exitCause ?? reason);
      }
    }
    setTimeout(() => this.#die(this.#exitCause ?? reason), LAST_MESSAGES_MS).unref();
  }

  #die(reason: string): void {
    if (this.#isOver) return;
    this.kill();
    this.#events.died(reason);
  }

  #watchAfter(delayMs: number): void {
    clearTimeout(this.#watch);
    if (this.#isOver) return;
    this.#watch = setTimeout(() => void this.#checkMemory(), delayMs).unref();
  }

  async #checkMemory(): Promise<void> {
    const { pid } = this.#child;
    const bytes = pid === undefined || this.#isOver ? undefined : await residentBytes(pid);
    if (bytes !== undefined && bytes > RESIDENT_BYTES_MAX) {
      const megabytes = Math.round(bytes / MEGABYTE);
      return this.#die(
        `its process takes ${megabytes} MB of memory, over its limit of ${RESIDENT_BYTES_MAX / MEGABYTE} MB`,
      );
    }
    this.#watchAfter(this.#isBusy ? WATCH_BUSY_MS : WATCH_IDLE_MS);
  }
}

/** The module that the process of an isolated guardrail runs. */
export const ISOLATED_CHILD = new URL("./isolated-child.ts", import.meta.url);

/** Secrets are in the first message, and not here: every user of the machine can list command lines. */
function commandLine(source: URL): string[] {
  const { url, options } = entryOf(source);
  const limits = [`--max-old-space-size=${HEAP_MEGABYTES_MAX}`, "--max-semi-space-size=16"];
  return [...limits, ...options, fileURLToPath(url)];
}
