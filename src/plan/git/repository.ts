/** Finds the repository around a path, and which commit a revision names. */
import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { type Env, Git, SideError } from "./git.ts";

export interface Repository {
  readonly git: Git;
  /** Where its top folder is, or would be: absolute, links resolved. For a bare one the working directory. */
  readonly top: string;
  readonly isBare: boolean;
}

/** Names of revisions are no longer than that. */
const REVISION_CHARACTERS_MAX = 500;
// biome-ignore lint/suspicious/noControlCharactersInRegex: no revision has them.
const CONTROL = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const CONTROLS = /[\u0000-\u001f\u007f]/g;

/** Around `path`, which need not exist. Throws SideError when there is none. */
export function repositoryOf(path: string, env: Env, cwd: string): Repository {
  const folder = nearestFolder(path);
  const git = new Git(folder, env, cwd);
  const { ok, stdout, message } = git.run(["rev-parse", "--is-inside-work-tree", "--show-cdup"]);
  if (!ok) throw notFound(message, folder, cwd);
  const [isInside, up = ""] = stdout.toString("utf8").split("\n");
  if (isInside !== "true") return { git, top: realpathSync(cwd), isBare: true };
  return { git, top: resolve(realpathSync(folder), up), isBare: false };
}

function notFound(message: string, folder: string, cwd: string): SideError {
  const shown = relative(cwd, folder) || ".";
  if (/dubious ownership/.test(message))
    return new SideError(
      `git does not trust the repository of ${shown}, since it belongs to another user`,
      `trust it with \`git config --global --add safe.directory ${folder}\``,
    );
  return new SideError(
    `${shown} is not in a git repository`,
    "name what to compare with: `--from PATH`, or `--from running:URL`",
  );
}

function nearestFolder(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    if (existsSync(at) && statSync(at).isDirectory()) return at;
    if (dirname(at) === at) return at;
  }
}

/** The full hash of the commit. Throws SideError when the repository does not have it. */
export function commitOf({ git }: Repository, revision: string): string {
  const isName =
    revision !== "" &&
    !revision.startsWith("-") &&
    revision.length <= REVISION_CHARACTERS_MAX &&
    !CONTROL.test(revision);
  if (!isName) throw new SideError(`'${shownRevision(revision)}' is not a git revision`);
  const { ok, stdout } = git.run(["rev-parse", "--verify", "--quiet", `${revision}^{commit}`]);
  const hash = stdout.toString("utf8").trim();
  if (ok && /^[0-9a-f]{40,64}$/.test(hash)) return hash;
  throw new SideError(
    `revision '${shownRevision(revision)}' does not exist here`,
    unknownHelp(git, revision),
  );
}

function unknownHelp(git: Git, revision: string): string {
  if (!git.run(["rev-parse", "--verify", "--quiet", "HEAD"]).ok)
    return "the repository has no commits yet: commit, or name a folder or file with `--from PATH`";
  const { stdout } = git.run(["rev-parse", "--is-shallow-repository"]);
  if (stdout.toString("utf8").trim() !== "true")
    return "`git log --oneline` lists revisions; branches of a remote need `git fetch` first";
  return (
    "this is a shallow clone, which has only the latest commits: fetch the revision first, " +
    `for example with \`git fetch --depth=1 origin ${/^[\w./-]+$/.test(revision) ? revision.replace(/^origin\//, "") : "BRANCH"}\``
  );
}

function shownRevision(revision: string): string {
  return revision.slice(0, 80).replace(CONTROLS, "?");
}
