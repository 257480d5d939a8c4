/**
 * `isolate: true`: a guardrail in a process of its own. A fault there (an endless loop, an exit, a leak) costs the
 * judgement that it happens in; the process is replaced, and the judgements behind it are repeated. The gateway only
 * waits for messages, so that other calls are not affected.
 */
import type { Timer } from "../../plugin/host.ts";
import type { Guardrail, Host, TextContext, Verdict } from "../../plugin/index.ts";
import { GuardrailProcess, runningProcesses } from "./guardrail-process.ts";
import { HostAccess } from "./host-access.ts";
import { type JudgementLimits, JudgementQueue } from "./judgement-queue.ts";
import type { ChildMessage, GuardrailSource, GuardrailTraits } from "./messages.ts";
import { plainAbout, verdictFrom } from "./plain-values.ts";

/** Of all guardrails and generations. */
const PROCESSES_MAX = 128;
/** Starting the process, loading the module and `setup`. */
const START_TIMEOUT_MS = 10_000;
/** Before the second restart without a verdict in between; doubled with each. The first one is immediate. */
const RESTART_MS = 50;
const RESTART_MAX_MS = 10_000;
/** Judgements do not wait for a restart that is further away: they fail at once. */
const RESTART_AWAITED_MS = 1000;

export interface Isolation extends JudgementLimits {
  /** The module that the process runs. */
  readonly entry: URL;
  readonly source: GuardrailSource;
  readonly host: Host;
}

/** Resolves when the guardrail is set up. Rejects with the author's message when it cannot be. */
export function isolated(isolation: Isolation): Promise<Guardrail> {
  return new Promise((resolve, reject) => {
    if (runningProcesses() >= PROCESSES_MAX) {
      reject(new Error(`more than ${PROCESSES_MAX} different uses with \`isolate\``));
    } else new IsolatedGuardrail(isolation, resolve, reject).begin();
  });
}

class IsolatedGuardrail implements Guardrail {
  window: number | "whole" = "whole";
  subject: GuardrailTraits["subject"] = "text";
  cacheable = true;
  joinsTexts = false;
  readonly #isolation: Isolation;
  readonly #access: HostAccess;
  readonly #onReady: (guardrail: Guardrail) => void;
  /** Until the first process is ready. */
  #onUnusable: ((error: Error) => void) | undefined;
  #process: GuardrailProcess | undefined;
  /** Killed ones; `close` waits for their end. */
  readonly #ending = new Set<Promise<void>>();
  #isReady = false;
  #startTimer: Timer | undefined;
  /** Why judgements fail at once; undefined: there is a process, or there will be one soon. */
  #down: string | undefined;
  /** Deaths since the last verdict. */
  #deaths = 0;
  #isClosed = false;
  readonly #queue: JudgementQueue;

