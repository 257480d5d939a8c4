/**
 * The file store on a disk that fails at every single thing it is asked for, n = 1, 2, 3 … to the last, once or for good:
 * what is answered, what is said, and what is found afterwards.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { diskFiles, type Files } from "../../src/state/file/files.ts";
import { rate, spend } from "../../src/testing/store-claims.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../spec/verifies.ts";
import { listeningLog, openFileStore, settled, temporaryFolder } from "../state/file-kit.ts";
import { begin, type Life, overrideOf, portrait, STEPS } from "../state/life.ts";
import { diskError, type MemoryDisk, memoryDisk } from "../state/memory-files.ts";

/** Far more than a life asks of a disk. */
const ACTIONS_MAX = 500;
const INTERVAL_SECONDS = 1;

interface Patient {
  readonly disk: MemoryDisk;
  readonly clock: VirtualClock;
  readonly life: Life;
  readonly lines: string[];
}

type Options = Partial<Parameters<typeof openFileStore>[0]>;

async function patient(disk: MemoryDisk, options: Options = {}): Promise<Patient> {
  const clock = virtualClock();
  const lines: string[] = [];
  const store = await openFileStore({
    directory: "state",
    files: disk,
    clock,
    snapshotIntervalSeconds: INTERVAL_SECONDS,
    log: listeningLog(lines),
    ...options,
  });
  return { disk, clock, life: begin(store), lines };
}

/** Every step, snapshots between them; `look` when each is promised to be written. */
async function live({ clock, life }: Patient, look: () => void = () => {}): Promise<void> {
  for (const [index, step] of STEPS.entries()) {
    step(life);
    await settled(1);
    look();
    if (index % 4 !== 3) continue;
    clock.advance(INTERVAL_SECONDS * 1000);
    await settled(30);
  }
}

async function foundOn(disk: MemoryDisk, sessionId: string): Promise<unknown> {
  const { life } = await patient(disk);
  const found = await portrait({ ...life, sessionId });
  await life.store.close();
  return found;
}

/** How many things a whole life asks of its disk. */
async function actionsOfALife(): Promise<number> {
  const disk = memoryDisk();
  let actions = 0;
  disk.weather = () => void (actions += 1);
  await live(await patient(disk));
  assert.ok(actions > 40 && actions < ACTIONS_MAX);
  return actions;
}

async function healthy(): Promise<unknown> {
  const disk = memoryDisk();
  const well = await patient(disk);
  await live(well);
  return foundOn(disk.kill(), well.life.sessionId);
}

test("whatever fails, and however often, answers go on from memory, and all of it is on disk again afterwards", async () => {
  const expected = await healthy();
  for (let n = 1; n <= (await actionsOfALife()); n += 3) {
    for (const last of [n, n + 5, ACTIONS_MAX]) {
      const disk = memoryDisk();
      let action = 0;
      disk.weather = () => {
        action += 1;
        if (action >= n && action <= last) throw diskError("ENOSPC");
      };
      const sick = await patient(disk);
      await live(sick);
      disk.weather = () => {};
      sick.clock.advance(60_000);
      await settled(40);
      const { ok, detail } = await sick.life.store.health();
      assert.ok(ok, `action ${n} to ${last}: ${detail}`);
      const found = await foundOn(disk.kill(), sick.life.sessionId);
      assert.deepEqual(found, expected, `action ${n} to ${last}`);
    }
  }
});

test("killed at any moment, all that was answered is found, and at most the step under way besides", async () => {
  for (let n = 1; n <= (await actionsOfALife()); n += 1) {
    const disk = memoryDisk();
    let action = 0;
    let left: MemoryDisk | undefined;
    let answered = 0;
    disk.weather = () => {
      action += 1;
      if (action !== n) return;
      left = disk.kill();
      throw diskError("EKILLED");
    };
    const victim = await patient(disk).catch(() => undefined);
    if (victim === undefined || left === undefined) {
      if (victim !== undefined) await live(victim, () => void (answered += left === undefined ? 1 : 0));
    }
    assert.ok(left !== undefined, `action ${n} never came`);
    const id = victim?.life.sessionId ?? "";
    const found = await foundOn(left, id);
    const candidates = await Promise.all([answered, answered + 1].map((steps) => after(steps, id)));
    const fits = candidates.some((candidate) => JSON.stringify(candidate) === JSON.stringify(found));
    assert.ok(fits, `action ${n}, after ${answered} steps: ${JSON.stringify(found)}`);
  }
});

const afterSteps = new Map<string, Promise<unknown>>();

/** What is found when a process was killed after a number of steps. */
function after(steps: number, sessionId: string): Promise<unknown> {
  const key = `${steps} ${sessionId}`;
  const known = afterSteps.get(key);
  if (known !== undefined) return known;
  const made = (async () => {
    const disk = memoryDisk();
    const { life } = await patient(disk);
    for (const step of STEPS.slice(0, steps)) step(life);
    await settled(1);
    return foundOn(disk.kill(), sessionId);
  })();
  afterSteps.set(key, made);
  return made;
}

