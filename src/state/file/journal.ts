/**
 * Writes changes to the end of a file: those of one event-loop iteration together, as one line and by one write, whose
 * return is the promise that kill -9 loses none of them. The write is synchronous, since into the kernel's memory it
 * takes a tenth of what handing it to a thread costs.
 */
import { join } from "node:path";
import { persistInBatch } from "../../base/batching.ts";
import { type Change, kindsOf } from "../change.ts";
import { CHAIN_START, type LinePosition, nextLine } from "./checked-lines.ts";
import type { Files, OpenFile } from "./files.ts";
import { fileName, HEADER_KIND, header } from "./state-folder.ts";
import { writeSynced } from "./synced.ts";

/** Maximum collected before they are written; rarely reached in one event-loop iteration. */
const GATHERED_MAX = 256;

export interface JournalOptions {
  readonly files: Files;
  readonly folder: string;
  readonly number: number;
  /** False: another process has taken the folder, and nothing may be written to it. Default: always true. */
  readonly isHeld?: () => boolean;
  /** Hears once of the first write that fails; nothing is written after it. */
  readonly failed: (error: unknown) => void;
  /** Receives a change that is too long for a line, which is skipped. */
  readonly tooLong: (change: Change) => void;
}

/** Changes that are written together, and what those who wait for them wait for. */
interface Group {
  readonly changes: Change[];
  /** Made on demand: resolves to whether the group was written. */
  written: Promise<boolean> | undefined;
  resolve: (written: boolean) => void;
}

/** Another process has taken the folder: this one may write no more. */
export class ReplacedError extends Error {
  constructor() {
    super("another process has taken the state folder");
  }
}

export class Journal {
  readonly number: number;
  /** Written so far. */
  bytes = 0;
  /** Its last line that is written. */
  position: LinePosition = CHAIN_START;
  readonly #file: OpenFile;
  readonly #options: JournalOptions;
  #group: Group | undefined;
  #flushComes = false;
  /** Written since the last `sync`. */
  #unsynced = 0;
  #broken = false;

  private constructor(options: JournalOptions, file: OpenFile) {
    this.number = options.number;
    this.#options = options;
    this.#file = file;
  }

  /** Makes the file; nothing may be added before `start`. Rejects with the system's error. */
  static async begin(options: JournalOptions): Promise<Journal> {
    const { files, folder, number } = options;
    const file = await files.create(join(folder, fileName("journal", number)));
    try {
      await files.syncFolder(folder);
    } catch (error) {
      await file.close().catch(() => {});
      throw error;
    }
    return new Journal(options, file);
  }

  /**
   * Writes the first line, which continues from `after`: the last one of the journal before, or none. `needsSnapshot`: see
   * `HeaderFields`. Throws the system's error.
   */
  start(after: LinePosition, needsSnapshot: boolean): void {
    const { files, number } = this.#options;
    const fields = { boot: files.boot, ...(needsSnapshot ? ({ needsSnapshot } as const) : {}) };
    const line = nextLine(after, header("journal", number, fields), HEADER_KIND);
    if (line === undefined) throw new Error("the first line of a journal is too long");
    const bytes = Buffer.from(line.text);
    this.#file.append(bytes);
    this.position = line.position;
    this.bytes = bytes.length;
    this.#unsynced = bytes.length;
  }

  /** A write has failed: nothing more is written. */
  get isBroken(): boolean {
    return this.#broken;
  }

  /** Written by the end of this event-loop iteration, or with the next `flush`. What it refers to must not change. */
  add(change: Change): void {
    this.#gather().changes.push(change);
  }

  /** The same; resolves to whether it was written, with all others of its iteration. */
  written(change: Change): Promise<boolean> {
    const group = this.#gather();
    group.changes.push(change);
    group.written ??= new Promise((resolve) => (group.resolve = resolve));
    return group.written;
  }

  /** Writes all that is gathered. False: not all that was added has been written. */
  flush(): boolean {
    const group = this.#group;
    if (group === undefined) return !this.#broken;
    this.#group = undefined;
    const written = !this.#broken && this.#append(group.changes);
    group.resolve(written);
    return written;
  }

  /** Puts what was written so far past a loss of power. */
  async sync(): Promise<void> {
    this.flush();
    if (this.#unsynced === 0 || this.#broken) return;
    this.#unsynced = 0;
    const { files, folder, isHeld = () => true } = this.#options;
    const synced = { journal: this.number, bytes: this.bytes, sequence: this.position.sequence };
    try {
      await this.#file.sync();
      if (isHeld()) await writeSynced(files, folder, synced);
    } catch (error) {
      this.#fail(error);
    }
  }

  async close(): Promise<void> {
    await this.sync();
    this.#broken = true;
    // All that was to be written is; what remains is to give the handle back.
    await this.#file.close().catch(() => {});
  }

  #gather(): Group {
    if (this.#group !== undefined && this.#group.changes.length >= GATHERED_MAX) this.flush();
    this.#group ??= { changes: [], written: undefined, resolve: () => {} };
    if (!this.#flushComes) {
      this.#flushComes = true;
      // Before anything of this iteration is sent: what a provider or a client has seen is in the journal.
      persistInBatch(() => {
        this.#flushComes = false;
        this.flush();
      });
    }
    return this.#group;
  }

  #append(changes: readonly Change[]): boolean {
    const { text, position } = this.#linesOf(changes);
    const bytes = Buffer.from(text);
    try {
      this.#file.append(bytes);
      // Asked after the write: a process that takes the folder later than this reads what was written.
      if (this.#options.isHeld?.() === false) throw new ReplacedError();
    } catch (error) {
      this.#fail(error);
      return false;
    }
    this.position = position;
    this.bytes += bytes.length;
    this.#unsynced += bytes.length;
    return true;
  }

  /** One line, or one for each where one is too long for all. */
  #linesOf(changes: readonly Change[]): { readonly text: string; readonly position: LinePosition } {
    const line = nextLine(this.position, changes, kindsOf(changes));
    if (line !== undefined) return line;
    let text = "";
    let { position } = this;
    for (const change of changes) {
      const one = nextLine(position, [change], kindsOf([change]));
      if (one === undefined) this.#options.tooLong(change);
      else {
        text += one.text;
        position = one.position;
      }
    }
    return { text, position };
  }

  #fail(error: unknown): void {
    if (this.#broken) return;
    this.#broken = true;
    this.flush();
    this.#options.failed(error);
  }
}
