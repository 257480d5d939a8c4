/** Folders that version 0.1 wrote: a writer of that format, as it was, and what this version finds in them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { MINUTE_MS, rate } from "../../src/testing/store-claims.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { listeningLog, openFileStore, settled } from "./file-kit.ts";
import { auditRecordOf, overrideOf } from "./life.ts";
import { memoryDisk } from "./memory-files.ts";

const SESSION = "00000000-0000-4000-8000-00000000000a";
const MAY = "2026-05";
const NOW_MS = virtualClock().nowMs();

/** A line of 0.1. */
function oldLine(value: unknown): string {
  const json = JSON.stringify(value);
  return `${crc32(json).toString(16).padStart(8, "0")} ${Buffer.byteLength(json)} ${json}\n`;
}

function oldFile(kind: "journal" | "snapshot", number: number, lines: readonly unknown[]): [string, Buffer] {
  const all = [{ sluice: kind, version: 1, number }, ...lines];
  if (kind === "snapshot") all.push({ end: "snapshot", lines: all.length });
  const name = `state/${kind}-${String(number).padStart(8, "0")}.jsonl`;
  return [name, Buffer.from(all.map(oldLine).join(""))];
}

function sessionOf(revision: number, kept: number, text: string): unknown {
  const expiresAtMs = NOW_MS + MINUTE_MS;
  const messages = [{ role: "user", content: text }];
  const about = { id: SESSION, owner: "chat/owner", ttlMs: MINUTE_MS, expiresAtMs };
  return { type: "session", ...about, revision, dropped: 0, kept, messages };
}

const hold = { number: 7, callId: "cut off", month: MAY, sums: [["budget", 40, 10]] };
const SNAPSHOT = oldFile("snapshot", 2, [
  [{ type: "sums", month: MAY, totals: [["budget", 700]] }],
  [{ type: "window", key: "calls", windowMs: MINUTE_MS, runs: [[NOW_MS - 30_000, 2]] }],
  [sessionOf(1, 0, "hello")],
  [{ type: "override", override: overrideOf("token:p/1", true) }],
  [{ type: "audit", records: [auditRecordOf(1)] }],
]);
const JOURNAL = oldFile("journal", 2, [
  [{ type: "admit", atMs: NOW_MS - 20_000, rates: [["calls", MINUTE_MS, 9]], hold }],
  [{ type: "settle", number: 6, month: MAY, totals: [["budget", 800]] }, sessionOf(2, 1, "again")],
  [{ type: "audit", records: [auditRecordOf(2)] }],
]);

test("a folder of version 0.1 opens, and what it held is written on in this version's format", async () => {
  let disk = memoryDisk(new Map([SNAPSHOT, JOURNAL]));
  for (const start of ["first", "after a kill", "after another"]) {
    const store = await openFileStore({ files: disk, directory: "state" });
    await settled();
    assert.deepEqual(await store.health(), { ok: true, detail: "on file" }, start);
    assert.equal((await store.spending("budget", MAY)).settledNanoUsd, 810, "with the call that was cut off");
    assert.equal(await store.sessions.historyCharacters("chat/owner", SESSION), "helloagain".length);
    assert.deepEqual(await store.overrides.list(), [overrideOf("token:p/1", true)]);
    assert.deepEqual(
      (await store.audit.query({ limit: 9 })).map(({ target }) => target),
      ["token 2", "token 1"],
    );
    const refused = await store.admit("call", [rate("calls", 3)]);
    assert.ok(!refused.admitted);
    assert.equal(refused.retryAfterSeconds, 30);
    disk = disk.kill();
  }
});

test("sums above 2^53 that version 0.1 wrote and could not read are read", async () => {
  const journal = oldFile("journal", 1, [
    [{ type: "settle", number: 1, month: MAY, totals: [["budget", 2 ** 53 + 4]] }],
    [{ type: "override", override: overrideOf("token:p/1", true) }],
  ]);
  const store = await openFileStore({ files: memoryDisk(new Map([journal])), directory: "state" });
  assert.equal((await store.spending("budget", MAY)).settledNanoUsd, 2 ** 53 + 4);
  assert.deepEqual(await store.overrides.list(), [overrideOf("token:p/1", true)]);
});

test("a damaged journal of version 0.1 refuses the start: nothing tells what its lines held", async () => {
  const [name, bytes] = JOURNAL;
  for (const at of [10, bytes.indexOf("cut off"), bytes.indexOf("again")]) {
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    const lines: string[] = [];
    const files = memoryDisk(new Map([SNAPSHOT, [name, damaged]]));
    const opened = openFileStore({ files, directory: "state", log: listeningLog(lines) });
    await assert.rejects(opened, /an unknown number of lines is lost, which may have held anything/);
  }
});

test("sums far above nine million dollars outlive a restart, exactly", async () => {
  const disk = memoryDisk();
  const store = await openFileStore({ files: disk, directory: "state" });
  const most = Number.MAX_SAFE_INTEGER;
  for (let call = 0; call < 5; call += 1) {
    const answer = await store.admit("call", [
      { kind: "spend", key: "budget", capNanoUsd: undefined, estimateNanoUsd: 1, inputNanoUsd: 1 },
    ]);
    assert.ok(answer.admitted && answer.reservation !== undefined);
    await store.settle(answer.reservation, most);
  }
  const text = [...disk.contents.values()].join("");
  assert.ok(text.includes(`"budget","${BigInt(most) * 5n}"`), text);
  const next = await openFileStore({ files: disk.kill(), directory: "state" });
  assert.equal((await next.spending("budget", MAY)).settledNanoUsd, Number(BigInt(most) * 5n));
});
