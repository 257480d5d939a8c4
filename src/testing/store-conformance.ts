/**
 * What every store promises, whatever its driver. It uses a store through `StateStore` alone and awaits every
 * answer, so that one that answers at once and one that asks a server are held to the same words.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clock, StateStore } from "../plugin/index.ts";
import { HOUR_MS, MINUTE_MS, rate, spend } from "./store-claims.ts";
import {
  admitted,
  NOVEMBER_MS,
  type On,
  opened,
  refused,
  reserved,
  TTL_MS,
  turn,
} from "./store-conformance-kit.ts";
import { auditPromises, overridePromises } from "./store-conformance-records.ts";
import { renamePromises } from "./store-conformance-renames.ts";
import { conversationPromises } from "./store-conformance-sessions.ts";
import { virtualClock } from "./virtual-clock.ts";

/** Makes an empty store on the clock given. @since 0.1.0 */
export type MakeStore = (clock: Clock) => Promise<StateStore>;

const NOVEMBER = "2026-11";

/** Registers the suite under `name`. @since 0.1.0 */
export function storeConformance(name: string, make: MakeStore): void {
  describe(`${name} store`, () => {
    const on = withStore(make);
    windowPromises(on);
    remainingPromises(on);
    limitChangePromises(on);
    retryPromises(on);
    capPromises(on);
    reservationPromises(on);
    monthPromises(on);
    sumPromises(on);
    conversationPromises(on);
    closingPromises(on);
    overridePromises(on);
    auditPromises(on);
    renamePromises(on);
  });
}

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
    const { reservation } = await admitted(store, [rate("only", 1)]);
    assert.equal(reservation, undefined);
  });
}

function remainingPromises(on: On): void {
  on("an admission says what its windows have left, where the driver says so", async (store, clock) => {
    const claims = [rate("left", 3), spend("left", 1), rate("left", 9, HOUR_MS)];
    const isSaid = (await admitted(store, [rate("said", 1)])).windows !== undefined;
    const windowsNow = async () => (await admitted(store, claims)).windows;
    const said = (windows: readonly number[]) => (isSaid ? windows : undefined);
    assert.deepEqual(await windowsNow(), said([2, MINUTE_MS, 8, HOUR_MS]));
    clock.advance(20_500);
    assert.deepEqual(await windowsNow(), said([1, 39_500, 7, HOUR_MS - 20_500]));
    assert.deepEqual(await windowsNow(), said([0, 39_500, 6, HOUR_MS - 20_500]));
    clock.advance(39_500);
    // The first call is gone from the minute; the next place is that of the two that came at 20.5 s.
    assert.deepEqual(await windowsNow(), said([0, 20_500, 5, HOUR_MS - 60_000]));
    const twice = [rate("twice", 2), rate("twice", 2)];
    assert.deepEqual((await admitted(store, twice)).windows, said([1, MINUTE_MS, 1, MINUTE_MS]));
    assert.equal((await admitted(store, [spend("none", 1)])).windows, undefined);
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

  on("a sum without a cap is kept", async (store) => {
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

function sumPromises(on: On): void {
  on("every sum that is not zero is listed, of every month kept", async (store, clock) => {
    const first = await reserved(store, [spend("a", 10), spend("b", 10)]);
    await store.settle(first, 4);
    await store.release(await reserved(store, [spend("nothing", 10)]));
    clock.advance(Date.UTC(2026, 11, 1) - clock.nowMs());
    await reserved(store, [spend("a", 7)]);
    const sums = [...(await store.sums())].map((sum) => [
      sum.month,
      sum.key,
      sum.settledNanoUsd,
      sum.reservedNanoUsd,
    ]);
    assert.deepEqual(sums.sort(), [
      [NOVEMBER, "a", 4, 0],
      [NOVEMBER, "b", 4, 0],
      ["2026-12", "a", 0, 7],
    ]);
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
