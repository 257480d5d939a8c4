/**
 * The files of a git revision, without a checkout: folders by `git ls-tree`, contents by `git cat-file --batch`. What a
 * configuration is likely to need is read ahead in two processes; the rest folder by folder when it is asked for. Above
 * and outside the repository is the disk, for overlays that are kept elsewhere.
 */
import { isAbsolute, join, posix, relative, sep } from "node:path";
import {
  DISK,
  type FileKind,
  type Files,
  type FolderEntry,
  type Unreadable,
} from "../../config/read/files.ts";
import { failure, type Git, type SideError } from "./git.ts";

export interface Revision {
  readonly git: Git;
  /** Full hash of the commit. */
  readonly commit: string;
  /** Absolute: the repository's top folder as `Files` shows it. */
  readonly top: string;
}

/** One entry of a tree, as `git ls-tree` has it. */
interface Entry {
  readonly type: "file" | "folder" | "link" | "submodule";
  readonly id: string;
}

/** Contents that are held until they are read. */
const AHEAD_BYTES_MAX = 64 * 1024 * 1024;
/** Of one `cat-file`. */
const AHEAD_FILES_MAX = 5_000;
const LINK_BYTES_MAX = 4_096;
/** Read ahead: what configurations are made of, and prompts. */
const LIKELY = /\.(?:ya?ml|json|md|txt|[cm]?[jt]s)$/;
const LFS = "version https://git-lfs.github.com/spec/";

export class RevisionFiles implements Files {
  readonly #revision: Revision;
  /** By path in the repository; the top is "". */
  readonly #entries = new Map<string, Entry>();
  readonly #children = new Map<string, Map<string, Entry>>();
  /** Folders all of whose entries are known. */
  readonly #listed = new Set<string>();
  /** By id: contents read ahead, and what is known not to be readable. */
  readonly #contents = new Map<string, Buffer | Unreadable>();
  #aheadBytes = 0;

  constructor(revision: Revision) {
    this.#revision = revision;
    this.#add("", { type: "folder", id: revision.commit });
  }

  /** Reads everything below a folder that a configuration there is likely to need. */
  readAhead(folder: string): void {
    const path = this.#inside(folder);
    if (path === undefined) return;
    const below = path === "" ? [] : ["--", `${path}/`];
    const { commit, git } = this.#revision;
    const { ok, isTooLong, stdout } = git.run(["ls-tree", "-r", "-t", "-z", "--full-tree", commit, ...below]);
    // A repository with more files is listed folder by folder as needed.
    if (!ok || isTooLong) return;
    const found = this.#take(stdout, "");
    const folders = found.filter(({ entry, name }) => entry.type === "folder" && isBelow(path, name));
    if (path === "" || found.some(({ name }) => isBelow(path, name) && name !== path)) this.#listed.add(path);
    for (const { name } of folders) this.#listed.add(name);
    const likely = found.filter(
      ({ entry, name }) =>
        entry.type === "link" ||
        (entry.type === "file" && LIKELY.test(name) && !/(?:^|\/)(?:\.|node_modules\/)/.test(name)),
    );
    if (likely.length <= AHEAD_FILES_MAX) this.#load(likely.map(({ entry }) => entry.id));
  }

  kind(path: string): FileKind | undefined {
    const inside = this.#inside(path);
    if (inside === undefined) return DISK.kind(path);
    const entry = this.#find(inside);
    if (entry === undefined) return this.#submoduleAbove(inside) === undefined ? undefined : "file";
    if (entry.type === "submodule") return "folder";
    if (entry.type !== "link") return entry.type;
    const target = this.#content(entry, LINK_BYTES_MAX, inside);
    return target instanceof Uint8Array ? { link: Buffer.from(target).toString("utf8") } : "other";
  }

  entries(path: string): readonly FolderEntry[] | undefined {
    const inside = this.#inside(path);
    if (inside === undefined) return DISK.entries(path);
    const entry = this.#find(inside);
    if (entry?.type === "submodule") throw inSubmodule(inside);
    if (entry?.type !== "folder") return undefined;
    this.#list(inside);
    const children = this.#children.get(inside) ?? new Map<string, Entry>();
    return [...children].map(([name, { type }]) => ({
      name,
      isFolder: type === "folder" || type === "submodule",
    }));
  }

  read(path: string, bytesMax: number): Uint8Array | Unreadable {
    const inside = this.#inside(path);
    if (inside === undefined) return DISK.read(path, bytesMax);
    const entry = this.#find(inside);
    if (entry === undefined) {
      const submodule = this.#submoduleAbove(inside);
      if (submodule === undefined) return { unreadable: "does not exist" };
      return {
        unreadable: `is in the git submodule \`${submodule}\`, whose files this revision does not have`,
      };
    }
    if (entry.type !== "file") return { unreadable: "is a directory" };
    return this.#content(entry, bytesMax, inside);
  }

  /** Its path in the repository; undefined: it is elsewhere. */
  #inside(path: string): string | undefined {
    const way = relative(this.#revision.top, path);
    if (way === "..") return undefined;
    if (way.startsWith(`..${sep}`) || isAbsolute(way)) return undefined;
    return way.split(sep).join("/");
  }

  #find(path: string): Entry | undefined {
    const known = this.#entries.get(path);
    if (known !== undefined || path === "") return known;
    const parent = parentOf(path);
    if (this.#find(parent)?.type !== "folder") return undefined;
    this.#list(parent);
    return this.#entries.get(path);
  }

  #submoduleAbove(path: string): string | undefined {
    for (let at = parentOf(path); at !== ""; at = parentOf(at))
      if (this.#entries.get(at)?.type === "submodule") return at;
    return undefined;
  }

