/**
 * What every store promises, whatever its driver. It reaches a store through the contract alone and awaits every
 * answer, so that one that answers at once and one that asks a server are held to the same words.
 */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Clock, JsonValue, Message, OpenSession } from "../../src/plugin/index.ts";
import type {
  Admission,
  AuditRecord,
  Override,
  Reservation,
  StateStore,
  StoreClaim,
} from "../../src/state/store.ts";
import { SESSION_WAITERS_MAX } from "../../src/state/store.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "./claims.ts";

/** Makes an empty store on the clock given. */
export type MakeStore = (clock: Clock) => Promise<StateStore>;

const NOVEMBER_MS = Date.UTC(2026, 10, 3, 9);
const NOVEMBER = "2026-11";
const TTL_MS = 600_000;
const NO_ID = "11111111-2222-4333-8444-555555555555";

/** Registers the suite under `name`. */
export function storeConformance(name: string, make: MakeStore): void {
  describe(`${name} store`, () => {
    const on = withStore(make);
    windowPromises(on);
    limitChangePromises(on);
    retryPromises(on);
    capPromises(on);
    reservationPromises(on);
    monthPromises(on);
    sessionPromises(on);
    sessionOwnerPromises(on);
    waitingPromises(on);
    goneWhileHeldPromises(on);
    closingPromises(on);
    overridePromises(on);
    auditPromises(on);
  });
}

type Body = (store: StateStore, clock: VirtualClock, t: TestContext) => Promise<void>;
type On = (sentence: string, body: Body) => void;

function withStore(make: MakeStore): On {
  return (sentence, body) => {
    test(sentence, async (t) => {
      const clock = virtualClock(NOVEMBER_MS);
      const store = await make(clock);
      try {
        await body(store, clock, t);
      } finally {
        await store.close();
      }
    });
  };
}

function windowPromises(on: On): void {
  on("a burst of as many calls as the limit is admitted, and the next is not", async (store) => {
    const claims = [rate("burst", 3)];
    for (let call = 0; call < 3; call += 1) assert.ok((await store.admit(`c${call}`, claims)).admitted);
    assert.deepEqual(await store.admit("c3", claims), {
      admitted: false,
      refused: 0,
      retryAfterSeconds: 60,
      spentNanoUsd: 0,
    });
  });

  on("a call counts up to the end of its window and not at it", async (store, clock) => {
    const claims = [rate("edge", 1)];
    await admitted(store, claims);
    clock.advance(MINUTE_MS - 1);
    await refused(store, claims);
    clock.advance(1);
    await admitted(store, claims);
  });

  on("a window slides: calls late in one minute count in the next", async (store, clock) => {
    const claims = [rate("slide", 2)];
    clock.advance(59_000);
    await admitted(store, claims);
    await admitted(store, claims);
    clock.advance(2000);
    assert.equal((await refused(store, claims)).retryAfterSeconds, 58);
  });

  on("a refused call counts in no window", async (store, clock) => {
    const both = [rate("hour", 2, HOUR_MS), rate("minute", 1)];
    await admitted(store, both);
    for (let call = 0; call < 5; call += 1) assert.equal((await refused(store, both)).refused, 1);
    clock.advance(MINUTE_MS);
    await admitted(store, both);
  });

  on("keys and window lengths are counted apart", async (store) => {
    await admitted(store, [rate("a", 1)]);
    await admitted(store, [rate("b", 1)]);
    await admitted(store, [rate("a", 1, HOUR_MS)]);
    await refused(store, [rate("a", 1)]);
  });

  on("a call that claims the same window twice counts once", async (store) => {
    const twice = [rate("twin", 2), rate("twin", 2)];
    await admitted(store, twice);
    await admitted(store, twice);
    await refused(store, twice);
  });

  on("a call without claims is admitted", async (store) => {
    assert.deepEqual(await store.admit("none", []), { admitted: true, reservation: undefined });
    assert.deepEqual(await store.admit("rates", [rate("only", 1)]), {
      admitted: true,
      reservation: undefined,
    });
  });
}

