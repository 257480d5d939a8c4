/**
 * Makes the state folder and checks who can access it. It holds conversations and money: other users of the machine are
 * warned of, and whatever is in the place of a state file that is not a plain file is refused.
 */
import { lstat, mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

const MODE = 0o700;
const STATE_FILE = /^(?:journal-|snapshot-|synced)/;

/** Rejects with an Error for people when it cannot be used. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await make(resolve(folder));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `the state folder ${folder} cannot be used (${reason}); set state.directory to a folder that this user may write to`,
    );
  }
}

/** One folder after the other: the system's own way to make all at once never ends on file systems such as /proc. */
async function make(folder: string): Promise<void> {
  const failed = await mkdir(folder, { mode: MODE }).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  );
  if (failed === undefined) return;
  if (failed.code === "ENOENT" && dirname(folder) !== folder) {
    await make(dirname(folder));
    await mkdir(folder, { mode: MODE });
    return;
  }
  if (failed.code !== "EEXIST" || !(await stat(folder)).isDirectory()) throw failed;
}

/** Warnings for the log. Rejects with an Error for people where a state file is a link, or no file at all. */
export async function checkFolder(folder: string): Promise<readonly string[]> {
  const warnings: string[] = [];
  const user = process.getuid?.();
  const { mode, uid } = await stat(folder);
  const others = mode & 0o007;
  if (user !== undefined && others !== 0) {
    const may = (others & 0o2) === 0 ? "read" : "read and replace";
    const shown = (mode & 0o777).toString(8);
    warnings.push(
      `other users of this machine may ${may} the state folder (mode ${shown}): chmod 700 ${folder}`,
    );
  }
  if (user !== undefined && uid !== user && uid !== 0)
    warnings.push(`the state folder belongs to user ${uid}, not to user ${user} who runs this process`);
  for (const name of await readdir(folder)) {
    if (!STATE_FILE.test(name)) continue;
    const file = await lstat(join(folder, name));
    if (!file.isFile())
      throw new Error(
        `${join(folder, name)} is not a plain file (a link?): somebody has put it there, remove it`,
      );
    if (user !== undefined && file.uid !== user && file.uid !== 0)
      warnings.push(`${name} in the state folder belongs to user ${file.uid}`);
  }
  return warnings;
}
