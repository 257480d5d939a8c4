/** The lock of a state folder, with real processes: one holds it, the dead hold nothing. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { lockFolder } from "../../src/state/file/folder-lock.ts";
import { temporaryFolder } from "./file-kit.ts";

const CONTENDER = fileURLToPath(new URL("./lock-contender.ts", import.meta.url));
const RACERS = 4;

interface Contender {
  readonly pid: number;
  /** "held", or the process that has it. */
  next(): Promise<string>;
  kill(): Promise<void>;
}

/** Comes for the lock each time it is asked, and holds it until it is killed. */
function contender(folder: string): Contender {
  const loader = ["--conditions=sluice-source", "--import", import.meta.resolve("tsx")];
  const child = spawn(process.execPath, [...loader, CONTENDER, folder], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? 0,
    async next() {
      child.stdin.write("\n");
      return String((await lines.next()).value);
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    },
  };
}

test("of processes that come at the same moment exactly one wins, and another when that one is killed", async (t) => {
  const folder = temporaryFolder(t);
  let racers = Array.from({ length: RACERS }, () => contender(folder));
  try {
    while (racers.length > 0) {
      const answers = await Promise.all(racers.map((racer) => racer.next()));
      const winners = racers.filter((_, index) => answers[index] === "held");
      assert.equal(winners.length, 1, answers.join(", "));
      const [winner] = winners;
      for (const answer of answers) assert.ok(answer === "held" || answer === `${winner?.pid}`, answer);
      await winner?.kill();
      racers = racers.filter((racer) => racer !== winner);
    }
  } finally {
    await Promise.all(racers.map((racer) => racer.kill()));
  }
  const lock = await lockFolder(folder);
  assert.equal(lock.heldBy, undefined);
  if (lock.heldBy === undefined) await lock.release();
  assert.deepEqual(readdirSync(folder), []);
});

/** The name of this process's own lock, by its parts. */
async function ownName(folder: string): Promise<string> {
  const lock = await lockFolder(folder);
  assert.ok(lock.heldBy === undefined);
  const [own = ""] = readdirSync(folder).filter((name) => name.startsWith("lock."));
  await lock.release();
  return own;
}

test("a lock of a process whose id was reused is ignored", async (t) => {
  const folder = temporaryFolder(t);
  const [, , ticks, boot, namespace] = (await ownName(folder)).split(".");
  writeFileSync(join(folder, ["lock", process.ppid, `${Number(ticks) + 1}`, boot, namespace].join(".")), "");
  const lock = await lockFolder(folder);
  assert.ok(lock.heldBy === undefined);
  assert.equal(readdirSync(folder).filter((name) => name.startsWith("lock.")).length, 1);
  await lock.release();
});

/** Locks as processes leave them that cannot be seen from here. */
const UNSEEN = [
  ["another container", (own: string) => own.replace(/^lock\.\d+/, "lock.12").replace(/\d+$/, "1")],
  [
    "another machine, or another boot",
    (own: string) => own.replace(/^(lock\.)\d+(\.\d+\.)[0-9a-f]+/, "$112$2b0b0"),
  ],
] as const;

for (const [where, nameOf] of UNSEEN) {
  test(`a holder in ${where} lives as long as its lock is touched, whatever the date it is touched with`, async (t) => {
    const folder = temporaryFolder(t);
    const foreign = join(folder, nameOf(await ownName(folder)));
    writeFileSync(foreign, "");
    let touchedSeconds = Date.now() / 1000 + 86_400;
    const touching = setInterval(() => utimesSync(foreign, touchedSeconds, (touchedSeconds += 1)), 20);
    t.after(() => clearInterval(touching));
    assert.deepEqual(await lockFolder(folder), { heldBy: 12 });
    clearInterval(touching);
    // It is waited for, and taken for dead when nothing touches it anymore.
    const lock = await lockFolder(folder, { stoppedMs: 300 });
    assert.ok(lock.heldBy === undefined);
    assert.equal(existsSync(foreign), false);
    await lock.release();
  });
}

test("a holder in another container that is stopped is not taken for dead: the kernel says that it lives", async (t) => {
  const folder = temporaryFolder(t);
  const own = await ownName(folder);
  const holder = contender(folder);
  t.after(() => holder.kill());
  assert.equal(await holder.next(), "held");
  process.kill(holder.pid, "SIGSTOP");
  // As the same lock looks from another namespace of process ids: its file and its socket have that one's number.
  const [name = ""] = readdirSync(folder).filter((one) => one.startsWith("lock."));
  const namespace = own.split(".").at(-1);
  renameSync(join(folder, name), join(folder, name.replace(/\d+$/, "1")));
  renameSync(join(folder, `lock-${holder.pid}-${namespace}.sock`), join(folder, `lock-${holder.pid}-1.sock`));
  assert.deepEqual(await lockFolder(folder, { stoppedMs: 50 }), { heldBy: holder.pid });
  await holder.kill();
  const lock = await lockFolder(folder, { stoppedMs: 50 });
  assert.ok(lock.heldBy === undefined, "after its end it is not waited for any longer than for others");
  await lock.release();
});

test("a holder that was taken for dead sees that it holds the folder no more", async (t) => {
  const folder = temporaryFolder(t);
  const first = await lockFolder(folder);
  assert.ok(first.heldBy === undefined && first.isHeld());
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  assert.equal(first.isHeld(), false);
  await first.release();
});