function limitChangePromises(on: On): void {
  on("a raised limit keeps what the window holds", async (store) => {
    for (let call = 0; call < 2; call += 1) await admitted(store, [rate("raised", 2)]);
    await admitted(store, [rate("raised", 3)]);
    await refused(store, [rate("raised", 3)]);
  });

  on(
    "a lowered limit counts what the window holds, and raising it again forgets none of it",
    async (store, clock) => {
      for (let call = 0; call < 4; call += 1) {
        await admitted(store, [rate("lowered", 4)]);
        clock.advance(1000);
      }
      // The calls came at 0, 1, 2 and 3 s. For one more within a limit of 2, those at 0, 1 and 2 s must be gone.
      assert.equal((await refused(store, [rate("lowered", 2)])).retryAfterSeconds, 58);
      await admitted(store, [rate("lowered", 5)]);
      await refused(store, [rate("lowered", 5)]);
    },
  );
}

function retryPromises(on: On): void {
  on("who waits exactly as long as told is admitted", async (store, clock) => {
    const claims = [rate("exact", 1)];
    await admitted(store, claims);
    clock.advance(1);
    const { retryAfterSeconds } = await refused(store, claims);
    assert.equal(retryAfterSeconds, 60);
    clock.advance(retryAfterSeconds * 1000);
    await admitted(store, claims);
  });

  on("the wait is at least a second", async (store, clock) => {
    const claims = [rate("second", 1)];
    await admitted(store, claims);
    clock.advance(MINUTE_MS - 1);
    assert.equal((await refused(store, claims)).retryAfterSeconds, 1);
  });

  on("of two full windows the one with the longest wait is named", async (store, clock) => {
    const both = [rate("short", 1), rate("long", 1, HOUR_MS)];
    await admitted(store, both);
    clock.advance(500);
    const refusal = await refused(store, both);
    assert.deepEqual([refusal.refused, refusal.retryAfterSeconds], [1, 3600]);
  });
}

function capPromises(on: On): void {
  on("an estimate that just fits the cap is reserved, one nano-dollar more is refused", async (store) => {
    await reserved(store, [spend("fit", 600, 1000)]);
    const refusal = await refused(store, [spend("fit", 401, 1000)]);
    assert.deepEqual(refusal, { admitted: false, refused: 0, retryAfterSeconds: 0, spentNanoUsd: 600 });
    await reserved(store, [spend("fit", 400, 1000)]);
    assert.deepEqual(await store.spending("fit", NOVEMBER), { settledNanoUsd: 0, reservedNanoUsd: 1000 });
  });

  on("a sum without a cap is kept all the same", async (store) => {
    const [endpoint, token] = [spend("endpoint", 5), spend("token", 7, 100)];
    const reservation = await reserved(store, [endpoint, token]);
    assert.equal((await store.spending("endpoint", NOVEMBER)).reservedNanoUsd, 5);
    await store.settle(reservation, 4);
    assert.equal((await store.spending("endpoint", NOVEMBER)).settledNanoUsd, 4);
    assert.equal((await store.spending("token", NOVEMBER)).settledNanoUsd, 4);
  });

  on("a call refused for one sum reserves in none and counts in no window", async (store) => {
    await reserved(store, [spend("poor", 10, 10)]);
    const claims = [rate("free", 1), spend("rich", 10, 1000), spend("poor", 1, 10)];
    assert.deepEqual(await store.admit("refused", claims), {
      admitted: false,
      refused: 2,
      retryAfterSeconds: 0,
      spentNanoUsd: 10,
    });
    assert.equal((await store.spending("rich", NOVEMBER)).reservedNanoUsd, 0);
    await admitted(store, [rate("free", 1)]);
  });

  on("a full window is named before an empty purse, and reserves nothing", async (store) => {
    const claims = [rate("window", 1), spend("purse", 10, 10)];
    await reserved(store, claims);
    assert.equal((await refused(store, claims)).refused, 0);
    assert.equal((await store.spending("purse", NOVEMBER)).reservedNanoUsd, 10);
  });

  on("as many of 200 simultaneous calls are admitted as the cap pays for", async (store) => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, call) => store.admit(`p${call}`, [spend("rush", 10, 120)])),
    );
    assert.equal(answers.filter((answer) => answer.admitted).length, 12);
  });
}

