/** What every store that can rename promises of it; one that cannot has no `rename`, and nothing is asked of it. */
import assert from "node:assert/strict";
import type { OpenSession, StateStore } from "../plugin/index.ts";
import type { Override, Rename } from "../plugin/store.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "./store-claims.ts";
import { admitted, NOVEMBER_MS, type On, refused, reserved, TTL_MS, turn } from "./store-conformance-kit.ts";

const NOVEMBER = "2026-11";

/** As the gateway renames the endpoint `old` of project `p`. */
function renames(from: string, to: string): readonly Rename[] {
  return [
    { kind: "rate", windowMs: MINUTE_MS, from: `rate:${from}`, to: `rate:${to}` },
    { kind: "rate", windowMs: HOUR_MS, from: `rate:${from}`, to: `rate:${to}` },
    { kind: "spend", from: `spend:${from}`, to: `spend:${to}` },
    { kind: "sessions", from, to },
    { kind: "override", from: `endpoint:${from}`, to: `endpoint:${to}` },
  ];
}

async function rename(store: StateStore, from: string, to: string): Promise<void> {
  const standing = await store.rename?.({ begin: renames(from, to), end: [] });
  assert.ok(standing !== undefined, "the store is lost");
  for (const one of renames(from, to)) {
    assert.ok(
      standing.some((other) => JSON.stringify(sorted(other)) === JSON.stringify(sorted(one))),
      `does not stand: ${JSON.stringify(one)}`,
    );
  }
}

function sorted({ kind, windowMs, from, to }: Rename): object {
  return windowMs === undefined ? { kind, from, to } : { kind, windowMs, from, to };
}

async function opened(store: StateStore, owner: string, id?: string): Promise<OpenSession> {
  const session = await store.sessions.open(owner, id, TTL_MS);
  assert.ok(typeof session === "object", `the conversation is ${String(session)}`);
  return session;
}

function override(key: string, value: boolean, setAtMs: number = NOVEMBER_MS): Override {
  return { key, value, replaced: null, actor: "ops", setAtMs };
}

async function overridesOf(store: StateStore): Promise<readonly (readonly [string, unknown])[]> {
  const listed = await store.overrides.list();
  assert.ok(listed !== "unavailable");
  return listed.map(({ key, value }) => [key, value] as const);
}

/** Registers them. */
export function renamePromises(on: On): void {
  const whereItCan: On = (sentence, body) =>
    on(sentence, async (store, clock, t) => {
      if (store.rename !== undefined) return body(store, clock, t);
      t.diagnostic("the store cannot rename: what is renamed begins anew");
    });
  ratePromises(whereItCan);
  spendPromises(whereItCan);
  sessionPromises(whereItCan);
  overridePromises(whereItCan);
  standingPromises(whereItCan);
}

function ratePromises(on: On): void {
  on("calls that a window counts are counted under the new name", async (store, clock) => {
    const old = [rate("rate:p/old", 3), rate("rate:p/old", 9, HOUR_MS)];
    const present = [rate("rate:p/new", 3), rate("rate:p/new", 9, HOUR_MS)];
    await admitted(store, old);
    clock.advance(10_000);
    await admitted(store, old);
    await rename(store, "p/old", "p/new");
    await admitted(store, present);
    assert.equal((await refused(store, present)).retryAfterSeconds, 50);
    clock.advance(50_000);
    await admitted(store, present);
    await refused(store, present);
  });

  on("calls of both names count together, those of calls under way included", async (store, clock) => {
    await admitted(store, [rate("rate:p/new", 4)]);
    clock.advance(1000);
    await admitted(store, [rate("rate:p/old", 4)]);
    clock.advance(1000);
    await admitted(store, [rate("rate:p/new", 4)]);
    await rename(store, "p/old", "p/new");
    // A call that began before the rename, or on a replica that has not heard of it.
    await admitted(store, [rate("rate:p/old", 4)]);
    assert.equal((await refused(store, [rate("rate:p/old", 4)])).retryAfterSeconds, 58);
    assert.equal((await refused(store, [rate("rate:p/new", 4)])).retryAfterSeconds, 58);
    clock.advance(58_000);
    await admitted(store, [rate("rate:p/new", 4)]);
    assert.equal((await refused(store, [rate("rate:p/new", 4)])).retryAfterSeconds, 1);
  });
}

