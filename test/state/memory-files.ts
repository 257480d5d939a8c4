/**
 * A disk in memory for tests of the file driver: quick, and as full, broken or torn as a test wants it. What it holds
 * outlives the stores on it, as a disk outlives kill -9.
 */
import { basename, dirname } from "node:path";
import type { Files, OpenFile } from "../../src/state/file/files.ts";

/** What a store does with a disk. */
export type DiskAction =
  | "append"
  | "create"
  | "write"
  | "overwrite"
  | "sync"
  | "rename"
  | "remove"
  | "truncate"
  | "sync folder";

/** Throws to make it fail. May say how many of the bytes still arrive. */
export type Weather = (action: DiskAction, path: string) => void;

export interface MemoryDisk extends Files {
  readonly contents: Map<string, Buffer>;
  /** Asked before everything that changes the disk. */
  weather: Weather;
  /** Another process has taken the folder from the one that holds it. */
  replaceHolder(): void;
  /** The process is gone: its lock goes, and what it still tries to do comes to nothing. Returns the disk it leaves. */
  kill(): MemoryDisk;
}

export function memoryDisk(contents = new Map<string, Buffer>()): MemoryDisk {
  let alive = true;
  const act = (action: DiskAction, path: string): void => {
    if (!alive) throw diskError("EKILLED");
    disk.weather(action, path);
  };
  const file = (path: string): Buffer => {
    const found = contents.get(path);
    if (found === undefined) throw diskError("ENOENT");
    return found;
  };
  const append = (path: string, bytes: Uint8Array): void => {
    contents.set(path, Buffer.concat([file(path), bytes]));
  };
  const disk: MemoryDisk = {
    contents,
    boot: "a boot",
    weather: () => {},
    kill() {
      alive = false;
      return memoryDisk(new Map(contents));
    },
    ...memoryLock(),
    list: async (folder) =>
      [...contents.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path)),
    async create(path): Promise<OpenFile> {
      act("create", path);
      contents.set(path, Buffer.alloc(0));
      return {
        append: (bytes) => {
          act("append", path);
          append(path, bytes);
        },
        write: async (bytes) => {
          act("write", path);
          append(path, bytes);
        },
        sync: async () => act("sync", path),
        close: async () => {},
      };
    },
    async overwrite(path, bytes) {
      act("overwrite", path);
      contents.set(
        path,
        Buffer.concat([bytes, (contents.get(path) ?? Buffer.alloc(0)).subarray(bytes.length)]),
      );
    },
    async *read(path, from = 0) {
      yield file(path).subarray(from);
    },
    bytes: async (path) => file(path).length,
    async truncate(path, bytes) {
      act("truncate", path);
      contents.set(path, file(path).subarray(0, bytes));
    },
    async rename(from, to) {
      act("rename", from);
      contents.set(to, file(from));
      contents.delete(from);
    },
    async remove(path) {
      act("remove", path);
      contents.delete(path);
    },
    syncFolder: async (path) => act("sync folder", path),
  };
  return disk;
}

export function diskError(code: string): Error {
  return Object.assign(new Error(`${code}: as a test wants it`), { code });
}

function memoryLock(): Pick<MemoryDisk, "lock" | "replaceHolder"> {
  let held = false;
  let holder = 0;
  return {
    replaceHolder: () => void (holder += 1),
    async lock() {
      if (held) return { heldBy: process.pid };
      held = true;
      const own = holder;
      const isHeld = (): boolean => holder === own;
      return { heldBy: undefined, isHeld, release: async () => void (held = false) };
    },
  };
}