function reservationPromises(on: On): void {
  on("settling puts the cost in the estimate's place", async (store) => {
    const reservation = await reserved(store, [spend("cost", 600, 1000)]);
    await store.settle(reservation, 250);
    assert.deepEqual(await store.spending("cost", NOVEMBER), { settledNanoUsd: 250, reservedNanoUsd: 0 });
    await reserved(store, [spend("cost", 750, 1000)]);
  });

  on("a cost above its estimate is settled whole", async (store) => {
    await store.settle(await reserved(store, [spend("dear", 10, 10)]), 35);
    assert.equal((await store.spending("dear", NOVEMBER)).settledNanoUsd, 35);
    assert.equal((await refused(store, [spend("dear", 0, 10)])).spentNanoUsd, 35);
  });

  on("releasing gives the estimate back", async (store) => {
    await store.release(await reserved(store, [spend("back", 1000, 1000)]));
    assert.deepEqual(await store.spending("back", NOVEMBER), { settledNanoUsd: 0, reservedNanoUsd: 0 });
    await reserved(store, [spend("back", 1000, 1000)]);
  });

  on("a call that claims the same sum twice pays once", async (store) => {
    const reservation = await reserved(store, [spend("twin", 3), spend("twin", 8)]);
    assert.equal((await store.spending("twin", NOVEMBER)).reservedNanoUsd, 8);
    await store.settle(reservation, 6);
    assert.deepEqual(await store.spending("twin", NOVEMBER), { settledNanoUsd: 6, reservedNanoUsd: 0 });
  });

  on("a reservation says what it holds", async (store) => {
    const reservation = await reserved(store, [rate("r", 9), spend("x", 3), spend("y", 4)], "named");
    assert.equal(reservation.callId, "named");
    assert.equal(reservation.month, NOVEMBER);
    assert.deepEqual(reservation.entries, [
      { key: "x", estimateNanoUsd: 3 },
      { key: "y", estimateNanoUsd: 4 },
    ]);
  });

  on("a reservation ends once: a second end is a bug and changes nothing", async (store) => {
    const settled = await reserved(store, [spend("once", 10)], "a");
    await store.settle(settled, 4);
    await assert.rejects(async () => store.settle(settled, 4));
    await assert.rejects(async () => store.release(settled));
    const released = await reserved(store, [spend("once", 10)], "b");
    await store.release(released);
    await assert.rejects(async () => store.settle(released, 4));
    assert.deepEqual(await store.spending("once", NOVEMBER), { settledNanoUsd: 4, reservedNanoUsd: 0 });
  });
}

function monthPromises(on: On): void {
  on("a budget begins anew at the first moment of a UTC month", async (store, clock) => {
    await store.settle(await reserved(store, [spend("month", 10, 10)]), 10);
    clock.advance(Date.UTC(2026, 11, 1) - clock.nowMs() - 1);
    await refused(store, [spend("month", 10, 10)]);
    clock.advance(1);
    assert.equal((await reserved(store, [spend("month", 10, 10)])).month, "2026-12");
  });

  on("a call is settled in the month it was reserved in", async (store, clock) => {
    const reservation = await reserved(store, [spend("late", 10, 10)]);
    clock.advance(Date.UTC(2026, 11, 1) - clock.nowMs());
    await reserved(store, [spend("late", 6, 10)]);
    await store.settle(reservation, 9);
    assert.deepEqual(await store.spending("late", NOVEMBER), { settledNanoUsd: 9, reservedNanoUsd: 0 });
    assert.deepEqual(await store.spending("late", "2026-12"), { settledNanoUsd: 0, reservedNanoUsd: 6 });
  });

  on("what was spent is known for two months more", async (store, clock) => {
    await store.settle(await reserved(store, [spend("old", 10)]), 10);
    clock.advance(Date.UTC(2027, 0, 31) - clock.nowMs());
    await reserved(store, [spend("old", 1)]);
    assert.equal((await store.spending("old", NOVEMBER)).settledNanoUsd, 10);
  });
}

