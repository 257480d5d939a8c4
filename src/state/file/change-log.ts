/**
 * Keeps a state folder up to date: changes go to the journal, and from time to time a snapshot and a new journal take
 * the place of the old ones. When the disk fails it says so, takes on nothing it cannot write, and begins anew with a
 * fresh snapshot as soon as the disk works again. Decides nothing of what the store answers meanwhile.
 */
import { join } from "node:path";
import type { Logger, Timer } from "../../plugin/host.ts";
import type { Clock } from "../../plugin/index.ts";
import type { Change } from "../change.ts";
import { CHAIN_START, type LinePosition } from "./checked-lines.ts";
import type { Files } from "./files.ts";
import { Journal, ReplacedError } from "./journal.ts";
import { writeSnapshot } from "./snapshot.ts";
import { fileName, listFolder } from "./state-folder.ts";

/** A journal of this size triggers a snapshot at once. */
const JOURNAL_BYTES_MAX = 64 << 20;
/** Full journals that may wait for a snapshot that cannot be written; with more the disk has failed. */
const FULL_JOURNALS_MAX = 16;
/** A large snapshot is put off while the journals are less than this part of it: reading them is quicker. */
const WORTHWHILE_PART = 1 / 8;
const LARGE_SNAPSHOT_BYTES = 1 << 20;
/** What a loss of power, not of the process, may cost. */
const SYNC_AFTER_MS = 1000;
const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 30_000;
/** Snapshots kept, each with the journals since. */
const SNAPSHOTS_KEPT = 2;

export interface ChangeLogOptions {
  readonly files: Files;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly snapshotIntervalMs: number;
  /** See JOURNAL_BYTES_MAX, its default. */
  readonly journalBytesMax: number | undefined;
  /** False: another process has taken the folder. Default: always true. */
  readonly isHeld?: () => boolean;
  /** Everything that is kept now; see `Tables.capture`. */
  readonly capture: () => Iterable<Change>;
}

export interface ChangeLogStart {
  /** The highest number of a file in the folder. */
  readonly lastFile: number;
  /** The line that the next journal continues from; undefined: none. */
  readonly lastLine: LinePosition | undefined;
  readonly snapshots: readonly number[];
  /** Bytes of journals since the last snapshot. */
  readonly journalBytes: number;
  /** Of the last snapshot. */
  readonly snapshotBytes: number;
}

export class ChangeLog {
  /** Why nothing can be written; undefined when it can. */
  fault: string | undefined;
  /** Another process has taken the folder: the fault is for good. */
  replaced = false;
  /** Why the last snapshot failed while the journal continues; undefined if it did not. */
  snapshotFault: string | undefined;
  readonly #options: ChangeLogOptions;
  readonly #journalBytesMax: number;
  #journal: Journal | undefined;
  #lastFile: number;
  /** Of the journal that was written last. */
  #lastLine: LinePosition;
  #snapshots: readonly number[];
  /** Of journals before the current one that no snapshot stands for. */
  #olderBytes: number;
  #snapshotBytes: number;
  #snapshotAtMs = 0;
  #snapshotting: Promise<void> | undefined;
  #syncTimer: Timer | undefined;
  #snapshotTimer: Timer | undefined;
  #retryTimer: Timer | undefined;
  #retryMs = RETRY_MS_MIN;
  #closed = false;

  private constructor(options: ChangeLogOptions, start: ChangeLogStart) {
    this.#options = options;
    this.#journalBytesMax = options.journalBytesMax ?? JOURNAL_BYTES_MAX;
    this.#lastFile = start.lastFile;
    this.#lastLine = start.lastLine ?? CHAIN_START;
    this.#snapshots = start.snapshots;
    this.#olderBytes = start.journalBytes;
    this.#snapshotBytes = start.snapshotBytes;
  }