verifies(
  "state.file.disk-full",
  "a full disk is said once in the log, in health and in a gauge, and so is its end",
  async () => {
    const gauges = new Map<string, () => number>();
    const disk = memoryDisk();
    const sick = await patient(disk, { gauge: (name, _, read) => void gauges.set(name, read) });
    const degraded = (): number | undefined => gauges.get("sluice_state_degraded")?.();
    assert.equal(degraded(), 0);
    disk.weather = () => {
      throw diskError("ENOSPC");
    };
    await live(sick);
    assert.equal(degraded(), 1);
    assert.deepEqual(await sick.life.store.health(), {
      ok: false,
      serving: true,
      detail: "file: cannot write to the journal: ENOSPC; answering from memory",
    });
    disk.weather = () => {};
    sick.clock.advance(60_000);
    await settled(40);
    assert.equal(degraded(), 0);
    assert.deepEqual(sick.lines, [
      "error state is no longer written to disk: changes from now on will be lost on restart",
      "info state is written to disk again; nothing in memory was lost",
    ]);
  },
);

verifies(
  "state.file.disk-full",
  "with on_error refuse a full disk admits no call and changes nothing until it has room again",
  async () => {
    const disk = memoryDisk();
    const { life, clock } = await patient(disk, { onError: "refuse" });
    const { store } = life;
    const claims = [rate("r", 9), spend("s", 10)];
    const under = await store.admit("under way", claims);
    assert.ok(under.admitted && under.reservation !== undefined);
    disk.weather = () => {
      throw diskError("ENOSPC");
    };
    await store.settle(under.reservation, 7);
    const refused = await store.admit("refused", claims);
    assert.ok(!refused.admitted && refused.refused === "unavailable");
    assert.equal(await store.sessions.open("o", undefined, 1000), "unavailable");
    assert.equal(await store.overrides.set(overrideOf("k", true)), false);
    assert.deepEqual(await store.overrides.list(), []);
    assert.deepEqual(await store.health(), {
      ok: false,
      serving: false,
      detail: "file: cannot write to the journal: ENOSPC; refusing calls",
    });
    disk.weather = () => {};
    clock.advance(60_000);
    await settled(40);
    assert.ok((await store.admit("again", claims)).admitted);
    assert.equal(await store.overrides.set(overrideOf("k", true)), true);
    const sums = await settledSums(disk.kill());
    assert.deepEqual(sums, [["s", 7 + 2]]);
  },
);

async function settledSums(disk: MemoryDisk): Promise<(string | number)[][]> {
  const { life } = await patient(disk);
  const sums = await life.store.sums();
  return sums.map(({ key, settledNanoUsd }) => [key, settledNanoUsd]);
}

test("a snapshot that fails while the journal continues is logged and costs nothing else", async () => {
  const disk = memoryDisk();
  const { life, clock, lines } = await patient(disk);
  disk.weather = (action) => {
    if (action === "write") throw diskError("EIO");
  };
  await life.store.audit.append([]);
  clock.advance(INTERVAL_SECONDS * 1000);
  await settled(30);
  assert.deepEqual(await life.store.health(), { ok: true, detail: "on file; the last snapshot failed: EIO" });
  assert.equal(lines.length, 1);
  assert.ok(![...disk.contents.keys()].some((path) => path.includes("unfinished")));
});

test("on the system's own full device it degrades, answers, and continues once there is space", {
  skip: !existsSync("/dev/full"),
}, async (t) => {
  const directory = temporaryFolder(t);
  let full = true;
  // Node 26 ends a process whose file handles are collected instead of closed.
  let unclosed = 0;
  const files: Files = {
    ...diskFiles,
    async create(path) {
      const file = await diskFiles.create(full ? "/dev/full" : path);
      unclosed += 1;
      return { ...file, close: () => file.close().finally(() => (unclosed -= 1)) };
    },
  };
  let again = (): void => {};
  const recovered = new Promise<void>((resolve) => (again = resolve));
  const log = { ...listeningLog(), info: again };
  const { life, clock } = await patient(memoryDisk(), { files, directory, log });
  for (const step of STEPS) step(life);
  assert.match((await life.store.health()).detail, /^file: cannot begin a journal: ENOSPC; answering/);
  full = false;
  clock.advance(60_000);
  await recovered;
  assert.equal((await life.store.health()).detail, "on file");
  await life.store.close();
  assert.equal(unclosed, 0);
  const next = await openFileStore({ directory });
  assert.equal((await next.spending("token", "2026-05")).settledNanoUsd, 1160);
  await next.close();
});