function sessionPromises(on: On): void {
  on("a conversation that was saved is resumed by its id, by its owner alone", async (store) => {
    const id = await stored(store, turn("hello"));
    const again = await opened(store, id);
    assert.deepEqual(again.history, turn("hello"));
    assert.equal(again.id, id);
    again.close();
    assert.equal(await store.sessions.open("chat/stranger", id, TTL_MS), "missing");
    assert.equal(await store.sessions.open("other-plugin/owner", id, TTL_MS), "missing");
    assert.equal(await store.sessions.open("chat/owner", NO_ID, TTL_MS), "missing");
  });

  on("a new conversation is empty and has an id of its own", async (store) => {
    const [first, second] = [await opened(store), await opened(store)];
    assert.deepEqual(first.history, []);
    assert.match(first.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.notEqual(first.id, second.id);
  });

  on("a new conversation that was never saved is gone when it is closed", async (store) => {
    const session = await opened(store);
    session.close();
    assert.equal(await store.sessions.open("chat/owner", session.id, TTL_MS), "missing");
  });

  on("what was not saved leaves the conversation as it was", async (store) => {
    const id = await stored(store, turn("kept"));
    (await opened(store, id)).close();
    const session = await opened(store, id);
    assert.deepEqual(session.history, turn("kept"));
  });

  on("a conversation lives through its idle time and not longer", async (store, clock) => {
    const id = await stored(store, turn("a"));
    clock.advance(TTL_MS);
    (await opened(store, id)).close();
    clock.advance(TTL_MS + 1);
    assert.equal(await store.sessions.open("chat/owner", id, TTL_MS), "missing");
    assert.equal(await store.sessions.peekCharacters("chat/owner", id), 0);
  });

  on("opening and saving renew the idle time", async (store, clock) => {
    const id = await stored(store, turn("a"));
    clock.advance(TTL_MS - 1);
    const session = await opened(store, id);
    clock.advance(TTL_MS - 1);
    await session.save(turn("b"));
    session.close();
    clock.advance(TTL_MS);
    assert.deepEqual((await opened(store, id)).history, turn("b"));
  });

  on("saving twice, or after closing, is a bug", async (store) => {
    const session = await opened(store);
    await session.save(turn("a"));
    await assert.rejects(async () => session.save(turn("b")));
    session.close();
    const closed = await opened(store, session.id);
    closed.close();
    await assert.rejects(async () => closed.save(turn("c")));
    assert.deepEqual((await opened(store, session.id)).history, turn("a"));
  });
}

function sessionOwnerPromises(on: On): void {
  on("the characters of a conversation are known without opening it, to its owner", async (store) => {
    const id = await stored(store, turn("12345"));
    const held = await opened(store, id);
    assert.equal(await store.sessions.peekCharacters("chat/owner", id), 5 + "answer".length);
    assert.equal(await store.sessions.peekCharacters("chat/stranger", id), 0);
    assert.equal(await store.sessions.peekCharacters("chat/owner", NO_ID), 0);
    held.close();
  });

  on("a deleted conversation is gone, and only its owner can delete it", async (store) => {
    const id = await stored(store, turn("a"));
    assert.equal(await store.sessions.delete("chat/stranger", id), false);
    assert.equal(await store.sessions.delete("chat/owner", id), true);
    assert.equal(await store.sessions.delete("chat/owner", id), false);
    assert.equal(await store.sessions.open("chat/owner", id, TTL_MS), "missing");
  });
}

function waitingPromises(on: On): void {
  on("a second call waits for the first and sees what it saved", async (store) => {
    const first = await opened(store);
    const second = opened(store, first.id);
    await first.save(turn("first"));
    first.close();
    assert.deepEqual((await second).history, turn("first"));
  });

  on("calls on one conversation have it one after the other, in the order they came", async (store) => {
    const id = await stored(store, turn("start"));
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 5 }, async (_, call) => {
        const session = await opened(store, id);
        order.push(call);
        await session.save([...session.history, ...turn(`${call}`)]);
        session.close();
      }),
    );
    assert.deepEqual(order, [0, 1, 2, 3, 4]);
    const { history } = await opened(store, id);
    assert.deepEqual(history, [turn("start"), ...order.map((call) => turn(`${call}`))].flat());
  });

  on("closing twice lets one call go on, not two", async (store) => {
    const first = await opened(store, await stored(store, turn("a")));
    const second = opened(store, first.id);
    const third = opened(store, first.id);
    first.close();
    first.close();
    const holder = await second;
    let thirdHasIt = false;
    const seen = third.then((session) => {
      thirdHasIt = true;
      return session;
    });
    // Time enough for the third, had it been let in.
    for (let turns = 0; turns < 10; turns += 1) await store.health();
    assert.equal(thirdHasIt, false);
    holder.close();
    (await seen).close();
  });

  on("so many calls may wait, the next finds it busy, and a place is free again later", async (store) => {
    const first = await opened(store, await stored(store, turn("a")));
    const waiting = Array.from({ length: SESSION_WAITERS_MAX }, () => opened(store, first.id));
    assert.equal(await store.sessions.open("chat/owner", first.id, TTL_MS), "busy");
    first.close();
    const [next, ...others] = waiting;
    const holder = await next;
    const late = opened(store, first.id);
    holder?.close();
    for (const one of [...others, late]) (await one).close();
  });
}