  constructor(
    isolation: Isolation,
    onReady: (guardrail: Guardrail) => void,
    onUnusable: (error: Error) => void,
  ) {
    this.#isolation = isolation;
    this.#access = new HostAccess(isolation.host);
    this.#onReady = onReady;
    this.#onUnusable = onUnusable;
    this.#queue = new JudgementQueue(isolation, {
      isReady: () => this.#isReady,
      judge: (number, text, about) =>
        this.#process?.post({ kind: "judge", number, text, about: plainAbout(about) }) !== false,
      setBusy: (isBusy) => this.#process?.setBusy(isBusy),
      replace: (reason) => this.#replace(reason),
    });
  }

  judge(text: string, about: TextContext): Promise<Verdict> {
    if (this.#isClosed || this.#down !== undefined) {
      return Promise.reject(new Error(this.#down ?? "it has been closed"));
    }
    return this.#queue.add(text, about);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#startTimer?.cancel();
    this.#queue.failAll("it has been closed");
    const last = this.#process;
    this.#process = undefined;
    await Promise.all([last?.close(), ...this.#ending]);
  }

  begin(): void {
    const { entry, source } = this.#isolation;
    this.#access.started();
    const started: GuardrailProcess = new GuardrailProcess(entry, source, {
      received: (message) => {
        if (this.#process === started) this.#received(message);
      },
      died: (reason) => {
        if (this.#process === started) this.#replace(reason);
      },
    });
    this.#process = started;
    this.#startTimer = this.#isolation.clock.after(START_TIMEOUT_MS, () => {
      this.#replace(`it was not set up within ${START_TIMEOUT_MS} ms`);
    });
  }

  #received(message: ChildMessage): void {
    this.#queue.received();
    switch (message.kind) {
      case "ready":
        this.#started(message);
        break;
      case "unusable":
        if (!this.#isReady) this.#replace(message.message);
        break;
      case "begun":
        if (this.#queue.begin(message.number)) this.#access.begun();
        else this.#access.stray();
        break;
      case "judged":
      case "failed":
        this.#ended(message);
        break;
      case "ask": {
        const { number } = message;
        const sender = this.#process;
        this.#access.ask(message, (value) => {
          if (this.#process !== sender || sender === undefined) return;
          if (!sender.post({ kind: "reply", number, value }))
            sender.post({ kind: "reply", number, value: undefined });
        });
        break;
      }
      case "log":
        this.#access.log(message);
        break;
      case "measure":
        this.#access.measure(message);
        break;
      default:
      // "dying": the process's end follows.
    }
    if (this.#access.isFlooded) this.#replace("its process sends more messages than it may");
  }

  #started({ window, subject, cacheable, joinsTexts }: GuardrailTraits): void {
    if (this.#isReady) return this.#access.stray();
    this.#startTimer?.cancel();
    this.#process?.setBusy(false);
    this.#isReady = true;
    this.#down = undefined;
    this.#onUnusable = undefined;
    this.window = window;
    this.subject = subject;
    this.cacheable = cacheable;
    this.joinsTexts = joinsTexts;
    this.#onReady(this);
    this.#queue.handOut();
  }

  #ended(message: Extract<ChildMessage, { kind: "judged" | "failed" }>): void {
    const isOpen = this.#queue.end(message.number, () => {
      if (message.kind === "failed") throw new Error(message.message);
      return verdictFrom(message.verdict);
    });
    if (isOpen) this.#deaths = 0;
    // It is too late, or was not requested.
    else this.#access.stray();
  }

  /** Ends the process at once and starts another one. */
  #replace(reason: string): void {
    const last = this.#process;
    this.#process = undefined;
    this.#startTimer?.cancel();
    if (last !== undefined) this.#end(last);
    if (!this.#isReady) return this.#unstarted(reason);
    this.#isReady = false;
    this.#deaths++;
    this.#queue.release(reason);
    const { host, source } = this.#isolation;
    host.log.warn(
      { guardrail: source.name, reason },
      "the process of an isolated guardrail ended and is replaced",
    );
    this.#restart(reason);
  }

  #end(last: GuardrailProcess): void {
    last.kill();
    const ended = last.close();
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  /** `setup` failed: at load that rejects the configuration; later, judgements fail until it succeeds. */
  #unstarted(reason: string): void {
    if (this.#onUnusable !== undefined) return this.#onUnusable(new Error(reason));
    this.#deaths++;
    const { host, source } = this.#isolation;
    host.log.error(
      { guardrail: source.name, reason },
      "the process of an isolated guardrail could not be started",
    );
    this.#goDown(reason);
    this.#restart(reason);
  }

  #restart(reason: string): void {
    if (this.#isClosed) return;
    if (this.#deaths <= 1) return this.begin();
    const delayMs = Math.min(RESTART_MAX_MS, RESTART_MS * 2 ** (this.#deaths - 2));
    if (delayMs > RESTART_AWAITED_MS) this.#goDown(reason);
    this.#startTimer = this.#isolation.clock.after(delayMs, () => this.begin());
  }

  #goDown(reason: string): void {
    this.#down = reason;
    this.#queue.failAll(reason);
  }
}
