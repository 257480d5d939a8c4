/** What the file store keeps from one process to the next, and what it makes of files that are not as they were. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { StateStore } from "../../src/plugin/index.ts";
import { CHAIN_START, nextLine } from "../../src/state/file/checked-lines.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "../../src/testing/store-claims.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../spec/verifies.ts";
import { listeningLog, openFileStore, settled } from "./file-kit.ts";
import { auditRecordOf, begin, type Life, portrait, STEPS, settledIn } from "./life.ts";
import { diskError, type MemoryDisk, memoryDisk } from "./memory-files.ts";

const JOURNAL = "state/journal-00000001.jsonl";

async function openOn(
  disk: MemoryDisk,
  options: Partial<Parameters<typeof openFileStore>[0]> = {},
): Promise<StateStore> {
  return openFileStore({ files: disk, directory: "state", ...options });
}

/** What a store finds on a disk that its process has been killed over. */
async function found(disk: MemoryDisk, sessionId: string): Promise<unknown> {
  const store = await openOn(disk.kill());
  try {
    return await portrait({ store, sessionId });
  } finally {
    await store.close();
  }
}

interface Lived {
  readonly disk: MemoryDisk;
  readonly life: Life;
  /** After each step: bytes of the first journal, and what is found then. The first: before any step. */
  readonly marks: readonly { readonly bytes: number; readonly found: unknown }[];
}

async function lived(): Promise<Lived> {
  const disk = memoryDisk();
  const life = begin(await openOn(disk));
  const stages: { disk: MemoryDisk; sessionId: string }[] = [];
  const keep = (): void =>
    void stages.push({ disk: memoryDisk(new Map(disk.contents)), sessionId: life.sessionId });
  keep();
  for (const step of STEPS) {
    step(life);
    await settled(1);
    keep();
  }
  const marks = [];
  for (const stage of stages) {
    const bytes = stage.disk.contents.get(JOURNAL)?.length ?? 0;
    marks.push({ bytes, found: await found(stage.disk, life.sessionId) });
  }
  return { disk, life, marks };
}

verifies(
  "budget.crash",
  "after kill -9 everything is as it was, and calls under way are settled at their input estimate",
  async () => {
    const { disk, life } = await lived();
    const lines: string[] = [];
    const store = await openOn(disk.kill(), { log: listeningLog(lines) });
    assert.deepEqual(lines, ["warn a call that a crash cut off is settled at its input estimate"]);
    const [killed, alive] = [await portrait({ ...life, store }), await portrait(life)];
    assert.equal(await settledIn(store, "endpoint"), 700 + 450 + 10);
    assert.deepEqual(killed, {
      ...Object(alive),
      settled: [
        ["endpoint", 1160],
        ["token", 1160],
      ],
    });
    await store.close();
  },
);

test("after a second kill -9, at once or later, nothing is counted twice", async () => {
  const { disk, life } = await lived();
  const once = disk.kill();
  await openOn(once);
  const again = once.kill();
  const store = await openOn(again);
  assert.equal(await settledIn(store, "token"), 1160);
  await settled();
  assert.equal(await settledIn(await openOn(again.kill()), "token"), 1160);
  assert.ok(life.sessionId !== "");
});

test("it makes no difference what is in snapshots and what in journals", async () => {
  const plain = await lived();
  const clock = virtualClock();
  const disk = memoryDisk();
  const life = begin(await openOn(disk, { clock, snapshotIntervalSeconds: 1 }));
  for (const step of STEPS) {
    step(life);
    clock.advance(1);
    await settled(1);
  }
  for (let snapshots = 0; snapshots < 3; snapshots += 1) {
    clock.advance(1000);
    await settled();
    life.store.audit.append([]);
  }
  const names = [...disk.contents.keys()].sort();
  assert.deepEqual(names, [
    "state/journal-00000003.jsonl",
    "state/journal-00000004.jsonl",
    "state/snapshot-00000003.jsonl",
    "state/snapshot-00000004.jsonl",
    "state/synced",
  ]);
  assert.deepEqual(await found(disk, life.sessionId), plain.marks.at(-1)?.found);
});