function goneWhileHeldPromises(on: On): void {
  on(
    "a conversation that expired while it was held is missing for those who waited",
    async (store, clock) => {
      const first = await opened(store, await stored(store, turn("a")));
      const second = store.sessions.open("chat/owner", first.id, TTL_MS);
      clock.advance(TTL_MS + 1);
      first.close();
      assert.equal(await second, "missing");
    },
  );

  on("a call that holds a conversation past its idle time can still save it", async (store, clock) => {
    const session = await opened(store, await stored(store, turn("a")));
    clock.advance(TTL_MS * 2);
    await session.save(turn("b"));
    session.close();
    assert.deepEqual((await opened(store, session.id)).history, turn("b"));
  });

  on("a conversation does not expire while it is held", async (store, clock) => {
    const first = await opened(store, await stored(store, turn("a")));
    clock.advance(TTL_MS + 1);
    const second = opened(store, first.id);
    await first.save(turn("b"));
    first.close();
    assert.deepEqual((await second).history, turn("b"));
  });

  on("a conversation that was deleted while it was held does not come back", async (store) => {
    const first = await opened(store, await stored(store, turn("a")));
    const second = store.sessions.open("chat/owner", first.id, TTL_MS);
    assert.equal(await store.sessions.delete("chat/owner", first.id), true);
    await first.save(turn("b"));
    first.close();
    assert.equal(await second, "missing");
    assert.equal(await store.sessions.open("chat/owner", first.id, TTL_MS), "missing");
  });

  on("who waits for a new conversation finds it missing when it was not saved", async (store) => {
    const first = await opened(store);
    const second = store.sessions.open("chat/owner", first.id, TTL_MS);
    first.close();
    assert.equal(await second, "missing");
  });
}

function closingPromises(on: On): void {
  on("it says that it is well, and after closing that it is not", async (store) => {
    assert.equal((await store.health()).ok, true);
    await store.close();
    assert.equal((await store.health()).ok, false);
  });

  on(
    "after closing, claims are refused, conversations are busy and reservations can still end",
    async (store) => {
      const reservation = await reserved(store, [spend("end", 10)]);
      const held = await opened(store);
      await store.close();
      assert.equal((await refused(store, [rate("r", 5)])).retryAfterSeconds, 1);
      assert.equal(await store.sessions.open("chat/owner", undefined, TTL_MS), "busy");
      await store.settle(reservation, 5);
      await held.save(turn("late"));
      held.close();
      await store.close();
    },
  );
}

type Refusal = Admission & { readonly admitted: false };

async function admitted(
  store: StateStore,
  claims: readonly StoreClaim[],
  callId = "call",
): Promise<Admission> {
  const answer = await store.admit(callId, claims);
  assert.ok(answer.admitted, `refused: ${JSON.stringify(answer)}`);
  return answer;
}

async function refused(store: StateStore, claims: readonly StoreClaim[]): Promise<Refusal> {
  const answer = await store.admit("refused", claims);
  assert.ok(!answer.admitted, "admitted");
  return answer;
}

let calls = 0;

