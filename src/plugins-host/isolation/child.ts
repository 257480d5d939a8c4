/**
 * The other side of guardrail-process.ts: sets one guardrail up in this process and judges what the gateway sends. The
 * process ends with its channel, and with the gateway.
 */
import { Socket } from "node:net";
import { Worker } from "node:worker_threads";
import type { Plugin } from "../../plugin/contract.ts";
import type { Guardrail, Host, MaybePromise, Verdict } from "../../plugin/index.ts";
import { isPromise } from "../../plugin/index.ts";
import { CHANNEL_FD, Channel } from "./channel.ts";
import { childHost, HostLine } from "./child-host.ts";
import {
  type ChildMessage,
  type GatewayMessage,
  type GuardrailSource,
  readChildMessage,
  TEXT_CHARACTERS_MAX,
} from "./messages.ts";
import { aboutFrom, type PlainAbout, plainVerdict } from "./plain-values.ts";

const SECOND_MS = 1000;
/** Time for the last message to be written. */
const LAST_MESSAGE_MS = 200;

/** What the process needs of the gateway's own modules. */
export interface ChildParts {
  plugins(module: GuardrailSource["module"]): Promise<readonly Plugin[]>;
  readonly schemas: Host["schemas"];
}

/** Runs until the process ends. */
export function serveGuardrail(parts: ChildParts): void {
  // Kept before any plugin can replace it.
  const { pid } = process;
  const kill = process.kill.bind(process);
  const endNow = (): void => void kill(pid, "SIGKILL");
  for (const name of Object.keys(process.env)) delete process.env[name];
  // A terminal sends these to the gateway's processes too; the gateway decides when this one ends.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
  const socket = new Socket({ fd: CHANNEL_FD, readable: true, writable: true });
  socket.once("close", endNow).on("error", endNow);
  const channel: Channel<ChildMessage> = new Channel("child", socket, {
    // The gateway sends nothing else.
    received: (message) => served.received(message as GatewayMessage),
    failed: (thrown) => served.dies(thrown),
  });
  const served = new ServedGuardrail(parts, channel, endNow);
  process.on("uncaughtException", (thrown) => served.dies(thrown));
}

class ServedGuardrail {
  readonly #parts: ChildParts;
  readonly #channel: Channel<ChildMessage>;
  readonly #endNow: () => void;
  readonly #line = new HostLine((message) => this.#channel.post(message));
  #guardrail: Guardrail | undefined;

  constructor(parts: ChildParts, channel: Channel<ChildMessage>, endNow: () => void) {
    this.#parts = parts;
    this.#channel = channel;
    this.#endNow = endNow;
  }

  received(message: GatewayMessage): void {
    if (message.kind === "start") {
      endWithParent(message.gatewayPid);
      void this.#start(message.source);
    } else if (message.kind === "judge") this.#judge(message.number, message.text, message.about);
    else if (message.kind === "reply") this.#line.replied(message.number, message.value);
    else void this.#close();
  }

  /** After an uncaught error the state of the process is unknown. */
  dies(thrown: unknown): void {
    setTimeout(this.#endNow, LAST_MESSAGE_MS);
    this.#channel.post({ kind: "dying", message: messageOf(thrown) });
    this.#channel.end(this.#endNow);
  }

  async #start(source: GuardrailSource): Promise<void> {
    try {
      const guardrail = await this.#setUp(source);
      const { window = "whole", subject = "text", cacheable = true, joinsTexts = false } = guardrail;
      const ready: ChildMessage = { kind: "ready", window, subject, cacheable, joinsTexts };
      if (typeof guardrail.judge !== "function" || readChildMessage(ready) === undefined) {
        throw new Error("`setup` did not return a guardrail: `judge` or one of its traits is wrong");
      }
      this.#guardrail = guardrail;
      setInterval(() => this.#line.secondPassed(), SECOND_MS);
      this.#channel.post(ready);
    } catch (thrown) {
      this.#channel.post({ kind: "unusable", message: messageOf(thrown) });
    }
  }

  async #setUp({ module, name, options }: GuardrailSource): Promise<Guardrail> {
    const plugins = await this.#parts.plugins(module);
    const plugin = plugins.find((one) => one.kind === "guardrail" && one.name === name);
    if (plugin?.kind !== "guardrail") throw new Error(`its module has no guardrail '${name}'`);
    // The options were checked against this plugin's own schema, which is what its type stands for.
    return plugin.setup(options as never, childHost(name, this.#line, this.#parts.schemas));
  }

  #judge(number: number, text: string, about: PlainAbout): void {
    this.#channel.post({ kind: "begun", number });
    this.#line.judgementBegins();
    let verdict: MaybePromise<Verdict> | undefined;
    try {
      verdict = this.#guardrail?.judge(text, aboutFrom(about));
    } catch (thrown) {
      return this.#failed(number, thrown);
    }
    if (!isPromise(verdict)) return this.#judged(number, verdict);
    verdict.then(
      (settled) => this.#judged(number, settled),
      (thrown: unknown) => this.#failed(number, thrown),
    );
  }

  #judged(number: number, verdict: unknown): void {
    try {
      this.#channel.post({ kind: "judged", number, verdict: plainVerdict(verdict) });
    } catch (thrown) {
      this.#failed(number, thrown);
    }
  }

  #failed(number: number, thrown: unknown): void {
    this.#channel.post({ kind: "failed", number, message: messageOf(thrown) });
  }

  async #close(): Promise<void> {
    try {
      await this.#guardrail?.close?.();
    } finally {
      this.#endNow();
    }
  }
}

function messageOf(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.slice(0, TEXT_CHARACTERS_MAX);
}

/**
 * The end of the channel ends a process that reads it. One that is blocked does not, so a thread looks whether the
 * gateway is still the parent.
 */
function endWithParent(gatewayPid: number): void {
  const source = `const { workerData } = require("node:worker_threads");
setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, "SIGKILL");
}, ${SECOND_MS});`;
  const watchdog = new Worker(source, {
    eval: true,
    env: {},
    execArgv: [],
    workerData: gatewayPid,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 },
  });
  watchdog.unref();
}
