/**
 * The door to the file system, as narrow as the file driver needs it, so that tests can stand disks in its place that
 * are full or broken. All of it throws or rejects with the system's error; it decides nothing.
 */
import { createReadStream, writeSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, truncate } from "node:fs/promises";
import { type FolderLock, lockFolder } from "./folder-lock.ts";

export interface Files {
  /** Takes the folder for this process, and makes it when it is not there. */
  lock(folder: string): Promise<FolderLock>;
  /** Names in it. Rejects with ENOENT when it is not there. */
  list(folder: string): Promise<readonly string[]>;
  /** Makes an empty file, or empties the one that is there. */
  create(path: string): Promise<OpenFile>;
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

/** The machine's own. */
export const diskFiles: Files = {
  lock: async (folder) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return lockFolder(folder);
  },
  list: (folder) => readdir(folder),
  create: async (path) => openFile(await open(path, "w", 0o600)),
  read: (path, from = 0) => createReadStream(path, { start: from, highWaterMark: READ_BYTES }),
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
