/**
 * Tells whether git is changing the files of a working tree: it holds `index.lock` from before the first file is written
 * until after the last. Reads no repository beyond that.
 */
import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * A lock that is older was left behind by a git that crashed: it is not waited for. A checkout of many files on a busy
 * machine takes tens of seconds, and only the reload waits for it.
 */
const WAIT_MAX_MS = 120_000;
/** How often a wait reports that it is still going on. */
const REPORT_MS = 2_000;
const POLL_MS = 20;
/** Left-behind locks remembered. */
const IGNORED_MAX = 100;

export class GitLocks {
  /** Lock files by folder; undefined: the folder is in no working tree. */
  readonly #byFolder = new Map<string, string | undefined>();
  /** Left behind: path and identity. */
  readonly #ignored = new Map<string, string>();

  /** Locks that are held now over any of these folders. */
  heldOver(folders: Iterable<string>): readonly string[] {
    const locks = new Set<string>();
    for (const folder of folders) {
      for (const one of [folder, realFolder(folder)]) {
        const lock = this.#lockOf(one);
        if (lock !== undefined) locks.add(lock);
      }
    }
    return [...locks].filter((lock) => {
      const identity = identityOf(lock);
      return identity !== undefined && this.#ignored.get(lock) !== identity;
    });
  }

  /** Resolves when none is held, or when the longest wait is over. `waiting` is called now and then until then. */
  async released(folders: readonly string[], waiting: (locks: readonly string[]) => void): Promise<void> {
    const sinceMs = performance.now();
    let reportedMs = Number.NEGATIVE_INFINITY;
    for (;;) {
      const held = this.heldOver(folders);
      if (held.length === 0) return;
      const nowMs = performance.now();
      if (nowMs - sinceMs > WAIT_MAX_MS || held.every(isOld)) {
        for (const lock of held) this.#ignore(lock);
        return;
      }
      if (nowMs - reportedMs >= REPORT_MS) {
        reportedMs = nowMs;
        waiting(held);
      }
      await new Promise((next) => setTimeout(next, POLL_MS));
    }
  }

  /** Folders are looked up anew with each load: a repository may appear or go. */
  forget(): void {
    this.#byFolder.clear();
  }

  #ignore(lock: string): void {
    if (this.#ignored.size >= IGNORED_MAX) this.#ignored.clear();
    this.#ignored.set(lock, identityOf(lock) ?? "");
  }

  /** Of the nearest working tree around the folder. */
  #lockOf(folder: string): string | undefined {
    if (this.#byFolder.has(folder)) return this.#byFolder.get(folder);
    const parent = dirname(folder);
    const directory = gitDirectory(join(folder, ".git"));
    const above = (): string | undefined => (parent === folder ? undefined : this.#lockOf(parent));
    const lock = directory === undefined ? above() : join(directory, "index.lock");
    this.#byFolder.set(folder, lock);
    return lock;
  }
}

/** `.git` is a folder, or in a linked working tree or submodule a file that names one. */
function gitDirectory(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return path;
    if (stat?.isFile() !== true || stat.size > 4096) return existsSync(path) ? path : undefined;
    const [, named] = /^gitdir: (.+)$/m.exec(readFileSync(path, "utf8")) ?? [];
    return named === undefined ? undefined : resolve(dirname(path), named.trim());
  } catch {
    return undefined; // Not readable: as good as no repository.
  }
}

function identityOf(path: string): string | undefined {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    return stat === undefined ? undefined : `${stat.ino}/${stat.mtimeNs}`;
  } catch {
    return undefined;
  }
}

function isOld(lock: string): boolean {
  try {
    const stat = lstatSync(lock, { throwIfNoEntry: false });
    return stat !== undefined && Date.now() - stat.mtimeMs > WAIT_MAX_MS;
  } catch {
    return false;
  }
}

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
