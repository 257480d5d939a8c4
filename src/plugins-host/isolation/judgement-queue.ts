/**
 * The judgements of one isolated guardrail: those that wait, and those handed to its process, with their deadlines.
 * Decides which judgement a silent or dead process is blamed on. Knows no process; see `JudgingProcess`.
 */

import type { Timer } from "../../plugin/host.ts";
import type { Clock, TextContext, Verdict } from "../../plugin/index.ts";

/** Judgements of one guardrail that are open, waiting ones included. */
const OPEN_MAX = 1000;
/** Those handed to the process, and their characters (a longer text is handed over alone). */
const HANDED_MAX = 100;
const HANDED_CHARACTERS_MAX = 8_000_000;
/** How long a judgement waits to be handed over, or for a process. */
const WAIT_MS = 10_000;
/** A judgement that had begun when its process died is repeated once, one that had not three times. */
const STRIKES = { begun: 2, waiting: 1, out: 4 };

interface Judgement {
  /** Its number with the process that it was handed to. */
  number: number;
  readonly text: string;
  readonly about: TextContext;
  readonly settle: (verdict: Verdict) => void;
  readonly fail: (error: Error) => void;
  /** Of the wait, and then of the judgement. */
  timer: Timer | undefined;
  hasBegun: boolean;
  readonly requestedAtMs: number;
  strikes: number;
}

/** The process that judges, as far as the queue uses it. */
export interface JudgingProcess {
  /** A process is set up. */
  isReady(): boolean;
  /** False: the text is too long for the channel. */
  judge(number: number, text: string, about: TextContext): boolean;
  /** Judgements are open. */
  setBusy(isBusy: boolean): void;
  /** It blocks and must be replaced; `release` follows. */
  replace(reason: string): void;
}

export interface JudgementLimits {
  readonly clock: Clock;
  /** Of one judgement, from its begin in the process. */
  readonly timeoutMs: number;
  /** What a judgement that takes longer rejects with. */
  readonly deadlineError: (timeoutMs: number) => Error;
}

export class JudgementQueue {
  readonly #limits: JudgementLimits;
  readonly #clock: Clock;
  readonly #process: JudgingProcess;
  #number = 0;
  #waiting: Judgement[] = [];
  /** Handed to the process, in that order. */
  readonly #handed = new Map<number, Judgement>();
  #handedCharacters = 0;
  #receivedAtMs = 0;

  constructor(limits: JudgementLimits, process: JudgingProcess) {
    this.#limits = limits;
    this.#clock = limits.clock;
    this.#process = process;
  }

  add(text: string, about: TextContext): Promise<Verdict> {
    if (this.#waiting.length + this.#handed.size >= OPEN_MAX) {
      return Promise.reject(new Error(`${OPEN_MAX} judgements are open`));
    }
    return new Promise((settle, fail) => {
      this.#wait({
        ...{ number: 0, text, about, settle, fail, timer: undefined },
        ...{ hasBegun: false, requestedAtMs: this.#clock.monotonicMs(), strikes: 0 },
      });
      this.handOut();
    });
  }

  /** The process has sent a message. */
  received(): void {
    this.#receivedAtMs = this.#clock.monotonicMs();
  }

  /** Hands waiting judgements to the process, as far as it may have them. */
  handOut(): void {
    while (this.#process.isReady() && this.#handed.size < HANDED_MAX) {
      const next = this.#waiting[0];
      if (next === undefined) return;
      if (this.#handed.size > 0 && this.#handedCharacters + next.text.length > HANDED_CHARACTERS_MAX) return;
      this.#waiting.shift();
      this.#hand(next);
    }
  }

  /** The process has begun a judgement. False: it was not handed over, or had begun before. */
  begin(number: number): boolean {
    const judgement = this.#handed.get(number);
    if (judgement === undefined || judgement.hasBegun) return false;
    judgement.hasBegun = true;
    this.#limit(judgement, this.#limits.timeoutMs);
    return true;
  }

  /** Ends a judgement with what `verdict` returns or throws. False: it is not open, or no longer. */
  end(number: number, verdict: () => Verdict): boolean {
    const judgement = this.#take(number);
    if (judgement === undefined) return false;
    try {
      judgement.settle(verdict());
    } catch (thrown) {
      judgement.fail(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
    this.handOut();
    return true;
  }

  /** The process has died: the judgement that blocked it fails, the others wait for the next process. */
  release(reason: string): void {
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

  failAll(reason: string): void {
    for (const number of [...this.#handed.keys()]) this.#take(number)?.fail(new Error(reason));
    for (const judgement of this.#waiting.splice(0)) {
      judgement.timer?.cancel();
      judgement.fail(new Error(reason));
    }
  }

  #wait(judgement: Judgement): void {
    const leftMs = Math.max(0, judgement.requestedAtMs + WAIT_MS - this.#clock.monotonicMs());
    judgement.timer = this.#clock.after(leftMs, () => {
      this.#waiting = this.#waiting.filter((one) => one !== judgement);
      judgement.fail(new Error(`its process was busy for ${WAIT_MS} ms`));
    });
    this.#waiting.push(judgement);
  }

  #hand(judgement: Judgement): void {
    const { text, about } = judgement;
    judgement.number = ++this.#number;
    judgement.hasBegun = false;
    this.#limit(judgement, this.#limits.timeoutMs);
    this.#handed.set(judgement.number, judgement);
    this.#handedCharacters += text.length;
    this.#process.setBusy(true);
    const { number } = judgement;
    if (!this.#process.judge(number, text, about)) {
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

  /** Removes a judgement that was handed over. */
  #take(number: number): Judgement | undefined {
    const judgement = this.#handed.get(number);
    if (judgement === undefined) return undefined;
    judgement.timer?.cancel();
    this.#handed.delete(number);
    this.#handedCharacters -= judgement.text.length;
    if (this.#handed.size === 0) this.#process.setBusy(false);
    return judgement;
  }

  /** The judgement that blocks a silent process: of those that have begun, the last one. */
  #suspect(): Judgement | undefined {
    return [...this.#handed.values()].findLast(({ hasBegun }) => hasBegun);
  }

  /**
   * A judgement has reached its deadline. While the process still answers others, only this one fails. A silent process is
   * blocked by the judgement that began last: that one fails, and those behind it are repeated in the next process.
   */
  #overdue(judgement: Judgement): void {
    if (this.#handed.get(judgement.number) !== judgement) return;
    const { timeoutMs, deadlineError } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const isSilent = nowMs - this.#receivedAtMs >= timeoutMs / 2;
    const suspect = this.#suspect();
    if (judgement.hasBegun && (judgement === suspect || !isSilent)) {
      this.#take(judgement.number)?.fail(deadlineError(timeoutMs));
      if (isSilent) this.#process.replace(`no verdict within ${timeoutMs} ms`);
      else this.handOut();
    } else if (isSilent && suspect === undefined) {
      this.#process.replace(`its process did not respond for ${timeoutMs} ms`);
    } else if (nowMs - judgement.requestedAtMs >= WAIT_MS + timeoutMs) {
      this.#take(judgement.number)?.fail(new Error(`its process was busy for ${WAIT_MS} ms`));
      this.handOut();
    } else this.#limit(judgement, timeoutMs / 2);
  }
}