/** Every reservation under a call id of its own, as in the gateway. */
async function reserved(
  store: StateStore,
  claims: readonly StoreClaim[],
  callId?: string,
): Promise<Reservation> {
  calls += 1;
  const answer = await admitted(store, claims, callId ?? `call-${calls}`);
  assert.ok(answer.admitted && answer.reservation !== undefined, "nothing was reserved");
  return answer.reservation;
}

async function opened(store: StateStore, id?: string): Promise<OpenSession> {
  const session = await store.sessions.open("chat/owner", id, TTL_MS);
  assert.ok(typeof session === "object", `the conversation is ${String(session)}`);
  return session;
}

/** A conversation that stands in the store, held by nobody. */
async function stored(store: StateStore, history: readonly Message[]): Promise<string> {
  const session = await opened(store);
  await session.save(history);
  session.close();
  return session.id;
}

function turn(text: string): readonly Message[] {
  return [
    { role: "user", content: text },
    { role: "assistant", content: "answer" },
  ];
}

function override(key: string, value: JsonValue): Override {
  return { key, value, replaced: null, actor: "ops", setAtMs: NOVEMBER_MS };
}

function overridePromises(on: On): void {
  on(
    "an override is listed until it is dropped, and the last value put under a key counts",
    async (store) => {
      assert.deepEqual(await store.overrides.list(), []);
      assert.equal(await store.overrides.put(override("token:p/1", { is_active: false })), true);
      assert.equal(await store.overrides.put(override("endpoint:p/s", true)), true);
      assert.equal(await store.overrides.put(override("endpoint:p/s", false)), true);
      const byKey = (a: Override, b: Override): number => a.key.localeCompare(b.key);
      assert.deepEqual([...(await store.overrides.list())].sort(byKey), [
        override("endpoint:p/s", false),
        override("token:p/1", { is_active: false }),
      ]);
      assert.equal(await store.overrides.drop("endpoint:p/s"), true);
      assert.equal(await store.overrides.drop("endpoint:p/s"), false);
      assert.deepEqual(await store.overrides.list(), [override("token:p/1", { is_active: false })]);
    },
  );

  on("whoever watches overrides hears of each change until it stops", async (store) => {
    let heard = 0;
    let hear = (): void => {};
    const stop = store.overrides.watch(() => {
      heard += 1;
      hear();
    });
    const change = async (run: () => Promise<unknown>): Promise<void> => {
      const told = new Promise<void>((resolve) => (hear = resolve));
      await run();
      await told;
    };
    await change(async () => store.overrides.put(override("k", 1)));
    await change(async () => store.overrides.drop("k"));
    assert.equal(heard, 2);
    stop();
    await store.overrides.put(override("k", 2));
    assert.equal(heard, 2);
  });
}

function audited(n: number, about: Partial<AuditRecord> = {}): AuditRecord {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
    event: "token.revoked",
    severity: "warn",
    actor: "ops",
    project: { id: 1, name: "Ferry", uuid: "p-1" },
    target: `token ${n}`,
    metadata: { token_id: n },
    ipAddress: "127.0.0.1",
    occurredAtMs: NOVEMBER_MS + n,
    ...about,
  };
}

function auditPromises(on: On): void {
  on("audit records come back newest first, page by page, each as it was written", async (store) => {
    await store.audit.append([audited(1), audited(2)]);
    await store.audit.append([audited(3)]);
    assert.deepEqual(await store.audit.query({ limit: 2 }), [audited(3), audited(2)]);
    assert.deepEqual(await store.audit.query({ limit: 2, before: audited(2).id }), [audited(1)]);
  });

  on("audit records are found by project and by event", async (store) => {
    const other = { id: 2, name: "Harbour", uuid: "p-2" };
    const records = [audited(1), audited(2, { project: other }), audited(3, { event: "token.created" })];
    await store.audit.append(records);
    assert.deepEqual(await store.audit.query({ limit: 9, projectUuid: "p-2" }), [records[1]]);
    assert.deepEqual(await store.audit.query({ limit: 9, event: "token.created" }), [records[2]]);
    assert.deepEqual(await store.audit.query({ limit: 9, projectUuid: "p-9" }), []);
  });
}
