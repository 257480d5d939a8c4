/**
 * `isolate: true`: a guardrail in a worker thread of its own. What goes wrong there (an endless loop, a crash, a leak)
 * costs the call it goes wrong for; the thread is replaced, and calls that waited behind it are asked again. The
 * gateway's own thread does nothing but wait, so other calls feel none of it.
 */
import type { Clock, Guardrail, Host, TextAbout, Timer, Verdict } from "../plugin/index.ts";
import { DeadlineError } from "./guardrail-judge.ts";
import { type FromThread, plainAbout, type ThreadStart, verdictFrom } from "./isolate-messages.ts";
import { GuardThread } from "./isolate-thread.ts";

/** Judgements open or waiting, of one guardrail. */
const OPEN_MAX = 1000;
/** Threads of the process, of all generations. */
const THREADS_MAX = 128;
/** Loading the module and `setup`; calls that come meanwhile wait as long. */
const START_TIMEOUT_MS = 10_000;
/** Between the second death in a row and the next start; doubled with each. */
const RESTART_MS = 50;
const RESTART_MAX_MS = 10_000;
/** A judgement that had begun when its thread died is asked once more, one that had not three times. */
const STRIKES = { begun: 2, waiting: 1, out: 4 };

export interface Isolation {
  /** Which guardrail, from where, with which options. */
  readonly start: Omit<ThreadStart, "begun" | "heldBytesMax">;
  readonly timeoutMs: number;
  readonly host: Host;
  readonly clock: Clock;
}

/** Rejects with the author's message when the guardrail cannot be set up. */
export function isolated(isolation: Isolation): Promise<Guardrail> {
  return new Promise((resolve, fail) => {
    if (threads >= THREADS_MAX) {
      fail(new Error(`more than ${THREADS_MAX} different uses with \`isolate\``));
    } else new IsolatedGuardrail(isolation, resolve, fail).begin();
  });
}

let threads = 0;

interface Judgement {
  /** Its number with the thread that it was handed to. */
  number: number;
  readonly text: string;
  readonly about: TextAbout;
  readonly settle: (verdict: Verdict) => void;
  readonly fail: (error: Error) => void;
  timer: Timer | undefined;
  strikes: number;
}

class IsolatedGuardrail implements Guardrail {
  window: number | "whole" = "whole";
  subject: NonNullable<Guardrail["subject"]> = "text";
  cacheable = true;
  joinsTexts = false;
  readonly #isolation: Isolation;
  readonly #clock: Clock;
  #isReady: (guardrail: Guardrail) => void;
  #isUnusable: ((error: Error) => void) | undefined;
  #thread: GuardThread | undefined;
  /** The thread has said that it is ready. */
  #ready = false;
  #startTimer: Timer | undefined;
  /** Why no thread can be had; undefined: there is one, or one is on its way. */
  #down: string | undefined;
  /** Deaths since the last verdict. */
  #deaths = 0;
  #closed = false;
  #number = 0;
  /** Waiting for a thread. */
  #waiting: Judgement[] = [];
  /** Handed to the thread, in that order. */
  readonly #handed = new Map<number, Judgement>();
  #heardMs = 0;

  constructor(isolation: Isolation, ready: (guardrail: Guardrail) => void, unusable: (error: Error) => void) {
    this.#isolation = isolation;
    this.#clock = isolation.clock;
    this.#isReady = ready;
    this.#isUnusable = unusable;
  }

