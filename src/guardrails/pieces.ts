/**
 * Judges a long text in pieces, so that no run of the guardrail blocks other calls for longer than a few milliseconds
 * and `timeout_ms` holds for a synchronous guardrail too. Pieces overlap by the guardrail's window, as on a stream.
 */
import type { Edit, MaybePromise, TextAbout, Verdict } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import { settledEdits, wholeWordsFrom } from "./edits.ts";
import { ask, DeadlineError, Failure, type GuardContext } from "./judge.ts";
import { Pace } from "./pace.ts";

/** Different reasons kept of one text, for the log. */
const REASONS_MAX = 10;

interface PieceSize {
  readonly slice: number;
  readonly window: number;
  /** Shared with other texts of the call; undefined: a run begins with this text. */
  readonly pace: Pace | undefined;
}

export function judgeInPieces(
  context: GuardContext,
  text: string,
  about: TextAbout,
  size: PieceSize,
): MaybePromise<Verdict | Failure> {
  return new PieceRun(context, text, about, size).run();
}

class PieceRun {
  readonly #context: GuardContext;
  readonly #text: string;
  readonly #about: TextAbout;
  readonly #slice: number;
  readonly #window: number;
  readonly #pace: Pace;
  readonly #startedMs: number;
  readonly #edits: Edit[] = [];
  readonly #reasons = new Set<string>();
  #restore = false;
  /** Everything before this place is settled. */
  #done = 0;
  /** Where the next piece begins; before `#done`, so that a match there is seen with what precedes it. */
  #from = 0;
  #reach: number;

  constructor(context: GuardContext, text: string, about: TextAbout, { slice, window, pace }: PieceSize) {
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
      if (this.#pace.due) return this.#pace.turn().then(() => this.run());
    }
  }

  #aboutPiece(end: number): TextAbout {
    const { partial, offset = 0 } = this.#about;
    return { ...this.#about, partial: partial || end < this.#text.length, offset: offset + this.#from };
  }

  /** Takes what one piece settles. undefined: there is more to judge. */
  #take(piece: string, verdict: Verdict | Failure): { readonly verdict: Verdict | Failure } | undefined {
    if (verdict instanceof Failure || verdict?.verdict === "block") return { verdict };
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

  /** A match longer than the window settles nothing: then the next piece is twice as long. */
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
