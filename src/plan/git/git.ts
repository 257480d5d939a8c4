/**
 * The `git` command, for reading only: no shell, no hooks, no file-system monitor, no pager, no network, no prompt. A
 * repository may come from a stranger, so nothing that its configuration names is run.
 */
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

export type Env = Readonly<Record<string, string | undefined>>;

/** A side of a plan cannot be read for a reason that is not in its files. */
export class SideError extends Error {
  /** What to do about it. */
  readonly help: string | undefined;
  /** False: what was asked for is right, and cannot be done here. */
  readonly isUsage: boolean;

  constructor(message: string, help?: string, { isUsage = true }: { readonly isUsage?: boolean } = {}) {
    super(message);
    this.help = help;
    this.isUsage = isUsage;
  }
}

export interface GitOutput {
  readonly ok: boolean;
  /** Killed for writing more than the limit; `stdout` is then incomplete. */
  readonly isTooLong: boolean;
  readonly stdout: Buffer;
  /** First line of what git said of a failure. */
  readonly message: string;
}

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

const SAFE = [
  ...["--no-pager", "--literal-pathspecs"],
  ...["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"],
  // Missing objects of a partial clone are not fetched.
  ...["-c", "protocol.allow=never"],
];

/** Variables that say where the user, the repository and its objects are; hooks on a server set the latter. */
const PASSED =
  /^(?:PATH|HOME|XDG_CONFIG_HOME|SystemRoot|GIT_CEILING_DIRECTORIES|GIT_ALTERNATE_OBJECT_DIRECTORIES|GIT_QUARANTINE_PATH|GIT_CONFIG_\w+)$/;
const PASSED_PATHS = ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];

export class Git {
  readonly #folder: string;
  readonly #env: Record<string, string>;

  /** `folder`: where it runs. `cwd`: what relative paths in variables are relative to. */
  constructor(folder: string, env: Env, cwd: string) {
    this.#folder = folder;
    this.#env = gitEnv(env, cwd);
  }

  /** Throws SideError when there is no git, or it does not end. */
  run(args: readonly string[], input?: string, bytesMax = OUTPUT_BYTES_MAX): GitOutput {
    const { error, status, stdout, stderr } = spawnSync("git", [...SAFE, ...args], {
      cwd: this.#folder,
      env: this.#env,
      input: input ?? "",
      timeout: TIMEOUT_MS,
      maxBuffer: bytesMax,
      killSignal: "SIGKILL",
    });
    const code = error === undefined || !("code" in error) ? "" : String(error.code);
    if (code === "ENOENT")
      throw new SideError("`git` is not installed", "install it, or name a folder or file");
    if (code === "ETIMEDOUT") throw failure(`\`git ${args[0]}\` took over ${TIMEOUT_MS / 1000} s`);
    const isTooLong = code === "ENOBUFS";
    if (error !== undefined && !isTooLong) throw failure(`\`git ${args[0]}\` could not be run: ${code}`);
    const [message = ""] = stderr.toString("utf8").split("\n", 1);
    return { ok: status === 0, isTooLong, stdout, message: message.replace(/^(?:fatal|error): /, "") };
  }
}

/** Of something that is no mistake of the caller. */
export function failure(message: string, help?: string): SideError {
  return new SideError(message, help, { isUsage: false });
}

function gitEnv(env: Env, cwd: string): Record<string, string> {
  const passed: Record<string, string> = {
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
  };
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && PASSED.test(name)) passed[name] = value;
  for (const name of PASSED_PATHS) {
    const value = env[name];
    if (value !== undefined && value !== "") passed[name] = resolve(cwd, value);
  }
  // As git has it for the caller, who may be a hook; here it runs in other folders too.
  if (passed["GIT_DIR"] !== undefined) passed["GIT_WORK_TREE"] ??= cwd;
  return passed;
}
