/**
 * Loads a configuration from files that may be changing: what was read counts only when the files are still the same
 * afterwards and git is not at work on them; else it is read again. So half a checkout never goes live.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { LoadRequest, WatchList } from "../config/load.ts";
import { contentDigest, fingerprintOf } from "../config/read/source.ts";
import { unsteadyDiagnostic } from "./config-error.ts";
import { GitLocks, revisionOf } from "./git.ts";
import { type Loaded, load } from "./load.ts";
import { eventFoldersOf } from "./watch.ts";

/** More attempts than that, and the load fails; it is retried later. */
const ATTEMPTS_MAX = 20;
/** Between two attempts, twice as long each time. */
const PAUSE_MS = 10;
const PAUSE_MAX_MS = 500;

/** What the load is doing, for the log and for the deadline of the thread that it runs in. */
export type LoadProgress =
  | "alive"
  | { readonly attempt: number }
  /** Lock files of git. */
  | { readonly waitingFor: readonly string[] };

export class SteadyLoads {
  readonly #attemptsMax: number;
  readonly #locks = new GitLocks();
  /** Of the load before: where the files of the next one probably are. */
  #folders: readonly string[] = [];

  constructor(attemptsMax: number = ATTEMPTS_MAX) {
    this.#attemptsMax = attemptsMax;
  }

  async load(request: LoadRequest, progress: (step: LoadProgress) => void = () => {}): Promise<Loaded> {
    this.#locks.forget();
    const named = [request.path, ...request.overlays].flatMap((path) => [
      resolve(path),
      dirname(resolve(path)),
    ]);
    let folders = [...new Set([...named, ...this.#folders])];
    for (let attempt = 1; ; attempt++) {
      await this.#locks.released(folders, (waitingFor) => progress({ waitingFor }));
      progress({ attempt });
      const read = await load(request, () => progress("alive"));
      // Before the files are checked again: a revision made meanwhile belongs to other files.
      const loaded = { ...read, revision: await revisionOf(request.path, request.env) };
      folders = foldersOf(loaded.watch);
      this.#folders = folders;
      // Without all of the files there is nothing to compare.
      const isCut = loaded.errors.some(({ code }) => code === "E0901");
      if (isCut || this.#isSteady(loaded.watch, folders)) {
        return { ...loaded, watch: { ...loaded.watch, eventFolders: eventFoldersOf(loaded.watch) } };
      }
      if (attempt === this.#attemptsMax) {
        const errors = [unsteadyDiagnostic(request.path, attempt)];
        return { ...loaded, config: undefined, errors };
      }
      await new Promise((next) => setTimeout(next, Math.min(PAUSE_MAX_MS, PAUSE_MS * 2 ** attempt)));
    }
  }

  /**
   * Git's lock is checked before and after the files: a checkout that was running while they were read either holds
   * it now, or has left other files than those that were read.
   */
  #isSteady(watch: WatchList, folders: readonly string[]): boolean {
    const isFree = () => this.#locks.heldOver(folders).length === 0;
    return isFree() && presentFingerprint(watch) === watch.fingerprint && isFree();
  }
}

function foldersOf({ files, directories }: WatchList): string[] {
  return [...new Set([...directories, ...files.map((file) => dirname(file))])];
}

function presentFingerprint({ files, directories }: WatchList): string {
  const digests = files.map((file) => [file, presentDigest(file)] as const);
  const entries = directories.map((directory) => [directory, presentNames(directory)] as const);
  return fingerprintOf(digests, entries);
}

function presentDigest(file: string): string | undefined {
  try {
    return contentDigest(readFileSync(file));
  } catch {
    return undefined;
  }
}

function presentNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