test("a journal that has grown to its limit is followed by a snapshot at once, and old files go", async () => {
  const disk = memoryDisk();
  const store = await openOn(disk, { journalBytesMax: 2000 });
  for (let n = 1; n <= 60; n += 1) {
    await store.audit.append([auditRecordOf(n)]);
    await settled();
    const bytes = [...disk.contents.values()].map((content) => content.length);
    assert.ok(bytes.length <= 5 && Math.max(...bytes) < 60 * 400, `${bytes}`);
  }
  const next = await openOn(disk.kill());
  assert.equal((await next.audit.query({ limit: 100 })).length, 60);
});

test("journals that no snapshot can follow are taken for a failing disk in the end", async () => {
  const disk = memoryDisk();
  const store = await openOn(disk, { journalBytesMax: 2000 });
  disk.weather = (action) => {
    if (action === "write") throw diskError("EIO");
  };
  let written = 0;
  for (; (await store.health()).ok && written < 1000; written += 1) {
    await store.audit.append([auditRecordOf(written)]);
    await settled();
  }
  assert.ok(written < 200, "journals without end");
  assert.match((await store.health()).detail, /^file: cannot write a snapshot: EIO; answering from memory/);
});

test("a journal cut at any length is good for every change that is whole in it", async () => {
  const { disk, life, marks } = await lived();
  const journal = disk.contents.get(JOURNAL) ?? Buffer.alloc(0);
  for (let bytes = 0; bytes <= journal.length; bytes += 1) {
    const cut = memoryDisk(new Map([[JOURNAL, journal.subarray(0, bytes)]]));
    // A line that lacks only its end is whole.
    const expected = marks.findLast((mark) => mark.bytes - 1 <= bytes) ?? marks[0];
    assert.deepEqual(await found(cut, life.sessionId), expected?.found, `${bytes} bytes`);
  }
});

verifies(
  "state.file.damage",
  "of a journal with a flipped bit everything is found, or what is lost is told, or the start is refused",
  async () => {
    const { disk, life, marks } = await lived();
    const whole = marks.at(-1)?.found;
    const journal = disk.contents.get(JOURNAL) ?? Buffer.alloc(0);
    const ends = { exact: 0, told: 0, refused: 0 };
    for (let at = 0; at < journal.length; at += 1) {
      const damaged = Buffer.from(journal);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      const files = memoryDisk(new Map([[JOURNAL, damaged]]));
      const opened = await openOn(files).catch((error: unknown) => error);
      if (opened instanceof Error) {
        assert.match(opened.message, /may be lost:\n {2}journal-00000001\.jsonl, byte \d+: /, `byte ${at}`);
        assert.match(opened.message, /sluice state repair --directory state/);
        assert.deepEqual(files.contents.get(JOURNAL), damaged, "a refused start changes nothing");
        ends.refused += 1;
        continue;
      }
      // It is a store: what `catch` returns has been told apart.
      const store = opened as StateStore;
      const { ok, detail } = await store.health();
      assert.ok(ok);
      const left = await portrait({ store, sessionId: life.sessionId });
      await store.close();
      if (isDeepStrictEqual(left, whole)) ends.exact += 1;
      else {
        assert.match(detail, /; 1 line is lost: (conversations|audit records|calls counted by rate limits)$/);
        ends.told += 1;
      }
    }
    assert.ok(ends.exact > 15 && ends.told > 100 && ends.refused > 100, JSON.stringify(ends));
  },
);

test("of many lines that are damaged the intact ones after them are used, and the losses are told", async () => {
  const disk = memoryDisk();
  const store = await openOn(disk);
  for (let n = 1; n <= 9; n += 1) {
    store.audit.append([auditRecordOf(n)]);
    await settled(1);
  }
  const text = (disk.contents.get(JOURNAL) ?? Buffer.alloc(0)).toString().replace("token 3", "token 0");
  const lines: string[] = [];
  const next = await openOn(
    memoryDisk(new Map([[JOURNAL, Buffer.from(text.replace("token 6", "token 0"))]])),
    {
      log: listeningLog(lines),
    },
  );
  const targets = (await next.audit.query({ limit: 99 })).map(({ target }) => target);
  assert.deepEqual(
    targets,
    [9, 8, 7, 5, 4, 2, 1].map((n) => `token ${n}`),
  );
  assert.deepEqual(lines, Array(2).fill("error a state file is damaged: 1 line is lost: audit records"));
});

