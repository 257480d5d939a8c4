/**
 * `isolate: true`: a guardrail in a process of its own. A fault there (an endless loop, an exit, a leak) costs the
 * judgement that it happens in; the process is replaced, and the judgements behind it are repeated. The gateway only
 * waits for messages, so that other calls are not affected.
 */
import type { Timer } from "../../plugin/host.ts";
import type { Clock, Guardrail, Host, TextAbout, Verdict } from "../../plugin/index.ts";
import { GuardrailProcess, runningProcesses } from "./guardrail-process.ts";
import { HostAccess } from "./host-access.ts";
import type { ChildMessage, GuardrailSource, GuardrailTraits } from "./messages.ts";
import { plainAbout, verdictFrom } from "./plain-values.ts";

/** Judgements of one guardrail that are open, waiting ones included. */
const OPEN_MAX = 1000;
/** Those that the process is working on, and their characters (a longer text is handed over alone). */
const HANDED_MAX = 100;
const HANDED_CHARACTERS_MAX = 8_000_000;
/** Of all guardrails and generations. */
const PROCESSES_MAX = 128;
/** Starting the process, loading the module and `setup`. */
const START_TIMEOUT_MS = 10_000;
/** How long a judgement waits for its turn, or for a process. */
const WAIT_MS = 10_000;
/** Before the second restart without a verdict in between; doubled with each. The first one is immediate. */
const RESTART_MS = 50;
const RESTART_MAX_MS = 10_000;
/** Judgements do not wait for a restart that is further away: they fail at once. */
const RESTART_AWAITED_MS = 1000;
/** A judgement that had begun when its process died is repeated once, one that had not three times. */
const STRIKES = { begun: 2, waiting: 1, out: 4 };

export interface Isolation {
  /** The module that the process runs. */
  readonly entry: URL;
  readonly source: GuardrailSource;
  /** Of one judgement, from its begin in the process. */
  readonly timeoutMs: number;
  /** What a judgement that takes longer rejects with. */
  readonly deadlineError: (timeoutMs: number) => Error;
  readonly host: Host;
  readonly clock: Clock;
}

/** Resolves when the guardrail is set up. Rejects with the author's message when it cannot be. */
export function isolated(isolation: Isolation): Promise<Guardrail> {
  return new Promise((resolve, reject) => {
    if (runningProcesses() >= PROCESSES_MAX) {
      reject(new Error(`more than ${PROCESSES_MAX} different uses with \`isolate\``));
    } else new IsolatedGuardrail(isolation, resolve, reject).begin();
  });
}

interface Judgement {
  /** Its number with the process that it was handed to. */
  number: number;
  readonly text: string;
  readonly about: TextAbout;
  readonly settle: (verdict: Verdict) => void;
  readonly fail: (error: Error) => void;
  /** Of the wait, and then of the judgement. */
  timer: Timer | undefined;
  hasBegun: boolean;
  readonly askedAtMs: number;
  strikes: number;
}

class IsolatedGuardrail implements Guardrail {
  window: number | "whole" = "whole";
  subject: GuardrailTraits["subject"] = "text";
  cacheable = true;
  joinsTexts = false;
  readonly #isolation: Isolation;
  readonly #clock: Clock;
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
  #number = 0;
  #waiting: Judgement[] = [];
  /** Handed to the process, in that order. */
  readonly #handed = new Map<number, Judgement>();
  #handedCharacters = 0;
  #receivedAtMs = 0;

  constructor(
    isolation: Isolation,
    onReady: (guardrail: Guardrail) => void,
    onUnusable: (error: Error) => void,
  ) {
    this.#isolation = isolation;
    this.#clock = isolation.clock;
    this.#access = new HostAccess(isolation.host);
    this.#onReady = onReady;
    this.#onUnusable = onUnusable;
  }

