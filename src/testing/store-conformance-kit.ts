/** What every part of the conformance suite is written with. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Message, OpenSession, StateStore } from "../plugin/index.ts";
import type { Admission, Reservation, StoreClaim } from "../plugin/store.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export const NOVEMBER_MS = Date.UTC(2026, 10, 3, 9);
export const TTL_MS = 600_000;

type Body = (store: StateStore, clock: VirtualClock, t: TestContext) => Promise<void>;
export type On = (sentence: string, body: Body) => void;

export type SettingConstraint = Admission & { readonly admitted: false };

export async function admitted(
  store: StateStore,
  claims: readonly StoreClaim[],
  callId = "call",
): Promise<Admission & { readonly admitted: true }> {
  const answer = await store.admit(callId, claims);
  assert.ok(answer.admitted, `refused: ${JSON.stringify(answer)}`);
  return answer;
}

export async function refused(store: StateStore, claims: readonly StoreClaim[]): Promise<SettingConstraint> {
  const answer = await store.admit("refused", claims);
  assert.ok(!answer.admitted, "admitted");
  return answer;
}

let calls = 0;

/** Every reservation under a call id of its own, as in the gateway. */
export async function reserved(
  store: StateStore,
  claims: readonly StoreClaim[],
  callId?: string,
): Promise<Reservation> {
  calls += 1;
  const answer = await admitted(store, claims, callId ?? `call-${calls}`);
  assert.ok(answer.admitted && answer.reservation !== undefined, "nothing was reserved");
  return answer.reservation;
}

export async function opened(store: StateStore, id?: string): Promise<OpenSession> {
  const session = await store.sessions.open("chat/owner", id, TTL_MS);
  assert.ok(typeof session === "object", `the conversation is ${String(session)}`);
  return session;
}

/** A conversation that stands in the store, held by nobody. */
export async function stored(store: StateStore, history: readonly Message[]): Promise<string> {
  const session = await opened(store);
  await session.save(history);
  session.close();
  return session.id;
}

export function turn(text: string): readonly Message[] {
  return [
    { role: "user", content: text },
    { role: "assistant", content: "answer" },
  ];
}
