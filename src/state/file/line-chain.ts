/**
 * Follows the chain of lines through the journals of a folder, and returns where it is broken, how many lines are missing
 * there, and what they may have held. Reads nothing itself.
 */
import type { GoodLine, LinePosition, RawLine } from "./checked-lines.ts";

/** Something that is wrong with a file. */
export interface Fault {
  readonly file: string;
  /** Its first byte that is not good. */
  readonly offset: number;
  /**
   * torn: its last line is not whole, as a crash leaves it. damaged: what was written there has changed since. cut: lines
   * that were there at its end are not. missing: the whole file is.
   */
  readonly kind: "torn" | "damaged" | "cut" | "missing";
  readonly reason: string;
  /** Lines that were lost with it; undefined: it cannot be told. */
  readonly linesLost: number | undefined;
  /** What these lines held, as `kindsOf` has it; undefined: it cannot be told. */
  readonly kindsLost: string | undefined;
}

/** Of a crash in the middle of a write: nothing that was answered for. */
function tornFault(file: string, offset: number): Fault {
  return { file, offset, kind: "torn", reason: "the last line is not whole", linesLost: 0, kindsLost: "" };
}

/** What is lost with it is unknown. */
export function unknownLoss(file: string, offset: number, kind: Fault["kind"], reason: string): Fault {
  return { file, offset, kind, reason, linesLost: undefined, kindsLost: undefined };
}

/** A revocation is an override; every other loss is of limits, conversations or the audit log. */
export function mayHoldMoneyOrRevocation({ kindsLost }: Fault): boolean {
  return kindsLost === undefined || /[mo]/.test(kindsLost);
}

export class LineChain {
  readonly faults: Fault[] = [];
  /** The last good line; undefined where it is not known, and after lines of version 0.1, which have no chain. */
  last: LinePosition | undefined;
  /** Damage that no good line has followed yet. */
  #open: { readonly file: string; readonly offset: number; readonly reason: string } | undefined;
  /** The kinds of the line that has just been read, which its successor knows too. */
  readonly #kindsOf: (value: unknown) => string;

  /** `after`: the line before the first; undefined: not known. */
  constructor(kindsOf: (value: unknown) => string, after: LinePosition | undefined) {
    this.#kindsOf = kindsOf;
    this.last = after;
  }

  /** Takes the next line of a file. undefined: it is unusable. */
  take(file: string, line: RawLine): GoodLine | undefined {
    const { good, offset, reason } = line;
    if (good === undefined) {
      if (line.isTorn) this.faults.push(tornFault(file, offset));
      else this.damaged(file, offset, reason);
      return undefined;
    }
    const { chain } = good;
    if (chain === undefined) {
      this.#close(undefined, undefined);
      this.last = undefined;
      return good;
    }
    const { last } = this;
    const missing = last === undefined ? 0 : chain.sequence - last.sequence - 1;
    if (missing < 0 || (missing === 0 && this.#isForeign(chain.previousChecksum))) {
      this.damaged(file, offset, "it does not follow the line before it");
      return undefined;
    }
    if (missing > 0) this.damaged(file, offset, "lines before it are missing");
    if (last === undefined) this.#close(undefined, undefined);
    else this.#close(missing, missing === 0 ? "" : missing === 1 ? chain.previousKinds : undefined);
    this.last = {
      sequence: chain.sequence,
      checksum: chain.checksum,
      kinds: this.#kindsOf(good.value),
    };
    return good;
  }

  /** What is there cannot be used; the first reason of several in a row is kept. */
  damaged(file: string, offset: number, reason: string): void {
    this.#open ??= { file, offset, reason };
  }

  /** An intact line that this version cannot use. */
  unusable(file: string, offset: number, reason: string): void {
    this.faults.push({ file, offset, kind: "damaged", reason, linesLost: 1, kindsLost: undefined });
  }

  /** There are no more lines. `synced`: the last one that is known to have been there. */
  end(
    synced: { readonly file: string; readonly bytes: number; readonly sequence: number } | undefined,
  ): void {
    // Before the first line that can be read there is none.
    const missing = synced === undefined ? 0 : synced.sequence - (this.last?.sequence ?? 0);
    if (missing > 0 && synced !== undefined) {
      const { file, bytes } = synced;
      this.#open = undefined;
      this.faults.push({
        ...unknownLoss(file, bytes, "cut", `it ended with line ${synced.sequence} when it was synced`),
        linesLost: this.last === undefined ? undefined : missing,
      });
      return;
    }
    this.#close(undefined, undefined);
  }

  #isForeign(previousChecksum: string): boolean {
    return this.last !== undefined && this.last.checksum !== previousChecksum;
  }

  #close(linesLost: number | undefined, kindsLost: string | undefined): void {
    if (this.#open === undefined) return;
    this.faults.push({ ...this.#open, kind: "damaged", linesLost, kindsLost });
    this.#open = undefined;
  }
}