  /** A folder in which nothing can be written makes a change log with a fault. */
  static async begin(options: ChangeLogOptions, start: ChangeLogStart): Promise<ChangeLog> {
    const log = new ChangeLog(options, start);
    let journal: Journal | undefined;
    try {
      journal = await log.#nextJournal();
      journal.start(log.#lastLine, false);
      log.#journal = journal;
      log.#lastFile = journal.number;
    } catch (error) {
      log.#fail("begin a journal", error);
      await journal?.close();
    }
    return log;
  }

  /** Of the journals that would be read at a start, beside the last snapshot. */
  get journalBytes(): number {
    return this.#olderBytes + (this.#journal?.bytes ?? 0);
  }

  get snapshotBytes(): number {
    return this.#snapshotBytes;
  }

  /** Unix milliseconds; 0: none yet in this process. */
  get snapshotAtMs(): number {
    return this.#snapshotAtMs;
  }

  /** Written by the end of this event-loop iteration. */
  add(change: Change): void {
    this.#ready()?.add(change);
  }

  /** The same; resolves when it is written, or could not be. undefined: nothing can be written now. */
  written(change: Change): Promise<boolean> | undefined {
    return this.#ready()?.written(change);
  }

  /** Writes it and all before it down now. False: it could not be. */
  write(change: Change): boolean {
    this.add(change);
    return this.flush();
  }

  /** Writes all that was added. False: it could not be. */
  flush(): boolean {
    return this.#journal?.flush() ?? false;
  }

  /** Takes a snapshot, when none is being taken. Resolves when it is there, or has failed. */
  snapshot(): Promise<void> {
    if (this.#closed || this.replaced) return Promise.resolve();
    this.#snapshotting ??= this.#takeSnapshot().finally(() => {
      this.#snapshotting = undefined;
      // A write that failed in the last moment of the snapshot left the next attempt to it.
      if (this.fault !== undefined) this.#retryLater();
    });
    return this.#snapshotting;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const timer of [this.#syncTimer, this.#snapshotTimer, this.#retryTimer]) timer?.cancel();
    this.#journal?.flush();
    await this.#snapshotting;
    const journal = this.#journal;
    this.#journal = undefined;
    await journal?.close();
  }

