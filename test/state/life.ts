/**
 * A short life of a store, step by step, in which everything that a store keeps is made, changed and ended; and what a
 * store holds as one value, so that two can be compared. Each step writes one line of a journal.
 */
import assert from "node:assert/strict";
import type { StateStore } from "../../src/plugin/index.ts";
import { isPromise, type OpenSession } from "../../src/plugin/index.ts";
import type { Admission, AuditRecord, Override, Reservation } from "../../src/plugin/store.ts";
import { HOUR_MS, rate, spend } from "../../src/testing/store-claims.ts";

const OWNER = "chat/owner";
const TTL_MS = 600_000;
const MAY = "2026-05";

/** What the steps before have left for later ones. */
export interface Life {
  readonly store: StateStore;
  readonly reservations: Map<string, Reservation>;
  sessionId: string;
}

export type Step = (life: Life) => void;

export function begin(store: StateStore): Life {
  return { store, reservations: new Map(), sessionId: "" };
}

const admit =
  (callId: string, estimateNanoUsd: number): Step =>
  ({ store, reservations }) => {
    const claims = [rate("minute", 9), rate("hour", 90, HOUR_MS), spend("endpoint", estimateNanoUsd, 9000)];
    const answer = now(store.admit(callId, [...claims, spend("token", estimateNanoUsd)]));
    if (answer.admitted && answer.reservation !== undefined) reservations.set(callId, answer.reservation);
  };

const settle =
  (callId: string, costNanoUsd: number): Step =>
  ({ store, reservations }) => {
    const reservation = reservations.get(callId);
    if (reservation !== undefined) store.settle(reservation, costNanoUsd);
  };

const release =
  (callId: string): Step =>
  ({ store, reservations }) => {
    const reservation = reservations.get(callId);
    if (reservation !== undefined) store.release(reservation);
  };

const say =
  (text: string): Step =>
  (life) => {
    const id = life.sessionId === "" ? undefined : life.sessionId;
    const session = open(life.store, id);
    if (session === undefined) return;
    life.sessionId = session.id;
    const turn = [
      { role: "user", content: text },
      { role: "assistant", content: `You said ${text}. Grüße.` },
    ] as const;
    // Two turns fit: the oldest goes, as where `session_max_messages` is 4.
    session.save([...session.history.slice(-2), ...turn]);
    session.close();
  };

const put =
  (key: string, value: boolean): Step =>
  ({ store }) =>
    void store.overrides.set(overrideOf(key, value));

const audit =
  (n: number): Step =>
  ({ store }) =>
    void store.audit.append([auditRecordOf(n)]);

export const STEPS: readonly Step[] = [
  admit("call-1", 800),
  settle("call-1", 700),
  say("hello"),
  put("token:p/1", true),
  audit(1),
  admit("call-2", 400),
  admit("call-3", 100),
  say("again"),
  release("call-3"),
  settle("call-2", 450),
  ({ store }) => void store.overrides.delete("token:p/1"),
  put("endpoint:p/s", false),
  admit("call-4", 40),
  say("a third time"),
  audit(2),
];

/** Everything that outlives a process, of a store that nobody uses any more: looking counts as a call. */
export async function portrait(life: Pick<Life, "store" | "sessionId">): Promise<unknown> {
  const { store, sessionId } = life;
  const session = open(store, sessionId === "" ? undefined : sessionId);
  const sums = [...(await store.sums())].sort((a, b) => a.key.localeCompare(b.key));
  return {
    settled: sums
      .filter((sum) => sum.settledNanoUsd > 0)
      .map(({ key, settledNanoUsd }) => [key, settledNanoUsd]),
    history: session?.history ?? [],
    overrides: await store.overrides.list(),
    audit: await store.audit.query({ limit: 9 }),
    minute: counted(store, (limit) => rate("minute", limit)),
    hour: counted(store, (limit) => rate("hour", limit, HOUR_MS)),
  };
}

/** What a store holds against a key in May, nothing being open. */
export async function settledIn(store: StateStore, key: string): Promise<number> {
  return (await store.spending(key, MAY)).settledNanoUsd;
}

export function overrideOf(key: string, value: boolean): Override {
  return { key, value, replaced: !value, actor: "ops", setAtMs: 1 };
}

export function auditRecordOf(n: number): AuditRecord {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
    event: "token.revoked",
    severity: "warn",
    actor: "ops",
    project: { id: 1, name: "Ferry", uuid: "p-1" },
    target: `token ${n}`,
    metadata: { token_id: n },
    ipAddress: "127.0.0.1",
    occurredAtMs: n,
  };
}

function counted(store: StateStore, claim: (limit: number) => ReturnType<typeof rate>): number {
  for (let calls = 0; ; calls += 1) if (now(store.admit("probe", [claim(calls + 1)])).admitted) return calls;
}

function open(store: StateStore, id: string | undefined): OpenSession | undefined {
  const session = store.sessions.open(OWNER, id, TTL_MS);
  return typeof session === "object" && !isPromise(session) ? session : undefined;
}

function now(admission: ReturnType<StateStore["admit"]>): Admission {
  assert.ok(!isPromise(admission));
  return admission;
}
