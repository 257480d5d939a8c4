/**
 * Ways in which files change under a running gateway, for the reload storm: git checkouts among many unrelated files,
 * and ConfigMap swaps as the kubelet does them. Every revision names itself in two files that are read far apart.
 */
import { execFile } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** One revision of a configuration, as files by their relative paths. */
export type Revision = Readonly<Record<string, string>>;

/** A working tree with many files between the first and the last of the configuration. */
export class Checkouts {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Commits each revision under its tag; the unrelated files differ in all of them, so that a checkout takes long. */
  async prepare(revisions: ReadonlyMap<string, Revision>, unrelated: number): Promise<void> {
    await this.#git("init", "-q");
    for (const [tag, files] of revisions) {
      mkdirSync(join(this.folder, "middle"), { recursive: true });
      for (let index = 0; index < unrelated; index++)
        writeFileSync(join(this.folder, "middle", `${index}.txt`), `${tag} ${index}\n`);
      write(this.folder, files);
      await this.#git("add", "-A");
      await this.#git("commit", "-qm", tag);
      await this.#git("tag", tag);
    }
  }

  async checkout(tag: string): Promise<void> {
    await this.#git("checkout", "-q", "-f", tag);
  }

  async #git(...args: string[]): Promise<void> {
    const identity = [
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@example.com",
      "-c",
      "core.hooksPath=/dev/null",
    ];
    await run("git", [...identity, "-c", "gc.auto=0", ...args], { cwd: this.folder });
  }
}

/** A mounted ConfigMap: links into `..data`, which is itself a link that is replaced by a rename. */
export class ConfigMap {
  readonly #folder: string;
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  publish(files: Revision): void {
    const name = `..revision_${this.#count++}`;
    write(join(this.#folder, name), files);
    symlinkSync(name, join(this.#folder, "..data_tmp"));
    renameSync(join(this.#folder, "..data_tmp"), join(this.#folder, "..data"));
    if (this.#count > 1) {
      rmSync(join(this.#folder, `..revision_${this.#count - 2}`), { recursive: true });
      return;
    }
    for (const file of Object.keys(files)) symlinkSync(join("..data", file), join(this.#folder, file));
  }
}

function write(folder: string, files: Revision): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}
