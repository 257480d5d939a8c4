/** The lock of a state folder, with real processes: one holds it, the dead hold nothing. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, utimesSync, writeFileSync } from "node:fs";
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
  assert.equal(readdirSync(folder).length, 1);
  const lock = await lockFolder(folder);
  assert.equal(lock.heldBy, undefined);
  if (lock.heldBy === undefined) await lock.release();
  assert.deepEqual(readdirSync(folder), []);
});

test("a lock of a process whose id has been given to another, or of before a restart, stops nobody", async (t) => {
  const folder = temporaryFolder(t);
  const first = await lockFolder(folder);
  assert.ok(first.heldBy === undefined);
  const [own = ""] = readdirSync(folder);
  await first.release();
  const [, pid, ticks, boot, namespace] = own.split(".");
  const leftBy = (...parts: readonly unknown[]): void =>
    writeFileSync(join(folder, ["lock", ...parts].join(".")), "");
  leftBy(process.ppid, `${Number(ticks) + 1}`, boot, namespace);
  leftBy(pid, ticks, boot === "0" ? "1" : "0", namespace);
  const lock = await lockFolder(folder);
  assert.ok(lock.heldBy === undefined);
  assert.deepEqual(readdirSync(folder), [own]);
  await lock.release();
});

test("a holder in another container lives as long as its lock is touched", async (t) => {
  const folder = temporaryFolder(t);
  const first = await lockFolder(folder);
  assert.ok(first.heldBy === undefined);
  const [own = ""] = readdirSync(folder);
  await first.release();
  const foreign = join(folder, own.replace(/^lock\.\d+/, "lock.12").replace(/\d+$/, "1"));
  writeFileSync(foreign, "");
  assert.deepEqual(await lockFolder(folder), { heldBy: 12 });
  utimesSync(foreign, 1, 1);
  const lock = await lockFolder(folder);
  assert.ok(lock.heldBy === undefined);
  await lock.release();
});
