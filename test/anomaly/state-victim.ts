/**
 * A process made to be killed: opens a state folder, says what it found, and works on it, saying what it is about to
 * settle and what it was answered for. What it says is in the pipe before it goes on.
 *   node … state-victim.ts FOLDER SEED '["<id of a conversation>", …]'
 */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { systemClock } from "../../src/base/clock.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import { fileStore } from "../../src/state/file/file.ts";
import { rate, spend } from "../../src/testing/store-claims.ts";
import { listeningLog } from "../state/file-kit.ts";
import { auditRecordOf, overrideOf } from "../state/life.ts";
import { seededFraction } from "../state/seeded.ts";

const CALLS_MAX = 100_000;
const OWNER = "o";
const TTL_MS = 3_600_000;

const [directory = "", seed = "1", ids = "[]"] = process.argv.slice(2);
const fraction = seededFraction(Number(seed));
/** Days that the date is off by, one after the other: the month that money counts in must not follow. */
const OFF_DAYS = [0, 40, 0, -3, 0];
const DAY_MS = 86_400_000;
const OFF_MS = 50;
const below = (limit: number): number => Math.floor(fraction() * limit);

function say(...words: readonly (string | number)[]): void {
  const line = Buffer.from(`${words.join(" ")}\n`);
  for (let done = 0; done < line.length; ) {
    try {
      done += writeSync(1, line, done);
    } catch (error) {
      // The parent has not read yet what was said before.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }
}

async function tellWhatIsThere(store: StateStore, known: readonly string[]): Promise<void> {
  const sums = (await store.sums()).map(({ key, settledNanoUsd }) => [key, settledNanoUsd]);
  const turns = [];
  for (const id of known) {
    const session = await store.sessions.open(OWNER, id, TTL_MS);
    turns.push([id, typeof session === "object" ? session.history.length : session]);
    if (typeof session === "object") session.close();
  }
  const listed = await store.overrides.list();
  const overrides = listed === "unavailable" ? [] : listed.map(({ key, value }) => [key, value]);
  const audit = (await store.audit.query({ limit: 1000 })).map(({ id }) => id);
  say("found", JSON.stringify({ sums, turns, overrides, audit, health: await store.health() }));
}

async function call(store: StateStore, name: string): Promise<void> {
  const estimateNanoUsd = 40 + below(400);
  const claims = [rate("r", CALLS_MAX), spend("total", estimateNanoUsd), spend(name, estimateNanoUsd)];
  say("admitting", name, Math.floor(estimateNanoUsd / 4));
  const answer = await store.admit(name, claims);
  if (!answer.admitted || answer.reservation === undefined)
    throw new Error(`refused: ${JSON.stringify([answer, await store.health()])}`);
  for (let turn = below(4); turn > 0; turn -= 1) await new Promise((resolve) => setImmediate(resolve));
  const cost = fraction() < 0.1 ? 0 : 1 + below(500);
  say("settling", name, cost);
  if (cost === 0) await store.release(answer.reservation);
  else await store.settle(answer.reservation, cost);
  say("settled", name, cost);
}

async function converse(store: StateStore, known: string[]): Promise<void> {
  const id = known.length < 6 ? undefined : known[below(known.length)];
  const session = await store.sessions.open(OWNER, id, TTL_MS);
  if (typeof session !== "object") return;
  if (id === undefined) known.push(session.id);
  const history = [...session.history, { role: "user", content: "x".repeat(below(2000)) }] as const;
  say("saving", session.id, history.length);
  await session.save(history);
  say("saved", session.id, history.length);
  session.close();
}

async function work(store: StateStore, known: string[]): Promise<void> {
  for (let n = 0; n < CALLS_MAX; n += 1) {
    const name = `${seed}-${n}`;
    const kind = below(10);
    if (kind < 6)
      await Promise.all([call(store, `${name}a`), call(store, `${name}b`), call(store, `${name}c`)]);
    else if (kind < 8) await converse(store, known);
    else if (kind === 8) {
      const value = fraction() < 0.5;
      say("putting", `key-${n % 3}`, String(value));
      await store.overrides.set(overrideOf(`key-${n % 3}`, value));
      say("put", `key-${n % 3}`, String(value));
    } else {
      const record = { ...auditRecordOf(n), id: randomUUID() };
      await store.audit.append([record]);
      say("appended", record.id);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

say("opening");
const store = await fileStore({
  directory,
  clock: systemClock({
    wallMs: () =>
      Date.now() + (OFF_DAYS[Math.floor(performance.now() / OFF_MS) % OFF_DAYS.length] ?? 0) * DAY_MS,
  }),
  random: { uuid: randomUUID, fraction },
  maxSessions: 100,
  snapshotIntervalSeconds: 0.02,
  onError: "refuse",
  log: listeningLog(),
});
// The parent gives what this process or one before it has said itself.
const known = JSON.parse(ids) as string[];
await tellWhatIsThere(store, known);
await work(store, known);