  /** The journal to add to, if there is one; sees to it that what is added is synced and snapshot in time. */
  #ready(): Journal | undefined {
    const journal = this.#journal;
    if (journal === undefined || this.#closed) return undefined;
    if (this.#syncTimer === undefined || this.#snapshotTimer === undefined) this.#setTimers();
    if (journal.bytes >= this.#journalBytesMax && this.#snapshotting === undefined) this.#shorten();
    return journal;
  }

  #setTimers(): void {
    const { clock, snapshotIntervalMs } = this.#options;
    this.#syncTimer ??= clock.after(SYNC_AFTER_MS, () => {
      this.#syncTimer = undefined;
      void this.#journal?.sync();
    });
    this.#snapshotTimer ??= clock.after(snapshotIntervalMs, () => {
      this.#snapshotTimer = undefined;
      if (this.#isSnapshotWorthwhile()) void this.snapshot();
    });
  }

  #shorten(): void {
    if (this.journalBytes > this.#journalBytesMax * FULL_JOURNALS_MAX)
      this.#fail("write a snapshot", this.snapshotFault);
    else void this.snapshot();
  }

  #isSnapshotWorthwhile(): boolean {
    const last = this.#snapshotBytes;
    return last < LARGE_SNAPSHOT_BYTES || this.journalBytes >= last * WORTHWHILE_PART;
  }

  #nextJournal(): Promise<Journal> {
    const { files, folder, log, isHeld } = this.#options;
    return Journal.begin({
      files,
      folder,
      number: this.#lastFile + 1,
      ...(isHeld === undefined ? {} : { isHeld }),
      failed: (error) => this.#fail("write to the journal", error),
      tooLong: ({ type }) =>
        log.error(
          { change: type },
          "a change is too long for the state journal and will not outlive this process",
        ),
    });
  }

  /**
   * The next journal begins in the same moment as the state is captured, so that it is exactly what came after. Until
   * the snapshot is there, the one before and both journals say the same.
   */
  async #takeSnapshot(): Promise<void> {
    const { files, folder, capture, log, clock, isHeld } = this.#options;
    let next: Journal | undefined;
    try {
      if (isHeld?.() === false) throw new ReplacedError();
      next = await this.#nextJournal();
      const { number } = next;
      const old = this.#journal;
      old?.flush();
      // What failed before this moment is made up for by the snapshot; what fails after it is not.
      const faultBefore = this.fault;
      const after = old?.position ?? this.#lastLine;
      next.start(after, faultBefore !== undefined);
      const changes = capture();
      this.#olderBytes += old?.bytes ?? 0;
      this.#journal = next;
      if (faultBefore === undefined) this.#lastFile = number;
      await old?.close();
      const isCancelled = (): boolean => this.#closed || this.replaced;
      const bytes = await writeSnapshot({ files, folder, number, after, isCancelled }, changes);
      if (bytes === undefined) return;
      if (faultBefore !== undefined && next.isBroken) throw new Error("the journal could not be written");
      this.#lastFile = number;
      this.#snapshots = [...this.#snapshots, number];
      this.#snapshotBytes = bytes;
      this.#snapshotAtMs = clock.nowMs();
      this.#olderBytes = 0;
      this.snapshotFault = undefined;
      if (faultBefore !== undefined && this.fault === faultBefore) this.#recover();
      await this.#prune();
    } catch (error) {
      if (error instanceof ReplacedError && !this.replaced) {
        if (this.fault === undefined) this.#fail("take a snapshot", error);
        else this.#isReplaced();
      } else if (this.fault === undefined) {
        this.snapshotFault = reasonOf(error);
        log.error(
          { reason: this.snapshotFault },
          "a state snapshot could not be written; the journal goes on",
        );
        // An unclosed file handle ends the process in Node 26.
        if (this.#journal !== next) await next?.close();
        return;
      }
      // The new journal has no snapshot to continue from. The next attempt writes over it.
      if (this.#journal === next) this.#journal = undefined;
      await next?.close();
    } finally {
      if (this.fault !== undefined) this.#retryLater();
    }
  }

  async #prune(): Promise<void> {
    const { files, folder } = this.#options;
    const kept = this.#snapshots.slice(-SNAPSHOTS_KEPT);
    this.#snapshots = kept;
    const oldest = kept.length < SNAPSHOTS_KEPT ? 0 : (kept[0] ?? 0);
    try {
      const listing = await listFolder(files, folder);
      for (const kind of ["snapshot", "journal"] as const) {
        for (const number of listing[`${kind}s`]) {
          if (number < oldest) await files.remove(join(folder, fileName(kind, number)));
        }
      }
    } catch {
      // They only take space; the next snapshot tries again.
    }
  }

  #fail(action: string, error: unknown): void {
    if (this.fault !== undefined) return;
    this.fault = `cannot ${action}: ${reasonOf(error)}`;
    const broken = this.#journal;
    this.#lastLine = broken?.position ?? this.#lastLine;
    this.#journal = undefined;
    void broken?.close();
    if (error instanceof ReplacedError) return this.#isReplaced();
    this.#retryMs = RETRY_MS_MIN;
    this.#options.log.error(
      { reason: this.fault },
      "state is no longer written to disk: changes from now on will be lost on restart",
    );
    if (this.#snapshotting === undefined) this.#retryLater();
  }

  /** Two processes that count the same money apart would spend it twice: this one stops. */
  #isReplaced(): void {
    this.replaced = true;
    for (const timer of [this.#syncTimer, this.#snapshotTimer, this.#retryTimer]) timer?.cancel();
    this.#options.log.error(
      { folder: this.#options.folder },
      "another process has taken the state folder: this one refuses calls; stop one of them",
    );
  }

  #retryLater(): void {
    if (this.#closed || this.replaced || this.#retryTimer !== undefined) return;
    this.#retryTimer = this.#options.clock.after(this.#retryMs, () => {
      this.#retryTimer = undefined;
      void this.snapshot();
    });
    this.#retryMs = Math.min(RETRY_MS_MAX, this.#retryMs * 2);
  }

  #recover(): void {
    this.fault = undefined;
    this.#options.log.info({}, "state is written to disk again; nothing in memory was lost");
  }
}

/** The system's code where there is one: its message holds a path. */
function reasonOf(error: unknown): string {
  if (error instanceof Error) return "code" in error ? String(error.code) : error.message;
  return String(error);
}
