/**
 * The file system as far as the file driver needs it, so that tests can replace it with disks that
 * are full or broken. All of it throws or rejects with the system's error; it decides nothing.
 */
import { constants, createReadStream, readFileSync, readlinkSync, writeSync } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat, truncate } from "node:fs/promises";
import { checkFolder, makeFolder } from "./folder-check.ts";
import { type FolderLock, lockFolder } from "./folder-lock.ts";

export interface Files {
  /** The machine's boot, which its monotonic clock counts from; "": not known. */
  readonly boot: string;
  /** Takes the folder for this process, and makes it when it is not there. */
  lock(folder: string): Promise<FolderLock>;
  /** Warnings of who may reach it. Rejects with an Error for people where it must not be used. */
  check?(folder: string): Promise<readonly string[]>;
  /** Names in it. Rejects with ENOENT when it is not there. */
  list(folder: string): Promise<readonly string[]>;
  /** Makes an empty file, or empties the one that is there. */
  create(path: string): Promise<OpenFile>;
  /** Writes over the beginning of a file, and makes it when it is not there. */
  overwrite(path: string, bytes: Uint8Array): Promise<void>;
  /** In pieces of any size. `from`: the first byte wanted. */
  read(path: string, from?: number): AsyncIterable<Uint8Array>;
  bytes(path: string): Promise<number>;
  truncate(path: string, bytes: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Does nothing when it is not there. */
  remove(path: string): Promise<void>;
  /** Makes new names in it outlive a loss of power. */
  syncFolder(folder: string): Promise<void>;
}

export interface OpenFile {
  /** Adds to its end. When it returns, the kernel has all bytes, and the end of this process loses none. */
  append(bytes: Uint8Array): void;
  /** The same, without holding up the event loop. */
  write(bytes: Uint8Array): Promise<void>;
  /** When it resolves, what was added outlives a loss of power. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

const READ_BYTES = 1 << 20;

const { O_CREAT, O_NOFOLLOW, O_RDONLY, O_TRUNC, O_WRONLY } = constants;
/** A link in the folder must not redirect a write to another file. */
const CREATE = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
const OVERWRITE = O_WRONLY | O_CREAT | O_NOFOLLOW;
const READ = O_RDONLY | O_NOFOLLOW;

/** The machine's own. */
export const diskFiles: Files = {
  boot: machineBoot(),
  lock: async (folder) => {
    await makeFolder(folder);
    return lockFolder(folder);
  },
  check: checkFolder,
  list: (folder) => readdir(folder),
  create: async (path) => openFile(await open(path, CREATE, 0o600)),
  async overwrite(path, bytes) {
    const handle = await open(path, OVERWRITE, 0o600);
    try {
      await handle.write(bytes, 0, bytes.length, 0);
    } finally {
      await handle.close();
    }
  },
  async *read(path, from = 0) {
    const handle = await open(path, READ);
    yield* createReadStream("", { fd: handle, start: from, highWaterMark: READ_BYTES });
  },
  bytes: async (path) => (await stat(path)).size,
  truncate: (path, bytes) => truncate(path, bytes),
  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { force: true }),
  async syncFolder(folder) {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

function openFile(handle: FileHandle): OpenFile {
  return {
    append(bytes) {
      for (let done = 0; done < bytes.length; ) done += writeSync(handle.fd, bytes, done);
    },
    async write(bytes) {
      for (let done = 0; done < bytes.length; ) done += (await handle.write(bytes, done)).bytesWritten;
    },
    sync: () => handle.datasync(),
    close: () => handle.close(),
  };
}

/** Containers of one machine share its boot; a time namespace has a clock of its own. */
function machineBoot(): string {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const [namespace = ""] = /\d+/.exec(readlinkSync("/proc/self/ns/time")) ?? [];
    return `${boot} ${namespace}`;
  } catch {
    return "";
  }
}
