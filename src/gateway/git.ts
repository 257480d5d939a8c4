/**
 * Git around a configuration's folder: whether it is changing files (it holds `index.lock` from before the first write
 * until after the last), and the revision for the log: `git rev-parse HEAD`, with `-dirty` when tracked files differ.
 * Outside a work tree, or without git, SLUICE_REVISION. Runs no hooks and no file-system monitor.
 */

import { execFile } from "node:child_process";
import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * A lock that is older was left behind by a git that crashed: it is not waited for. A checkout of many files on a busy
 * machine takes tens of seconds, and only the reload waits for it.
 */
const WAIT_MAX_MS = 120_000;
/** Interval at which a wait is reported. */
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

  /** Resolves when none is held, or when the longest wait is over. `waiting` is called periodically until then. */
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
    return stat === undefined ? undefined : `${stat.ino}/${stat.size}/${stat.mtimeNs}`;
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

const TIMEOUT_MS = 3_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;
/** As a line of the log shows it. */
const REVISION_CHARACTERS_MAX = 100;

/** "" where no revision is known. `path`: the configuration's file or folder. Never rejects. */
export async function revisionOf(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const stated = (env["SLUICE_REVISION"] ?? "").slice(0, REVISION_CHARACTERS_MAX);
  try {
    const folder = statSync(path).isDirectory() ? path : dirname(path);
    if (!isInWorkTree(folder)) return stated;
    const head = (await git(folder, ["rev-parse", "HEAD"])).trim();
    if (!/^[0-9a-f]{40,64}$/.test(head)) return stated;
    const changed = await git(folder, ["status", "--porcelain", "--untracked-files=no", "--", "."]);
    return changed === "" ? head : `${head}-dirty`;
  } catch {
    return stated;
  }
}

/** Another text whenever HEAD has become another one; undefined outside a work tree. `path`: as above. */
export function headStamp(path: string): string | undefined {
  try {
    const folder = statSync(path).isDirectory() ? path : dirname(path);
    for (let at = resolve(folder); ; at = dirname(at)) {
      const directory = gitDirectory(join(at, ".git"));
      if (directory !== undefined)
        return identityOf(join(directory, "logs", "HEAD")) ?? identityOf(join(directory, "HEAD"));
      if (dirname(at) === at) return undefined;
    }
  } catch {
    return undefined; // The configuration is gone: the next load says so.
  }
}

/** Most configurations in containers are in none: then no process is started. */
function isInWorkTree(folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return true;
    if (dirname(at) === at) return false;
  }
}

function git(folder: string, args: readonly string[]): Promise<string> {
  const safe = ["-C", folder, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
  // No locks: a reload must not be in the way of a checkout.
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], GIT_OPTIONAL_LOCKS: "0" };
  return new Promise((settle, fail) => {
    const options = { env, timeout: TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX };
    execFile("git", [...safe, ...args], options, (error, output) =>
      error === null ? settle(output) : fail(error),
    );
  });
}