  judge(text: string, about: TextAbout): Promise<Verdict> {
    if (this.#isClosed || this.#down !== undefined) {
      return Promise.reject(new Error(this.#down ?? "it has been closed"));
    }
    if (this.#waiting.length + this.#handed.size >= OPEN_MAX) {
      return Promise.reject(new Error(`${OPEN_MAX} judgements are open`));
    }
    return new Promise((settle, fail) => {
      const judgement: Judgement = {
        ...{ number: 0, text, about, settle, fail, timer: undefined },
        ...{ hasBegun: false, askedAtMs: this.#clock.monotonicMs(), strikes: 0 },
      };
      this.#wait(judgement);
      this.#handOut();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#startTimer?.cancel();
    this.#failAll("it has been closed");
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
    this.#startTimer = this.#clock.after(START_TIMEOUT_MS, () => {
      this.#replace(`it was not set up within ${START_TIMEOUT_MS} ms`);
    });
  }

  #received(message: ChildMessage): void {
    this.#receivedAtMs = this.#clock.monotonicMs();
    switch (message.kind) {
      case "ready":
        this.#started(message);
        break;
      case "unusable":
        if (!this.#isReady) this.#replace(message.message);
        break;
      case "begun":
        this.#begun(message.number);
        break;
      case "judged":
      case "failed":
        this.#judged(message);
        break;
      case "ask": {
        const { number } = message;
        const asker = this.#process;
        this.#access.ask(message, (value) => {
          if (this.#process !== asker || asker === undefined) return;
          if (!asker.post({ kind: "reply", number, value }))
            asker.post({ kind: "reply", number, value: undefined });
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
    this.#handOut();
  }

  #wait(judgement: Judgement): void {
    const leftMs = Math.max(0, judgement.askedAtMs + WAIT_MS - this.#clock.monotonicMs());
    judgement.timer = this.#clock.after(leftMs, () => {
      this.#waiting = this.#waiting.filter((one) => one !== judgement);
      judgement.fail(new Error(`its process was busy for ${WAIT_MS} ms`));
    });
    this.#waiting.push(judgement);
  }

  #handOut(): void {
    while (this.#isReady && this.#handed.size < HANDED_MAX) {
      const next = this.#waiting[0];
      if (next === undefined) return;
      if (this.#handed.size > 0 && this.#handedCharacters + next.text.length > HANDED_CHARACTERS_MAX) return;
      this.#waiting.shift();
      this.#hand(next);
    }
  }

  #hand(judgement: Judgement): void {
    const { text, about } = judgement;
    judgement.number = ++this.#number;
    judgement.hasBegun = false;
    this.#limit(judgement, this.#isolation.timeoutMs);
    this.#handed.set(judgement.number, judgement);
    this.#handedCharacters += text.length;
    this.#process?.setBusy(true);
    const { number } = judgement;
    if (this.#process?.post({ kind: "judge", number, text, about: plainAbout(about) }) === false) {
      this.#take(number)?.fail(new Error("the text is too long for an isolated guardrail"));
    }
  }

  #limit(judgement: Judgement, timeoutMs: number): void {
    judgement.timer?.cancel();
    judgement.timer = this.#clock.after(timeoutMs, () => {
      // After what has arrived meanwhile has been read: the gateway itself may have been busy.
      setImmediate(() => this.#overdue(judgement));
    });
  }

  #begun(number: number): void {
    const judgement = this.#handed.get(number);
    if (judgement === undefined || judgement.hasBegun) return this.#access.stray();
    this.#access.begun();
    judgement.hasBegun = true;
    this.#limit(judgement, this.#isolation.timeoutMs);
  }

  #judged(message: Extract<ChildMessage, { kind: "judged" | "failed" }>): void {
    const judgement = this.#take(message.number);
    // One that came too late, or that nobody asked for.
    if (judgement === undefined) return this.#access.stray();
    this.#deaths = 0;
    if (message.kind === "failed") judgement.fail(new Error(message.message));
    else {
      try {
        judgement.settle(verdictFrom(message.verdict));
      } catch (thrown) {
        judgement.fail(thrown instanceof Error ? thrown : new Error(String(thrown)));
      }
    }
    this.#handOut();
  }

  /** Ends the judgement of that number. */
  #take(number: number): Judgement | undefined {
    const judgement = this.#handed.get(number);
    if (judgement === undefined) return undefined;
    judgement.timer?.cancel();
    this.#handed.delete(number);
    this.#handedCharacters -= judgement.text.length;
    if (this.#handed.size === 0) this.#process?.setBusy(false);
    return judgement;
  }

  /** The judgement that blocks a silent process: of those that have begun, the last one. */
  #suspect(): Judgement | undefined {
    return [...this.#handed.values()].findLast(({ hasBegun }) => hasBegun);
  }

  /**
   * A judgement has had its time. When the process still answers others, only this one fails. When it is silent it is
   * blocked: by the judgement that began last, which fails, while those behind it are repeated in the next process.
   */
  #overdue(judgement: Judgement): void {
    if (this.#handed.get(judgement.number) !== judgement) return;
    const { timeoutMs, deadlineError } = this.#isolation;
    const nowMs = this.#clock.monotonicMs();
    const isSilent = nowMs - this.#receivedAtMs >= timeoutMs / 2;
    const suspect = this.#suspect();
    if (judgement.hasBegun && (judgement === suspect || !isSilent)) {
      this.#take(judgement.number)?.fail(deadlineError(timeoutMs));
      if (isSilent) this.#replace(`no verdict within ${timeoutMs} ms`);
      else this.#handOut();
    } else if (isSilent && suspect === undefined) {
      this.#replace(`its process did not respond for ${timeoutMs} ms`);
    } else if (nowMs - judgement.askedAtMs >= WAIT_MS + timeoutMs) {
      this.#take(judgement.number)?.fail(new Error(`its process was busy for ${WAIT_MS} ms`));
      this.#handOut();
    } else this.#limit(judgement, timeoutMs / 2);
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
    this.#sortOut(reason);
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

  /** The judgement that the process died of fails; the others wait for the next process. */
  #sortOut(reason: string): void {
    const suspect = this.#suspect();
    const repeated: Judgement[] = [];
    for (const judgement of [...this.#handed.values()]) {
      this.#take(judgement.number);
      judgement.strikes += judgement.hasBegun ? STRIKES.begun : STRIKES.waiting;
      if (judgement === suspect || judgement.strikes >= STRIKES.out) judgement.fail(new Error(reason));
      else repeated.push(judgement);
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const judgement of repeated) this.#wait(judgement);
    this.#waiting.push(...waiting);
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
    this.#startTimer = this.#clock.after(delayMs, () => this.begin());
  }

  #goDown(reason: string): void {
    this.#down = reason;
    this.#failAll(reason);
  }

  #failAll(reason: string): void {
    for (const number of [...this.#handed.keys()]) this.#take(number)?.fail(new Error(reason));
    for (const judgement of this.#waiting.splice(0)) {
      judgement.timer?.cancel();
      judgement.fail(new Error(reason));
    }
  }
}
