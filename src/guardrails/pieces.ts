/**
 * Judges a long text in pieces, so that a guardrail blocks the event loop for a few milliseconds at most and
 * `timeout_ms` applies to a synchronous guardrail too. Pieces overlap by the guardrail's window, as on a stream.
 */
import type { Block } from "../plugin/contract.ts";
import type { Clock, Edit, MaybePromise, TextContext, Verdict } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import { settledEdits, wholeWordsFrom } from "./edits.ts";
import { ask, DeadlineError, Failure, type GuardContext } from "./verdict.ts";

/** Longest run without yielding. A piece takes up to 5 ms, so the run ends one piece early. */
const RUN_MS = 3;

/** Decides when judging must yield to the event loop. */
export class Pace {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** The current run has lasted long enough. */
  get due(): boolean {
    return this.#clock.monotonicMs() - this.#sinceMs >= RUN_MS;
  }

  /** Resolves after pending I/O has been processed; a new run begins then. */
  yield(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#sinceMs = this.#clock.monotonicMs();
        resolve();
      });
    });
  }
}

/** Distinct reasons kept for one text, for the log. */
const REASONS_MAX = 10;

interface PieceSize {
  readonly slice: number;
  readonly window: number;
  /** Shared with other texts of the call; undefined: this text starts a run of its own. */
  readonly pace: Pace | undefined;
}

export function judgeInPieces(
  context: GuardContext,
  text: string,
  about: TextContext,
  size: PieceSize,
): MaybePromise<Verdict | Failure> {
  return new PieceRun(context, text, about, size).run();
}

class PieceRun {
  readonly #context: GuardContext;
  readonly #text: string;
  readonly #about: TextContext;
  readonly #slice: number;
  readonly #window: number;
  readonly #pace: Pace;
  readonly #startedMs: number;
  readonly #edits: Edit[] = [];
  readonly #reasons = new Set<string>();
  #restore = false;
  /** Everything before this offset is settled. */
  #done = 0;
  /** Start of the next piece; before `#done`, so that a match there is seen with its left context. */
  #from = 0;
  #reach: number;

  constructor(context: GuardContext, text: string, about: TextContext, { slice, window, pace }: PieceSize) {
    this.#context = context;
    this.#text = text;
    this.#about = about;
    this.#slice = slice;
    this.#window = window;
    this.#reach = slice;
    this.#pace = pace ?? new Pace(context.clock);
    this.#startedMs = context.clock.monotonicMs();
  }

  run(): MaybePromise<Verdict | Failure> {
    for (;;) {
      const end = Math.min(this.#text.length, this.#done + this.#reach + this.#window);
      const piece = this.#text.slice(this.#from, end);
      const verdict = ask(this.#context, piece, this.#aboutPiece(end));
      if (isPromise(verdict)) {
        return verdict.then((settled) => {
          const outcome = this.#take(piece, settled);
          return outcome === undefined ? this.run() : outcome.verdict;
        });
      }
      const outcome = this.#take(piece, verdict);
      if (outcome !== undefined) return outcome.verdict;
      if (this.#pace.due) return this.#pace.yield().then(() => this.run());
    }
  }

  #aboutPiece(end: number): TextContext {
    const { partial, offset = 0 } = this.#about;
    return { ...this.#about, partial: partial || end < this.#text.length, offset: offset + this.#from };
  }

  /** Collects what one piece settles. undefined: there is more to judge. */
  #take(piece: string, verdict: Verdict | Failure): { readonly verdict: Verdict | Failure } | undefined {
    if (verdict instanceof Failure) return { verdict };
    if (verdict?.verdict === "block") return { verdict: blockFrom(verdict, this.#from) };
    if (this.#about.exchange.ended) return { verdict: undefined };
    const { clock, use } = this.#context;
    const isLast = this.#from + piece.length === this.#text.length;
    const settled = settledEdits(verdict?.edits ?? [], {
      from: this.#done - this.#from,
      to: isLast ? piece.length : piece.length - this.#window,
      text: piece,
      partial: !isLast,
    });
    for (const { start, end, text } of settled.edits) {
      this.#edits.push({ start: start + this.#from, end: end + this.#from, text });
    }
    if (verdict !== undefined && settled.edits.length > 0) {
      if (this.#reasons.size < REASONS_MAX) this.#reasons.add(verdict.reason);
      this.#restore ||= verdict.restore === true;
    }
    if (isLast) return { verdict: this.#verdict() };
    if (clock.monotonicMs() - this.#startedMs >= use.timeout_ms) {
      return { verdict: new Failure(new DeadlineError(use.timeout_ms)) };
    }
    this.#advance(piece, settled.to);
    return undefined;
  }

  /** A match longer than the window settles nothing; the next piece is then twice as long. */
  #advance(piece: string, to: number): void {
    const done = this.#from + to;
    this.#reach = done > this.#done ? this.#slice : this.#reach * 2;
    this.#done = done;
    this.#from += wholeWordsFrom(piece, Math.max(0, to - this.#window), to);
  }

  #verdict(): Verdict {
    if (this.#edits.length === 0) return undefined;
    const reason = [...this.#reasons].join("; ");
    return { verdict: "replace", edits: this.#edits, reason, restore: this.#restore };
  }
}

/** The verdict on a piece, its spans as those of the whole text. */
function blockFrom(verdict: Block, from: number): Block {
  if (verdict.spans === undefined || from === 0) return verdict;
  return {
    ...verdict,
    spans: verdict.spans.map(({ start, end }) => ({ start: start + from, end: end + from })),
  };
}