function spendPromises(on: On): void {
  on("what was spent in each month, and what is reserved, moves", async (store, clock) => {
    await store.settle(await reserved(store, [spend("spend:p/old", 10)]), 7);
    clock.advance(Date.UTC(2026, 11, 1) - clock.nowMs());
    await store.settle(await reserved(store, [spend("spend:p/old", 10)]), 5);
    await store.settle(await reserved(store, [spend("spend:p/new", 10)]), 3);
    const open = await reserved(store, [spend("spend:p/old", 20)]);
    await rename(store, "p/old", "p/new");
    const nothing = { settledNanoUsd: 0, reservedNanoUsd: 0 };
    assert.deepEqual(await store.spending("spend:p/new", NOVEMBER), { ...nothing, settledNanoUsd: 7 });
    const december = { settledNanoUsd: 8, reservedNanoUsd: 20 };
    assert.deepEqual(await store.spending("spend:p/new", "2026-12"), december);
    assert.deepEqual(await store.spending("spend:p/old", "2026-12"), december, "the old name is another");
    assert.equal((await refused(store, [spend("spend:p/new", 3, 30)])).spentNanoUsd, 28);
    await store.settle(open, 1);
    assert.deepEqual(await store.spending("spend:p/new", "2026-12"), { ...nothing, settledNanoUsd: 9 });
    const sums = [...(await store.sums())].map(({ key, month, settledNanoUsd }) => [
      key,
      month,
      settledNanoUsd,
    ]);
    assert.deepEqual(sums.sort(), [
      ["spend:p/new", "2026-11", 7],
      ["spend:p/new", "2026-12", 9],
    ]);
  });

  on("a call that is admitted under the old name afterwards is paid under the new one", async (store) => {
    await rename(store, "p/old", "p/new");
    const late = await reserved(store, [spend("spend:p/old", 10, 100)]);
    assert.equal((await store.spending("spend:p/new", NOVEMBER)).reservedNanoUsd, 10);
    await store.settle(late, 90);
    assert.equal((await refused(store, [spend("spend:p/new", 11, 100)])).spentNanoUsd, 90);
    await store.release(await reserved(store, [spend("spend:p/old", 10, 100)]));
    assert.equal((await refused(store, [spend("spend:p/old", 11, 100)])).spentNanoUsd, 90);
  });

  on("of calls that come while a name changes, as many are admitted as the cap pays for", async (store) => {
    const call = (name: string, n: number) =>
      store.admit(`${name} ${n}`, [spend(`spend:p/${name}`, 10, 120)]);
    const before = Array.from({ length: 40 }, (_, n) => call("old", n));
    const renamed = store.rename?.({ begin: renames("p/old", "p/new"), end: [] });
    const after = Array.from({ length: 80 }, (_, n) => call(n % 2 === 0 ? "new" : "old", n));
    await renamed;
    const answers = await Promise.all([...before, ...after]);
    const paid = answers.flatMap((answer) => (answer.admitted ? (answer.reservation ?? []) : []));
    assert.equal(paid.length, 12);
    for (const reservation of paid) await store.settle(reservation, 4);
    assert.deepEqual(await store.spending("spend:p/new", NOVEMBER), {
      settledNanoUsd: 48,
      reservedNanoUsd: 0,
    });
  });
}

