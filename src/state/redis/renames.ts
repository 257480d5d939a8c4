/**
 * Renames that this process has asked of Redis: what is still to be sent, in order, and what has to be asked again when
 * Redis has lost its data. Sends nothing itself.
 */
import type { Rename, RenameEdit } from "../../plugin/store.ts";
import { RenameTable } from "../rename-table.ts";

/** As the script takes it: whether it begins or ends, kind, from, to. */
type SentRename = readonly ["begin" | "end", kind: string, from: string, to: string];

/** Of one script call. */
const PER_CALL = 64;

export class PendingRenames {
  /** What stands as far as this process has asked for it. */
  readonly #asked = new RenameTable();
  #due: SentRename[] = [];

  get isEmpty(): boolean {
    return this.#due.length === 0;
  }

  /** More than one script call can take: nothing may be admitted before the last of them. */
  get isLong(): boolean {
    return this.#due.length > PER_CALL;
  }

  add({ begin, end }: RenameEdit): void {
    for (const rename of end) {
      this.#asked.end(rename);
      this.#due.push(sent("end", rename));
    }
    for (const rename of begin) {
      this.#asked.begin(rename);
      this.#due.push(sent("begin", rename));
    }
  }

  take(): readonly SentRename[] {
    return this.#due.splice(0, PER_CALL);
  }

  /** Not done: to be sent again, before any other. */
  again(renames: readonly SentRename[]): void {
    if (renames.length > 0) this.#due = [...renames, ...this.#due];
  }

  /** Redis may know of none of them any more. */
  restore(): void {
    this.again(this.#asked.list().map((rename) => sent("begin", rename)));
  }
}

function sent(what: SentRename[0], { kind, windowMs, from, to }: Rename): SentRename {
  return [what, windowMs === undefined ? kind : `${kind} ${windowMs}`, from, to];
}

const KINDS: readonly Rename["kind"][] = ["rate", "spend", "sessions", "override"];

/** Renames from fields and values of the hash in turn. */
export function renamesOf(fields: readonly string[]): readonly Rename[] {
  const renames: Rename[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [word = "", ...rest] = (fields[at] ?? "").split(" ");
    const kind = KINDS.find((one) => one === word);
    if (kind === undefined) continue;
    const windowMs = kind === "rate" ? Number(rest.shift()) : undefined;
    const renamed = { kind, from: rest.join(" "), to: fields[at + 1] ?? "" };
    renames.push(windowMs === undefined ? renamed : { ...renamed, windowMs });
  }
  return renames;
}
