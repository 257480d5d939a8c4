/** The bound on conversations: who goes first, who never goes, and that expired ones do not stay in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OpenSession } from "../../src/plugin/index.ts";
import { SessionTable } from "../../src/state/session-table.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../spec/verifies.ts";
import { countingRandom } from "./counting-random.ts";

const TTL_MS = 60_000;

const PROJECTS = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"] as const;

function newTable(maxSessions: number, sessionBytesMax?: number) {
  const clock = virtualClock();
  return { clock, table: new SessionTable(clock, countingRandom(), { maxSessions, sessionBytesMax }) };
}

/** Of one project, with this number of characters. */
function storeFor(table: SessionTable, project: string, characters: number): string {
  const session = table.open(`chat/${project}/slug/7`, undefined, TTL_MS);
  assert.ok(typeof session === "object" && !(session instanceof Promise));
  session.save([{ role: "user", content: "x".repeat(characters) }]);
  session.close();
  return session.id;
}

function keptOf(table: SessionTable, project: string, ids: readonly string[]): number {
  return ids.filter((id) => table.historyCharacters(`chat/${project}/slug/7`, id) > 0).length;
}

/** Only for conversations that nobody holds: the table then answers at once. */
function open(table: SessionTable, id?: string, ttlMs = TTL_MS): OpenSession | "missing" | "busy" {
  const opened = table.open("chat/owner", id, ttlMs);
  assert.ok(!(opened instanceof Promise));
  return opened;
}

function openNew(table: SessionTable): OpenSession {
  const opened = open(table);
  assert.ok(typeof opened === "object");
  return opened;
}

function store(table: SessionTable): string {
  const session = openNew(table);
  session.save([]);
  session.close();
  return session.id;
}

function touch(table: SessionTable, id: string): boolean {
  const opened = open(table, id);
  if (typeof opened !== "object") return false;
  opened.close();
  return true;
}

test("of more conversations than may be stored, the one used least recently goes", () => {
  const { table } = newTable(2);
  const [first, second] = [store(table), store(table)];
  assert.ok(touch(table, first));
  const third = store(table);
  assert.equal(table.size, 2);
  assert.deepEqual(
    [first, second, third].map((id) => touch(table, id)),
    [true, false, true],
  );
});

test("a conversation in use is never the one that goes", () => {
  const { table } = newTable(2);
  const [first, second] = [store(table), store(table)];
  const held = open(table, first);
  const third = store(table);
  assert.ok(typeof held === "object");
  held.save([{ role: "user", content: "still here" }]);
  held.close();
  assert.deepEqual(
    [first, second, third].map((id) => touch(table, id)),
    [true, false, true],
  );
});

test("calls that fail push no stored conversation out", () => {
  const { table } = newTable(2);
  const ids = [store(table), store(table)];
  for (let call = 0; call < 10; call += 1) openNew(table).close();
  assert.ok(ids.every((id) => touch(table, id)));
});

test("when as many are in use as may be stored, the next is busy until one is closed", () => {
  const { table } = newTable(2);
  const idle = store(table);
  const [first, second] = [openNew(table), openNew(table)];
  assert.equal(open(table), "busy");
  assert.equal(open(table, idle), "busy");
  for (const session of [first, second]) session.save([]);
  assert.equal(table.size, 2);
  first.close();
  assert.equal(typeof open(table), "object");
});

test("expired conversations leave the memory as calls come, whatever their time to live", () => {
  const { clock, table } = newTable(1000);
  for (let call = 0; call < 100; call += 1) {
    const opened = open(table, undefined, call % 2 === 0 ? TTL_MS : 10 * TTL_MS);
    assert.ok(typeof opened === "object");
    opened.save([]);
    opened.close();
  }
  clock.advance(TTL_MS + 1);
  for (let call = 0; call < 100; call += 1) openNew(table).close();
  assert.equal(table.size, 50);
});

test("what is saved after it was deleted takes no place", () => {
  const { table } = newTable(2);
  const session = openNew(table);
  assert.equal(table.delete("chat/owner", session.id), true);
  session.save([{ role: "user", content: "too late" }]);
  session.close();
  assert.equal(table.size, 0);
});

verifies("session.shares", "a project's new conversations push out its own before another's", () => {
  const [quiet, loud] = PROJECTS;
  const { table } = newTable(20);
  const kept = Array.from({ length: 8 }, () => storeFor(table, quiet, 10));
  const pushed = Array.from({ length: 200 }, () => storeFor(table, loud, 10));
  assert.equal(keptOf(table, quiet, kept), 8);
  assert.equal(keptOf(table, loud, pushed), 12);
  assert.equal(keptOf(table, loud, pushed.slice(-12)), 12, "the newest");
});

verifies(
  "session.bytes",
  "conversations are bounded in bytes too, in all and so that no project takes all",
  () => {
    const [quiet, loud] = PROJECTS;
    const { table } = newTable(1000, 1_000_000);
    const kept = Array.from({ length: 4 }, () => storeFor(table, quiet, 50_000));
    for (let n = 0; n < 100; n += 1) {
      storeFor(table, loud, 90_000);
      assert.ok(table.bytes <= 1_000_000, `${table.bytes}`);
    }
    assert.equal(keptOf(table, quiet, kept), 4);
    assert.equal(table.size, 4 + 3);
  },
);

test("a conversation beyond all bytes there are is gone when its call is, and leaves the others", () => {
  const [quiet, loud] = PROJECTS;
  const { table } = newTable(1000, 1_000_000);
  const kept = storeFor(table, quiet, 50_000);
  assert.equal(keptOf(table, loud, [storeFor(table, loud, 600_000)]), 0);
  assert.equal(keptOf(table, quiet, [kept]), 1);
});
