/**
 * The git revision of a configuration's folder, for the log: `git rev-parse HEAD`, with `-dirty` when tracked files of the
 * folder differ. Outside a work tree, or without git, SLUICE_REVISION. Runs no hooks and no file-system monitor.
 */
import { execFile } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

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
