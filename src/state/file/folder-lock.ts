/**
 * One process at a time holds a folder. A holder is an empty file whose name says who it is, so it is there whole or
 * not at all, even on a full disk; one whose process is gone stops nobody. Meant for one machine: not for network disks.
 */
import { randomInt } from "node:crypto";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { open, readdir, rm, stat, utimes } from "node:fs/promises";
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

/** Two that come at the same moment see each other, step back, and come again after a while of their own. */
const ATTEMPTS = 20;
const PAUSE_MS_MAX = 40;

/** How a holder in another container, whose process cannot be seen from here, shows that it lives. */
const BEAT_MS = 1000;
const BEATS_STOPPED_MS = 5000;

interface Holder {
  readonly name: string;
  readonly pid: number;
  /** When the process began, in ticks since boot: process ids come again. */
  readonly startTicks: string;
  readonly boot: string;
  /** The process's namespace of process ids. */
  readonly namespace: string;
}

const NAME = /^lock\.(\d+)\.(\d+)\.([0-9a-f]+)\.(\d+)$/;
/** Of this process: by its name alone a lock says nothing of two stores in one. */
const heldHere = new Set<string>();

/** The folder must be there. */
export async function lockFolder(path: string): Promise<FolderLock> {
  const folder = resolve(path);
  if (heldHere.has(folder)) return { heldBy: process.pid };
  heldHere.add(folder);
  try {
    const heldBy = await claim(folder);
    if (heldBy === undefined) return held(folder);
    heldHere.delete(folder);
    return { heldBy };
  } catch (error) {
    heldHere.delete(folder);
    throw error;
  }
}

/**
 * Says that it is here, and only then looks who else is: of any two, the one that looks later sees the other, so that
 * both can never go on.
 */
async function claim(folder: string): Promise<number | undefined> {
  const own = nameOf(self());
  /** How often each was seen: whoever has it more often than those who come for it too. */
  const seen = new Map<number, number>();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    await (await open(join(folder, own), "w", 0o600)).close();
    const others = (await readdir(folder)).flatMap((name) => (name === own ? [] : holderOf(name)));
    const alive = [];
    for (const other of others) if (await isAlive(folder, other)) alive.push(other);
    if (alive.length === 0) {
      for (const { name } of others) await rm(join(folder, name), { force: true });
      return undefined;
    }
    await rm(join(folder, own), { force: true });
    for (const { pid } of alive) seen.set(pid, (seen.get(pid) ?? 0) + 1);
    await pause(randomInt(1, PAUSE_MS_MAX));
  }
  const [most] = [...seen].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? 0;
}

function held(folder: string): FolderLock {
  const path = join(folder, nameOf(self()));
  const beat = setInterval(() => {
    const now = new Date();
    // A beat that cannot be written is no reason to stop: the process can be seen to live by its id as well.
    utimes(path, now, now).catch(() => {});
  }, BEAT_MS).unref();
  return {
    heldBy: undefined,
    isHeld: () => existsSync(path),
    async release() {
      clearInterval(beat);
      heldHere.delete(folder);
      await rm(path, { force: true });
    },
  };
}

async function isAlive(folder: string, holder: Holder): Promise<boolean> {
  const { boot, namespace } = self();
  if (holder.boot !== boot) return false;
  if (holder.namespace === namespace) return holder.startTicks === startTicksOf(holder.pid);
  const beatAtMs = await stat(join(folder, holder.name)).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  return Date.now() - beatAtMs < BEATS_STOPPED_MS;
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