  judge(text: string, about: TextAbout): Promise<Verdict> {
    if (this.#closed || this.#down !== undefined) {
      return Promise.reject(new Error(this.#down ?? "it has been closed"));
    }
    if (this.#waiting.length + this.#handed.size >= OPEN_MAX) {
      return Promise.reject(new Error(`${OPEN_MAX} judgements are open`));
    }
    return new Promise((settle, fail) => {
      const judgement = { number: 0, text, about, settle, fail, timer: undefined, strikes: 0 };
      if (this.#ready) this.#hand(judgement);
      else this.#waiting.push(judgement);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#startTimer?.cancel();
    this.#failAll("it has been closed");
    await this.#thread?.close();
    if (this.#thread !== undefined) threads--;
    this.#thread = undefined;
  }

  begin(): void {
    const thread: GuardThread = new GuardThread(this.#isolation.start, this.#isolation.host, {
      heard: (message) => this.#heard(message),
      died: (reason) => this.#gone(reason),
    });
    threads++;
    this.#thread = thread;
    this.#startTimer = this.#clock.after(START_TIMEOUT_MS, () => {
      this.#replace(`it was not set up within ${START_TIMEOUT_MS} ms`);
    });
  }

  #heard(message: FromThread): void {
    this.#heardMs = this.#clock.monotonicMs();
    if ("ready" in message) this.#started(message);
    else if ("unusable" in message) this.#replace(message.unusable);
    else if ("judged" in message || "failed" in message) this.#judged(message);
  }

  #started({ ready: window, subject, cacheable, joinsTexts }: Extract<FromThread, { ready: unknown }>): void {
    this.#startTimer?.cancel();
    this.#ready = true;
    this.#down = undefined;
    this.#isUnusable = undefined;
    this.window = window;
    this.subject = subject;
    this.cacheable = cacheable;
    this.joinsTexts = joinsTexts;
    this.#isReady(this);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const judgement of waiting) this.#hand(judgement);
  }

  #hand(judgement: Judgement): void {
    this.#number = (this.#number + 1) | 0;
    judgement.number = this.#number;
    judgement.timer = this.#clock.after(this.#isolation.timeoutMs, () => this.#overdue(judgement));
    this.#handed.set(judgement.number, judgement);
    this.#thread?.post({ judge: judgement.number, text: judgement.text, about: plainAbout(judgement.about) });
    this.#thread?.watch(true);
  }

  #judged(message: Extract<FromThread, { judged: number } | { failed: number }>): void {
    const judgement = this.#take("judged" in message ? message.judged : message.failed);
    if (judgement === undefined) return;
    this.#deaths = 0;
    if ("failed" in message) return judgement.fail(new Error(message.message));
    try {
      judgement.settle(verdictFrom(message.verdict));
    } catch (thrown) {
      judgement.fail(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }

  /** The judgement of that number, which is over. */
  #take(number: number): Judgement | undefined {
    const judgement = this.#handed.get(number);
    judgement?.timer?.cancel();
    this.#handed.delete(number);
    if (this.#handed.size === 0) this.#thread?.watch(false);
    return judgement;
  }

  /** One that had its turn has failed. The last to have it may block the thread, and one that had none is blocked. */
  #overdue(judgement: Judgement): void {
    const begun = this.#thread?.begun ?? 0;
    const waits = (judgement.number - begun) | 0;
    const { timeoutMs } = this.#isolation;
    // A thread that has just answered others is only busy.
    const isSilent = this.#clock.monotonicMs() - this.#heardMs >= timeoutMs / 2;
    if (waits <= 0 || !isSilent) {
      this.#take(judgement.number)?.fail(new DeadlineError(timeoutMs));
    }
    if (waits === 0 || (waits > 0 && isSilent)) this.#replace(`no verdict within ${timeoutMs} ms`);
  }

  /** Ends the thread at once. */
  #replace(reason: string): void {
    this.#thread?.kill();
    this.#gone(reason);
  }

  /** The thread is no more: who stood there goes back to waiting, but the one it died of. */
  #gone(reason: string): void {
    const begun = this.#thread?.begun ?? 0;
    this.#thread = undefined;
    threads--;
    this.#startTimer?.cancel();
    if (!this.#ready) return this.#unstarted(reason);
    this.#ready = false;
    for (const judgement of [...this.#handed.values()]) {
      const waits = (judgement.number - begun) | 0;
      this.#take(judgement.number);
      judgement.strikes += waits > 0 ? STRIKES.waiting : STRIKES.begun;
      if (waits === 0 || judgement.strikes >= STRIKES.out) judgement.fail(new Error(reason));
      else this.#waiting.push(judgement);
    }
    this.#deaths++;
    this.#isolation.host.log.warn({ reason }, "the thread of a guardrail is replaced");
    this.#again();
  }

  /** `setup` has failed: at load that refuses the configuration, later calls fail until it succeeds. */
  #unstarted(reason: string): void {
    if (this.#isUnusable !== undefined) return this.#isUnusable(new Error(reason));
    this.#down = reason;
    this.#deaths++;
    this.#failAll(reason);
    this.#isolation.host.log.error({ reason }, "the thread of a guardrail could not be started");
    this.#again();
  }

  #again(): void {
    if (this.#closed) return;
    if (this.#deaths <= 1) return this.begin();
    const delayMs = Math.min(RESTART_MAX_MS, RESTART_MS * 2 ** (this.#deaths - 2));
    this.#startTimer = this.#clock.after(delayMs, () => this.begin());
  }

  #failAll(reason: string): void {
    for (const number of [...this.#handed.keys()]) this.#take(number)?.fail(new Error(reason));
    for (const judgement of this.#waiting.splice(0)) judgement.fail(new Error(reason));
  }
}