test("a journal that was cut after it was synced refuses the start, in the middle of a line and at its end", async () => {
  const clock = virtualClock();
  const disk = memoryDisk();
  const life = begin(await openOn(disk, { clock }));
  for (const step of STEPS) {
    step(life);
    await settled(1);
  }
  clock.advance(1000);
  await settled();
  const journal = disk.contents.get(JOURNAL) ?? Buffer.alloc(0);
  const lastLine = journal.subarray(0, -1).lastIndexOf(10) + 1;
  for (const bytes of [lastLine, lastLine + 30, 500, 0]) {
    const cut = memoryDisk(new Map(disk.contents).set(JOURNAL, journal.subarray(0, bytes)));
    await assert.rejects(
      openOn(cut),
      /may be lost:\n(.*\n)* {2}journal-00000001\.jsonl, byte \d+: /,
      `${bytes}`,
    );
  }
  const gone = memoryDisk(new Map(disk.contents));
  gone.contents.delete(JOURNAL);
  await assert.rejects(openOn(gone), /journal-00000001\.jsonl, byte 0: the file is missing/);
  await (await openOn(disk.kill())).close();
});

test("a snapshot with a damaged byte, or a part of one, falls back to the one before and loses nothing", async () => {
  const clock = virtualClock();
  const disk = memoryDisk();
  const life = begin(await openOn(disk, { clock, snapshotIntervalSeconds: 1 }));
  for (const [index, step] of STEPS.entries()) {
    step(life);
    await settled(1);
    if (index % 5 !== 4) continue;
    clock.advance(1000);
    await settled();
  }
  const whole = await found(memoryDisk(new Map(disk.contents)), life.sessionId);
  const newest =
    [...disk.contents.keys()]
      .filter((path) => path.includes("snapshot"))
      .sort()
      .at(-1) ?? "";
  const snapshot = disk.contents.get(newest) ?? Buffer.alloc(0);
  assert.ok(snapshot.length > 500);
  for (let at = 0; at < snapshot.length; at += 1) {
    const damaged = Buffer.from(snapshot);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    for (const bytes of [damaged, snapshot.subarray(0, at)]) {
      const files = memoryDisk(new Map(disk.contents).set(newest, bytes));
      assert.deepEqual(await found(files, life.sessionId), whole, `byte ${at} of ${bytes.length}`);
    }
  }
});

test("a journal that is missing among others refuses the start", async () => {
  const clock = virtualClock();
  const disk = memoryDisk();
  const life = begin(await openOn(disk, { clock, snapshotIntervalSeconds: 1 }));
  for (const step of STEPS) step(life);
  await settled(1);
  const after = disk.kill();
  const next = await openOn(after, { clock });
  await settled();
  next.audit.append([]);
  after.contents.delete("state/snapshot-00000003.jsonl");
  const gone = after.kill();
  gone.contents.delete("state/journal-00000002.jsonl");
  await assert.rejects(openOn(gone), /journal-00000002\.jsonl, byte 0: the file is missing/);
});

test("a folder of a later version is left alone", async () => {
  const { disk } = await lived();
  const header = { sluice: "journal", version: 3, number: 1 };
  const line = nextLine(CHAIN_START, header, "h")?.text ?? "";
  const later = memoryDisk(new Map([[JOURNAL, Buffer.from(line)]]));
  const before = new Map(later.contents);
  await assert.rejects(openOn(later), /is of version 3, this Sluice reads 2/);
  assert.deepEqual(later.contents, before);
  assert.ok(disk.contents.size > 0);
});

test("a clock that was set back before a restart reopens no month, and blocks no window for longer than it is", async () => {
  const disk = memoryDisk();
  const december = virtualClock(Date.UTC(2026, 11, 1));
  const store = await openOn(disk, { clock: december });
  const claims = [rate("r", 1), spend("s", 10, 10)];
  const answer = await store.admit("call", claims);
  assert.ok(answer.admitted && answer.reservation !== undefined);
  await store.settle(answer.reservation, 10);
  const november = virtualClock(Date.UTC(2026, 10, 20));
  const next = await openOn(disk.kill(), { clock: november });
  assert.deepEqual(await next.admit("early", claims), {
    admitted: false,
    refused: 0,
    retryAfterSeconds: 60,
    spentNanoUsd: 0,
  });
  november.advance(MINUTE_MS);
  const refused = await next.admit("later", claims);
  assert.ok(!refused.admitted);
  assert.deepEqual([refused.refused, refused.spentNanoUsd], [1, 10]);
});

