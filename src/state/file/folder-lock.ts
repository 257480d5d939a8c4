/**
 * One process at a time holds a folder. A holder is an empty file whose name says who it is, so it is there completely or
 * not at all, even on a full disk. Whether it lives is asked of the kernel where that can be done: by its process id in one
 * namespace, by its socket from another container; elsewhere its file must be touched periodically. A holder that was taken
 * for dead finds its file removed (`isHeld`): it must ask after each write, and may then write no more.
 */
import { randomInt } from "node:crypto";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { open, readdir, rm, stat, utimes } from "node:fs/promises";
import { createConnection, createServer, type Server } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** `heldBy`: the process that has the folder already. */
export type FolderLock =
  | { readonly heldBy: number }
  | {
      readonly heldBy: undefined;
      /** False: another process has taken the folder since. */
      isHeld(): boolean;
      release(): Promise<void>;
    };

/** Two that try at the same moment see each other, back off, and retry after different delays. */
const ATTEMPTS = 20;
const PAUSE_MS_MAX = 40;

/** How often a holder touches its file. */
const BEAT_MS = 500;
/** A holder whose file is not touched for so long is dead, where nothing else can tell. A start waits that long for it. */
const BEATS_STOPPED_MS = 4000;
const LOOK_MS = 100;
/** Longer paths cannot be a socket's. */
const SOCKET_PATH_MAX = 100;

interface Holder {
  readonly name: string;
  readonly pid: number;
  /** When the process began, in ticks since boot, since process ids are reused. */
  readonly startTicks: string;
  readonly boot: string;
  /** The process's namespace of process ids. */
  readonly namespace: string;
}

const NAME = /^lock\.(\d+)\.(\d+)\.([0-9a-f]+)\.(\d+)$/;
/** Of this process: the name of a lock alone does not distinguish two stores in one process. */
const heldHere = new Set<string>();

export interface LockTimes {
  readonly beatMs?: number;
  readonly stoppedMs?: number;
}

/** The folder must be there. Waits for holders of which nothing but time can tell whether they live. */
export async function lockFolder(path: string, times: LockTimes = {}): Promise<FolderLock> {
  const folder = resolve(path);
  if (heldHere.has(folder)) return { heldBy: process.pid };
  heldHere.add(folder);
  const presence = new Presence(folder, times.beatMs ?? BEAT_MS);
  try {
    const heldBy = await claim(folder, presence, times.stoppedMs ?? BEATS_STOPPED_MS);
    if (heldBy === undefined) return held(folder, presence);
    heldHere.delete(folder);
    await presence.end();
    return { heldBy };
  } catch (error) {
    heldHere.delete(folder);
    await presence.end();
    throw error;
  }
}

/** The process that holds the folder, found without taking it; undefined: none. */
export async function folderHolder(path: string, stoppedMs = BEATS_STOPPED_MS): Promise<number | undefined> {
  const [holder] = await new Others(resolve(path), stoppedMs).alive("");
  return holder?.pid;
}

/**
 * Says that it is here, and only then looks who else is: of any two, the one that looks later sees the other, so that
 * both can never hold the folder.
 */
async function claim(folder: string, own: Presence, stoppedMs: number): Promise<number | undefined> {
  const others = new Others(folder, stoppedMs);
  /** How often each was seen: the holder more often than those who come for the folder too. */
  const seen = new Map<number, number>();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    await own.show();
    const alive = await others.alive(own.name);
    if (alive.length === 0) {
      await others.removeDead(own.name);
      return undefined;
    }
    await own.hide();
    for (const { pid } of alive) seen.set(pid, (seen.get(pid) ?? 0) + 1);
    await pause(randomInt(1, PAUSE_MS_MAX));
  }
  const [most] = [...seen].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? 0;
}

function held(folder: string, presence: Presence): FolderLock {
  return {
    heldBy: undefined,
    isHeld: () => existsSync(join(folder, presence.name)),
    async release() {
      heldHere.delete(folder);
      await presence.end();
    },
  };
}

/** How this process shows others that it is here: by its file, touched periodically, and by a socket that the kernel ends with it. */
class Presence {
  readonly name: string;
  readonly #folder: string;
  readonly #beatMs: number;
  #socket: Promise<Server | undefined> | undefined;
  #beat: NodeJS.Timeout | undefined;

  constructor(folder: string, beatMs: number) {
    this.name = nameOf(self());
    this.#folder = folder;
    this.#beatMs = beatMs;
  }

  async show(): Promise<void> {
    this.#socket ??= listen(socketOf(this.#folder, self()));
    await this.#socket;
    const path = join(this.#folder, this.name);
    await (await open(path, "w", 0o600)).close();
    this.#beat ??= setInterval(() => {
      const now = new Date();
      // A failed touch is ignored: there are other signs that the process is alive.
      utimes(path, now, now).catch(() => {});
    }, this.#beatMs).unref();
  }