  /** Learns the entries of one folder. */
  #list(folder: string): void {
    if (this.#listed.has(folder)) return;
    this.#listed.add(folder);
    const { id } = this.#entries.get(folder) ?? { id: "" };
    const { ok, isTooLong, stdout, message } = this.#revision.git.run(["ls-tree", "-z", "--full-tree", id]);
    if (isTooLong) throw failure(`${folder} has too many files to be listed`);
    if (!ok) throw failure(`git cannot list ${folder || "the repository"}: ${message}`, PARTIAL_HELP);
    this.#take(stdout, folder);
  }

  #take(output: Buffer, folder: string): readonly { readonly name: string; readonly entry: Entry }[] {
    const found = [];
    for (const line of output.toString("utf8").split("\0")) {
      // `<mode> <type> <id>`, a tab, the path.
      const tab = line.indexOf("\t");
      if (tab < 0) continue;
      const [mode = "", , id = ""] = line.slice(0, tab).split(" ");
      const path = line.slice(tab + 1);
      const name = folder === "" ? path : `${folder}/${path}`;
      const entry = { type: typeOf(mode), id };
      this.#add(name, entry);
      found.push({ name, entry });
    }
    return found;
  }

  #add(path: string, entry: Entry): void {
    this.#entries.set(path, entry);
    if (path === "") return;
    const parent = parentOf(path);
    const children = this.#children.get(parent) ?? new Map<string, Entry>();
    this.#children.set(parent, children.set(posix.basename(path), entry));
  }

  #content({ id }: Entry, bytesMax: number, path: string): Uint8Array | Unreadable {
    if (!this.#contents.has(id)) this.#load([id, ...this.#siblings(path)]);
    // Whatever else did not fit: this one is read.
    const content = this.#contents.get(id) ?? this.#readOne(id, bytesMax);
    if (!(content instanceof Uint8Array)) return content;
    if (content.length > bytesMax) return tooLarge(bytesMax);
    if (content.subarray(0, LFS.length).toString("latin1") === LFS)
      return { unreadable: "is stored in Git LFS, and a revision holds only its pointer" };
    return content;
  }

  /** Where one file is needed, others of its kind next to it will be. */
  #siblings(path: string): readonly string[] {
    const extension = posix.extname(path);
    const children = [...(this.#children.get(parentOf(path)) ?? [])];
    return children
      .filter(
        ([name, { type, id }]) => type === "file" && name.endsWith(extension) && !this.#contents.has(id),
      )
      .slice(0, AHEAD_FILES_MAX)
      .map(([, { id }]) => id);
  }

  #readOne(id: string, bytesMax: number): Buffer | Unreadable {
    const { ok, isTooLong, stdout } = this.#revision.git.run(
      ["cat-file", "blob", id],
      undefined,
      bytesMax + 1,
    );
    if (isTooLong || stdout.length > bytesMax) return tooLarge(bytesMax);
    return ok ? stdout : MISSING_OBJECT;
  }

  /** Keeps the contents of those objects that fit. */
  #load(ids: readonly string[]): void {
    const wanted = [...new Set(ids)].filter((id) => !this.#contents.has(id));
    if (wanted.length === 0) return;
    const { git } = this.#revision;
    const sizes = git.run(["cat-file", "--batch-check"], `${wanted.join("\n")}\n`);
    const fitting: string[] = [];
    for (const line of sizes.stdout.toString("latin1").split("\n")) {
      const [id = "", type, size] = line.split(" ");
      if (type === "missing") this.#contents.set(id, MISSING_OBJECT);
      if (type !== "blob" || this.#aheadBytes + Number(size) > AHEAD_BYTES_MAX) continue;
      this.#aheadBytes += Number(size);
      fitting.push(id);
    }
    if (fitting.length === 0) return;
    // Each object has a line before it and a line break behind it.
    const bytesMax = AHEAD_BYTES_MAX + fitting.length * 128;
    const { stdout } = git.run(["cat-file", "--batch"], `${fitting.join("\n")}\n`, bytesMax);
    for (const [id, content] of objectsIn(stdout)) this.#contents.set(id, content);
  }
}

/** `<id> blob <size>`, a line break, that many bytes, a line break; again for each object. */
function* objectsIn(output: Buffer): Generator<readonly [id: string, content: Buffer]> {
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(10, at);
    if (end < 0) return;
    const [id = "", type, size] = output.subarray(at, end).toString("latin1").split(" ");
    at = end + 1;
    if (type !== "blob") continue;
    const length = Number(size);
    if (at + length > output.length) return;
    yield [id, output.subarray(at, at + length)];
    at += length + 1;
  }
}

const PARTIAL_HELP =
  "objects are missing in a partial clone: fetch them with `git fetch --refetch --no-filter`";

const MISSING_OBJECT: Unreadable = {
  unreadable: "is not in this clone, which is a partial one: fetch it with `git fetch --refetch --no-filter`",
};

function tooLarge(bytesMax: number): Unreadable {
  return { unreadable: `is larger than ${bytesMax} bytes` };
}

function inSubmodule(path: string): SideError {
  return failure(
    `the configuration includes files of the git submodule \`${path}\`, which a revision does not have`,
    "check both revisions out, and compare the folders",
  );
}

function typeOf(mode: string): Entry["type"] {
  if (mode === "040000") return "folder";
  if (mode === "120000") return "link";
  return mode === "160000" ? "submodule" : "file";
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
}

function isBelow(folder: string, path: string): boolean {
  return folder === "" || path === folder || path.startsWith(`${folder}/`);
}

/** A path in the repository as `Files` shows it. */
export function pathIn({ top }: Pick<Revision, "top">, path: string): string {
  return join(top, ...path.split("/"));
}
