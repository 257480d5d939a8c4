/**
 * Watches what the configuration was read from. Directories, not files: a watch on a file goes dead after one
 * rename-save or one ConfigMap swap. Events only wake it; whether anything changed is decided by content hashes, which
 * are polled as well, since some file systems send no events at all (a poll reads only what by its stamp has changed).
 */
import { type FSWatcher, realpathSync, watch } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { WatchList } from "../config/load.ts";
import { fingerprintOf } from "../config/read/source.ts";
import type { Timer } from "../plugin/host.ts";
import type { Clock } from "../plugin/index.ts";
import { FileDigests } from "./file-digests.ts";

export interface WatchOptions {
  readonly clock: Clock;
  /** Something may have changed. Runs one at a time; changes meanwhile bring one more run. */
  readonly changed: () => Promise<void>;
  /** It has looked and found nothing changed. */
  readonly unchanged?: () => void;
  /** Told of an error while it looked; the next event or poll looks again. */
  readonly failed?: (thrown: unknown) => void;
  /** How long a burst must be quiet before it counts as over. Default 100 ms. */
  readonly settleMs?: number;
  /** Longest wait for a burst that does not end. Default 1,000 ms. */
  readonly settleMaxMs?: number;
  /** Default 2,000 ms. */
  readonly pollMs?: number;
}

/** Directories watched; with more than these, polling alone has to do for the rest. */
const WATCHERS_MAX = 256;

export class ConfigWatch {
  readonly #options: Required<WatchOptions>;
  #watched: WatchList = {
    ...{ files: [], directories: [], fingerprint: "", secretFiles: [], directoryNames: [] },
  };
  #watchers = new Map<string, FSWatcher>();
  readonly #digests = new FileDigests();
  #fingerprint = "";
  #settle: Timer | undefined;
  #poll: Timer | undefined;
  #burstSinceMs = 0;
  #busy = false;
  #again = false;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = {
      settleMs: 100,
      settleMaxMs: 1000,
      pollMs: 2000,
      failed: () => undefined,
      unchanged: () => undefined,
      ...options,
    };
  }

  /**
   * Takes on what the latest load has read, with the fingerprint of just that: nothing that changes during a load is
   * missed, and nothing is loaded a second time.
   */
  follow(watched: WatchList): void {
    if (this.#closed) return;
    this.#watched = watched;
    this.#fingerprint = watched.fingerprint;
    this.#rewire();
    this.#armPoll();
  }

  close(): void {
    this.#closed = true;
    this.pause();
  }

  /** Watches nothing until the next `follow`. */
  pause(): void {
    this.#settle?.cancel();
    this.#settle = undefined;
    this.#poll?.cancel();
    this.#poll = undefined;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #rewire(): void {
    const folders = this.#watched.eventFolders ?? eventFoldersOf(this.#watched);
    const wanted = new Set(folders.slice(0, WATCHERS_MAX));
    for (const [directory, watcher] of this.#watchers) {
      if (wanted.has(directory)) continue;
      watcher.close();
      this.#watchers.delete(directory);
    }
    for (const directory of wanted) {
      if (this.#watchers.has(directory)) continue;
      try {
        const watcher = watch(directory, { persistent: false }, () => this.#noticed());
        // A directory that goes away is found by polling when it is back.
        watcher.on("error", () => this.#drop(directory));
        this.#watchers.set(directory, watcher);
      } catch {
        // Not there, or no watches left: polling sees it.
      }
    }
  }

  #drop(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
    this.#noticed();
  }

  /** An event: waits until the burst is over, since a checkout of twenty files is one change. */
  #noticed(): void {
    if (this.#closed) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#settle === undefined) this.#burstSinceMs = nowMs;
    else this.#settle.cancel();
    const left = this.#options.settleMaxMs - (nowMs - this.#burstSinceMs);
    this.#settle = this.#options.clock.after(Math.max(0, Math.min(this.#options.settleMs, left)), () => {
      this.#settle = undefined;
      void this.#lookOnce(false);
    });
  }

  #armPoll(): void {
    this.#poll?.cancel();
    this.#poll = this.#options.clock.after(this.#options.pollMs, () => {
      const armed = this.#poll;
      void this.#lookOnce(true).finally(() => {
        // Unless it was paused, or armed anew by a load, meanwhile.
        if (!this.#closed && this.#poll === armed) this.#armPoll();
      });
    });
  }

  /** Never rejects: it is a timer that asks. */
  async #lookOnce(polled: boolean): Promise<void> {
    try {
      await this.#look(polled);
    } catch (thrown) {
      this.#options.failed(thrown);
    }
  }

  async #look(polled: boolean): Promise<void> {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.#busy = true;
    let byStamps = polled;
    let hasChanged = false;
    try {
      do {
        this.#again = false;
        hasChanged = false;
        const now = await this.#presentFingerprint(byStamps);
        byStamps = false;
        if (this.#closed || now === this.#fingerprint) continue;
        this.#fingerprint = now;
        hasChanged = true;
        await this.#options.changed();
      } while (this.#again && !this.#closed);
      if (!hasChanged && !this.#closed) this.#options.unchanged();
    } finally {
      this.#busy = false;
    }
  }

  /** The fingerprint as of now; what cannot be read counts as what it is: not there. */
  async #presentFingerprint(byStamps: boolean): Promise<string> {
    const { files, directories } = this.#watched;
    const digests = await this.#digests.of(files, byStamps);
    const entries: [string, readonly string[]][] = [];
    for (const directory of directories) entries.push([directory, await readdir(directory).catch(() => [])]);
    return fingerprintOf(digests, entries);
  }
}

/** The folders that count, those of all files, and those that linked files really lie in. Takes long for many files. */
export function eventFoldersOf({ files, directories }: WatchList): readonly string[] {
  const all = new Set(directories);
  for (const file of files) {
    all.add(dirname(file));
    try {
      all.add(dirname(realpathSync(file)));
    } catch {
      // It does not exist; its folder reports when it does.
    }
  }
  return [...all];
}