  async hide(): Promise<void> {
    clearInterval(this.#beat);
    this.#beat = undefined;
    await rm(join(this.#folder, this.name), { force: true });
  }

  async end(): Promise<void> {
    await this.hide();
    const server = await this.#socket;
    server?.close();
    await rm(socketOf(this.#folder, self()), { force: true });
  }
}

/** The holders that others have left in a folder, or still are. */
class Others {
  readonly #folder: string;
  readonly #stoppedMs: number;
  /** By name: when its file was last touched, by its own clock, and since when that is known, by this process's. */
  readonly #watched = new Map<string, { readonly touchedMs: number; readonly sinceMs: number }>();

  constructor(folder: string, stoppedMs: number) {
    this.#folder = folder;
    this.#stoppedMs = stoppedMs;
  }

  /** Those that live. Waits until of each it is known, or of one that it does. */
  async alive(ownName: string): Promise<readonly Holder[]> {
    for (;;) {
      const alive: Holder[] = [];
      let unknown = false;
      for (const holder of await this.#list(ownName)) {
        const lives = await this.#lives(holder);
        if (lives === true) alive.push(holder);
        unknown ||= lives === undefined;
      }
      if (alive.length > 0 || !unknown) return alive;
      await pause(LOOK_MS);
    }
  }

  /** From now on those that were taken for dead can see that they hold the folder no more. */
  async removeDead(ownName: string): Promise<void> {
    for (const holder of await this.#list(ownName)) {
      await rm(join(this.#folder, holder.name), { force: true });
      await rm(socketOf(this.#folder, holder), { force: true });
    }
  }

  async #list(ownName: string): Promise<readonly Holder[]> {
    const names = await readdir(this.#folder);
    return names.flatMap((name) => (name === ownName ? [] : holderOf(name)));
  }

  /** undefined: it is not known yet. */
  async #lives(holder: Holder): Promise<boolean | undefined> {
    const { boot, namespace } = self();
    if (holder.boot === boot && holder.namespace === namespace)
      return holder.startTicks === startTicksOf(holder.pid);
    if (await listens(socketOf(this.#folder, holder))) return true;
    const touchedMs = await stat(join(this.#folder, holder.name)).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (touchedMs === undefined) return false;
    // Only that it changes counts: the clocks of two machines may differ by any amount.
    const before = this.#watched.get(holder.name);
    if (before?.touchedMs === touchedMs)
      return performance.now() - before.sinceMs >= this.#stoppedMs ? false : undefined;
    this.#watched.set(holder.name, { touchedMs, sinceMs: performance.now() });
    return before === undefined ? undefined : true;
  }
}

function socketOf(folder: string, { pid, namespace }: Pick<Holder, "pid" | "namespace">): string {
  return join(folder, `lock-${pid}-${namespace}.sock`);
}

/** undefined: the file system has no sockets, or the path is too long for one. */
function listen(path: string): Promise<Server | undefined> {
  if (path.length > SOCKET_PATH_MAX) return Promise.resolve(undefined);
  return new Promise((done) => {
    void rm(path, { force: true }).then(() => {
      const server = createServer((socket) => socket.destroy());
      server.once("error", () => done(undefined));
      server.listen(path, () => done(server)).unref();
    });
  });
}

/** Whether a living process, be it stopped, listens at a socket. The kernel answers, not the process. */
function listens(path: string): Promise<boolean> {
  if (path.length > SOCKET_PATH_MAX) return Promise.resolve(false);
  return new Promise((done) => {
    const socket = createConnection(path);
    const end = (lives: boolean): void => {
      socket.destroy();
      done(lives);
    };
    socket.once("connect", () => end(true));
    // Too many wait for it already: it is there.
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code === "EAGAIN"));
  });
}

function holderOf(name: string): Holder[] {
  const [, pid, startTicks = "", boot = "", namespace = ""] = NAME.exec(name) ?? [];
  return pid === undefined ? [] : [{ name, pid: Number(pid), startTicks, boot, namespace }];
}

function nameOf({ pid, startTicks, boot, namespace }: Omit<Holder, "name">): string {
  return `lock.${pid}.${startTicks}.${boot}.${namespace}`;
}

function self(): Omit<Holder, "name"> {
  return {
    pid: process.pid,
    startTicks: startTicksOf(process.pid) ?? "0",
    boot: textOf(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8)) ?? "0",
    namespace: /\d+/.exec(textOf(() => readlinkSync("/proc/self/ns/pid")) ?? "")?.[0] ?? "0",
  };
}

/** undefined: there is no such process. Where the system does not say when one began, "0" for all that live. */
function startTicksOf(pid: number): string | undefined {
  const stat = textOf(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat !== undefined) {
    // The name of the program, in brackets, may hold anything. After it: the state, and 19 fields on the time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  }
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return undefined;
  }
  return "0";
}

function textOf(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