function sessionPromises(on: On): void {
  on("conversations are resumed under either name, also those that a call holds", async (store) => {
    const saved = await opened(store, "chat/p/old/7");
    await saved.save(turn("one"));
    saved.close();
    const held = await opened(store, "chat/p/old/7");
    const other = await opened(store, "chat/p/older/7");
    await other.save(turn("other"));
    other.close();
    await rename(store, "p/old", "p/new");
    await held.save(turn("held"));
    held.close();
    for (const name of ["p/new", "p/old"]) {
      for (const [id, text] of [[saved.id, "one"] as const, [held.id, "held"] as const]) {
        const again = await opened(store, `chat/${name}/7`, id);
        assert.deepEqual(again.history, turn(text));
        again.close();
      }
    }
    assert.equal(await store.sessions.open("chat/p/new/8", saved.id, TTL_MS), "missing", "another token's");
    assert.equal(
      await store.sessions.open("chat/p/new/7", other.id, TTL_MS),
      "missing",
      "another endpoint's",
    );
    assert.equal(await store.sessions.ownerOf(saved.id), "chat/p/new/7");
    assert.ok((await store.sessions.historyCharacters("chat/p/new/7", saved.id)) > 0);
    assert.equal(await store.sessions.delete("chat/p/old/7", saved.id), true);
  });

  on("a conversation keeps its new owner when the rename stands no longer", async (store) => {
    const saved = await opened(store, "chat/p/old/7");
    await saved.save(turn("one"));
    saved.close();
    await rename(store, "p/old", "p/new");
    await store.rename?.({ begin: [], end: renames("p/old", "p/new") });
    assert.equal(await store.sessions.open("chat/p/old/7", saved.id, TTL_MS), "missing");
    (await opened(store, "chat/p/new/7", saved.id)).close();
  });
}

function overridePromises(on: On): void {
  on("an override moves and tells of the key that it had; the later of two holds", async (store) => {
    await store.overrides.set(override("endpoint:p/old", false));
    await store.overrides.set(override("endpoint:p/other", true));
    await rename(store, "p/old", "p/new");
    assert.deepEqual([...(await overridesOf(store))].sort(), [
      ["endpoint:p/new", false],
      ["endpoint:p/other", true],
    ]);
    const listed = await store.overrides.list();
    assert.ok(listed !== "unavailable");
    const moved = listed.find(({ key }) => key === "endpoint:p/new");
    assert.deepEqual(moved?.formerly, ["endpoint:p/old"]);
    await store.overrides.set(override("endpoint:p/old", true, NOVEMBER_MS + 1));
    assert.deepEqual([...(await overridesOf(store))].sort(), [
      ["endpoint:p/new", true],
      ["endpoint:p/other", true],
    ]);
    await rename(store, "p/other", "p/new");
    assert.deepEqual(await overridesOf(store), [["endpoint:p/new", true]]);
    assert.equal(await store.overrides.delete("endpoint:p/old"), true);
    assert.deepEqual(await overridesOf(store), []);
  });
}

function standingPromises(on: On): void {
  on("a rename that stands already changes nothing, and one that ended moves nothing back", async (store) => {
    await store.settle(await reserved(store, [spend("spend:p/old", 10)]), 7);
    await rename(store, "p/old", "p/new");
    await rename(store, "p/old", "p/new");
    assert.equal((await store.spending("spend:p/new", NOVEMBER)).settledNanoUsd, 7);
    const left = await store.rename?.({ begin: [], end: renames("p/old", "p/new") });
    assert.deepEqual(left, []);
    await store.settle(await reserved(store, [spend("spend:p/old", 10, 10)]), 2);
    assert.equal((await store.spending("spend:p/old", NOVEMBER)).settledNanoUsd, 2);
    assert.equal((await store.spending("spend:p/new", NOVEMBER)).settledNanoUsd, 7);
  });

  on("names change again and again, and back", async (store) => {
    await store.settle(await reserved(store, [spend("spend:p/a", 10)]), 7);
    const claims = [rate("rate:p/a", 2)];
    await admitted(store, claims);
    await rename(store, "p/a", "p/b");
    await rename(store, "p/b", "p/c");
    assert.equal((await store.spending("spend:p/c", NOVEMBER)).settledNanoUsd, 7);
    // A replica that knows only the first name still means the same.
    await store.settle(await reserved(store, [spend("spend:p/a", 10)]), 1);
    assert.equal((await store.spending("spend:p/c", NOVEMBER)).settledNanoUsd, 8);
    await rename(store, "p/c", "p/a");
    assert.equal((await store.spending("spend:p/a", NOVEMBER)).settledNanoUsd, 8);
    await store.settle(await reserved(store, [spend("spend:p/c", 10)]), 1);
    assert.deepEqual(
      (await store.sums()).map(({ key, settledNanoUsd }) => [key, settledNanoUsd]),
      [["spend:p/a", 9]],
    );
    await admitted(store, claims);
    await refused(store, claims);
  });
}