test("a month in which nothing was spent does not give way to the one before it either", async () => {
  const disk = memoryDisk();
  const december = virtualClock(Date.UTC(2026, 11, 1));
  const store = await openOn(disk, { clock: december, snapshotIntervalSeconds: 1 });
  const answer = await store.admit("call", [spend("s", 10, 10)]);
  assert.ok(answer.admitted && answer.reservation !== undefined);
  await store.release(answer.reservation);
  december.advance(1000);
  await settled();
  assert.ok(disk.contents.has("state/snapshot-00000002.jsonl"));
  const next = await openOn(disk.kill(), { clock: virtualClock(Date.UTC(2026, 10, 20)) });
  const later = await next.admit("call", [spend("s", 10, 10)]);
  assert.ok(later.admitted);
  assert.equal(later.reservation?.month, "2026-12");
});

test("rate windows outlive a restart to the millisecond", async () => {
  const disk = memoryDisk();
  const clock = virtualClock();
  const store = await openOn(disk, { clock });
  const claims = [rate("m", 2), rate("h", 3, HOUR_MS)];
  await store.admit("one", claims);
  clock.advance(1500);
  await store.admit("two", claims);
  await settled(1);
  const next = await openOn(disk.kill(), { clock });
  clock.advance(MINUTE_MS - 1501);
  assert.ok(!(await next.admit("early", claims)).admitted);
  clock.advance(1);
  assert.ok((await next.admit("in time", claims)).admitted);
  assert.ok(!(await next.admit("hour", [rate("h", 3, HOUR_MS)])).admitted);
});

test("conversations come back with the one used least recently first to go, and ended ones do not", async () => {
  const disk = memoryDisk();
  const store = await openOn(disk, { maxSessions: 3 });
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    const session = await store.sessions.open("o", undefined, MINUTE_MS);
    assert.ok(typeof session === "object");
    await session.save([{ role: "user", content: `${n}` }]);
    session.close();
    ids.push(session.id);
  }
  await store.sessions.delete("o", ids[2] ?? "");
  const next = await openOn(disk.kill(), { maxSessions: 1 });
  const answers = await Promise.all(ids.map((id) => next.sessions.historyCharacters("o", id)));
  assert.deepEqual(answers, [0, 0, 0, 1]);
});

test("one store at a time has the folder, and closing gives it back", async () => {
  const disk = memoryDisk();
  const store = await openOn(disk);
  await assert.rejects(openOn(disk), /the state folder state is held by process \d+/);
  await store.close();
  await (await openOn(disk)).close();
});

verifies(
  "state.file.fence",
  "a store whose folder another process has taken writes no more, answers no more, and says so; what it wrote is not read",
  async () => {
    const disk = memoryDisk();
    const lines: string[] = [];
    const clock = virtualClock();
    const paused = await openOn(disk, { log: listeningLog(lines), clock });
    const claims = [spend("s", 10)];
    const before = await paused.admit("before", claims);
    assert.ok(before.admitted && before.reservation !== undefined);
    await paused.settle(before.reservation, 7);
    disk.replaceHolder();
    const taken = memoryDisk(disk.contents);
    const second = await openOn(taken);
    const late = await paused.admit("late", claims);
    assert.ok(late.admitted && late.reservation !== undefined, "it does not know yet");
    await paused.settle(late.reservation, 1000);
    const refused = await paused.admit("refused", claims);
    assert.ok(!refused.admitted && refused.refused === "unavailable");
    const { ok, serving, detail } = await paused.health();
    assert.deepEqual([ok, serving], [false, undefined]);
    assert.match(detail, /another process has taken the state folder; refusing calls$/);
    assert.deepEqual(lines, [
      "error another process has taken the state folder: this one refuses calls; stop one of them",
    ]);
    const files = [...taken.contents.keys()].sort();
    clock.advance(600_000);
    await settled();
    assert.deepEqual([...taken.contents.keys()].sort(), files, "no snapshot, no file removed");
    await paused.close();
    await second.audit.append([auditRecordOf(1)]);
    const next = await openOn(taken.kill());
    assert.equal((await next.sums())[0]?.settledNanoUsd, 7);
    assert.deepEqual(await next.health(), { ok: true, detail: "on file" });
  },
);
