/** The template of a store: every operation on plain maps, to be replaced one by one. */
import type { Template } from "./template.ts";

export const store: Template = {
  summary: "keeps limits, spend and sessions",
  plugin: ({ name }) => `/**
 * A store on plain maps: every operation of a store, as simple as possible. Replace the maps with real storage. Each
 * operation must be atomic: nothing may happen between its reads and its writes.
 */
import {
  type AuditRecord,
  type Clock,
  defineStore,
  type Message,
  type Override,
  type Reservation,
  type StateStore,
  type StoreClaim,
  type StoreHost,
} from "sluice/plugin";

export default defineStore({
  name: "${name}",
  description: "Keeps everything in maps of the process.",
  schema: { type: "object", additionalProperties: false },
  examples: [{}],
  setup: (_options, host) => makeStore(host),
});

type Rate = Extract<StoreClaim, { kind: "rate" }>;

interface Sum {
  settled: number;
  reserved: number;
}

function makeStore({ clock, random, maxSessions }: StoreHost): StateStore {
  const times = new Map<string, number[]>();
  const sums = new Map<string, Sum>();
  const monthOf = (): string => new Date(clock.nowMs()).toISOString().slice(0, 7);
  const sumOf = (key: string, month: string): Sum => {
    const id = \`\${month} \${key}\`;
    const sum = sums.get(id) ?? { settled: 0, reserved: 0 };
    sums.set(id, sum);
    return sum;
  };
  /** Milliseconds until one more call is admitted; 0: now. */
  const waitMs = ({ key, limit, windowMs }: Rate): number => {
    const within = (times.get(key) ?? []).filter((time) => time > clock.nowMs() - windowMs);
    times.set(key, within);
    const oldest = within[within.length - limit];
    return oldest === undefined ? 0 : oldest + windowMs - clock.nowMs();
  };
  /** For the rate-limit headers, after a window has counted a call. */
  const windowOf = ({ key, limit, windowMs }: Rate): readonly [remaining: number, freeInMs: number] => {
    const counted = times.get(key) ?? [];
    return [Math.max(0, limit - counted.length), (counted[0] ?? 0) + windowMs - clock.nowMs()];
  };
  const end = ({ entries, month }: Reservation, costNanoUsd: number): void => {
    for (const { key, estimateNanoUsd } of entries) {
      const sum = sumOf(key, month);
      sum.reserved -= estimateNanoUsd;
      sum.settled += costNanoUsd;
    }
  };
  const sessions = sessionsIn(clock, random.uuid, maxSessions);
  return {
    driver: "${name}",
    sessions,
    ...recordsIn(),
    admit(callId, claims) {
      const month = monthOf();
      const refused = { admitted: false, retryAfterSeconds: 0, spentNanoUsd: 0 } as const;
      let longestMs = 0;
      let slowest = -1;
      for (const [index, claim] of claims.entries()) {
        const ms = claim.kind === "rate" ? waitMs(claim) : 0;
        if (ms > longestMs) [longestMs, slowest] = [ms, index];
      }
      if (slowest >= 0) return { ...refused, refused: slowest, retryAfterSeconds: Math.ceil(longestMs / 1000) };
      for (const [index, claim] of claims.entries()) {
        if (claim.kind !== "spend" || claim.capNanoUsd === undefined) continue;
        const { settled, reserved } = sumOf(claim.key, month);
        const spentNanoUsd = settled + reserved;
        if (spentNanoUsd + claim.estimateNanoUsd > claim.capNanoUsd) {
          return { ...refused, refused: index, spentNanoUsd };
        }
      }
      const entries: { key: string; estimateNanoUsd: number }[] = [];
      for (const claim of claims) {
        if (claim.kind === "rate") times.set(claim.key, [...(times.get(claim.key) ?? []), clock.nowMs()]);
        else {
          sumOf(claim.key, month).reserved += claim.estimateNanoUsd;
          entries.push({ key: claim.key, estimateNanoUsd: claim.estimateNanoUsd });
        }
      }
      const windows = claims.flatMap((claim) => (claim.kind === "rate" ? windowOf(claim) : []));
      return {
        admitted: true,
        reservation: entries.length === 0 ? undefined : { callId, month, entries },
        ...(windows.length > 0 && { windows }),
      };
    },
    // A persistent store settles here what a crashed process left open.
    renew() {},
    settle: end,
    release: (reservation) => end(reservation, 0),
    spending(key, month) {
      const { settled, reserved } = sumOf(key, month);
      return { settledNanoUsd: settled, reservedNanoUsd: reserved };
    },
    sums: () =>
      [...sums]
        .filter(([, { settled, reserved }]) => settled !== 0 || reserved !== 0)
        .map(([id, { settled, reserved }]) => ({
          key: id.slice(8),
          month: id.slice(0, 7),
          settledNanoUsd: settled,
          reservedNanoUsd: reserved,
        })),
    health: () => ({ ok: true, detail: "in maps" }),
    close() {},
  };
}

interface Session {
  readonly history: readonly Message[];
  readonly endsAtMs: number;
}

/** Sessions. A complete store lets a second call on an open session wait; this one reports that it is busy. */
function sessionsIn(clock: Clock, newId: () => string, max: number): StateStore["sessions"] {
  const kept = new Map<string, Session>();
  const open = new Set<string>();
  const found = (key: string): Session | undefined => {
    const session = kept.get(key);
    return session === undefined || session.endsAtMs <= clock.nowMs() ? undefined : session;
  };
  return {
    open(owner, id, ttlMs) {
      const own = id ?? newId();
      const key = \`\${owner} \${own}\`;
      const history = found(key)?.history;
      if (id !== undefined && history === undefined) return "missing";
      if (open.has(key)) return "busy";
      open.add(key);
      return {
        id: own,
        history: history ?? [],
        save(next) {
          kept.delete(key);
          kept.set(key, { history: next, endsAtMs: clock.nowMs() + ttlMs });
          const oldest = kept.keys().next();
          if (kept.size > max && !oldest.done) kept.delete(oldest.value);
        },
        close: () => void open.delete(key),
      };
    },
    historyCharacters: (owner, id) => JSON.stringify(found(\`\${owner} \${id}\`)?.history ?? "").length - 2,
    delete: (owner, id) => kept.delete(\`\${owner} \${id}\`),
    ownerOf: (id) => [...kept.keys()].find((key) => key.endsWith(\` \${id}\`))?.slice(0, -1 - id.length),
  };
}

function recordsIn(): Pick<StateStore, "overrides" | "audit"> {
  const overrides = new Map<string, Override>();
  const watching = new Set<() => void>();
  const records: AuditRecord[] = [];
  const changed = (): void => {
    for (const tell of watching) tell();
  };
  return {
    overrides: {
      list: () => [...overrides.values()],
      set(override) {
        overrides.set(override.key, override);
        changed();
        return true;
      },
      delete(key) {
        const was = overrides.delete(key);
        if (was) changed();
        return was;
      },
      watch(tell) {
        watching.add(tell);
        return () => void watching.delete(tell);
      },
    },
    audit: {
      append: (more) => void records.push(...more),
      query: ({ projectUuid, event, limit, before }) => {
        const newest = records.toReversed();
        return newest
          .slice(newest.findIndex(({ id }) => id === before) + 1)
          .filter((one) => projectUuid === undefined || one.project.uuid === projectUuid)
          .filter((one) => event === undefined || one.event === event)
          .slice(0, limit);
      },
    },
  };
}
`,
  test: ({
    name,
    variable,
  }) => `/** The guarantees that the gateway relies on first: limits hold, and money is counted once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateStore, StoreClaim } from "sluice/plugin";
import { testHost, virtualClock } from "sluice/testing";
import ${variable} from "./${name}.ts";

const clock = virtualClock();

async function emptyStore(): Promise<StateStore> {
  const { log, random } = testHost();
  return ${variable}.setup({}, { log, clock, random, maxSessions: 10 });
}

const perMinute: StoreClaim = { kind: "rate", key: "calls", limit: 2, windowMs: 60_000 };
const spend: StoreClaim = { kind: "spend", key: "money", capNanoUsd: 100, estimateNanoUsd: 40, inputNanoUsd: 10 };

test("a window admits its limit, and again when it has moved on", async () => {
  const store = await emptyStore();
  for (const call of ["1", "2"]) assert.equal((await store.admit(call, [perMinute])).admitted, true);
  clock.advance(15_000);
  const third = await store.admit("3", [perMinute]);
  assert.ok(!third.admitted);
  assert.deepEqual([third.refused, third.retryAfterSeconds], [0, 45]);
  clock.advance(45_000);
  assert.equal((await store.admit("4", [perMinute])).admitted, true);
});

test("estimates are reserved, and replaced by what calls cost", async () => {
  const store = await emptyStore();
  const first = await store.admit("1", [perMinute, spend]);
  assert.ok(first.admitted && first.reservation !== undefined);
  assert.ok((await store.admit("2", [spend])).admitted);
  const third = await store.admit("3", [perMinute, spend]);
  assert.ok(!third.admitted);
  assert.deepEqual([third.refused, third.spentNanoUsd], [1, 80]);
  await store.settle(first.reservation, 5);
  const { month } = first.reservation;
  assert.deepEqual(await store.spending("money", month), { settledNanoUsd: 5, reservedNanoUsd: 40 });
});

test("a conversation is found again by its owner alone", async () => {
  const { sessions } = await emptyStore();
  const opened = await sessions.open("ada", undefined, 1000);
  assert.ok(typeof opened === "object");
  await opened.save([{ role: "user", content: "hello" }]);
  opened.close();
  assert.equal(await sessions.open("eve", opened.id, 1000), "missing");
  const again = await sessions.open("ada", opened.id, 1000);
  assert.ok(typeof again === "object");
  assert.equal(again.history.length, 1);
});
`,
  yaml: ({ name }) => `state:
  driver: ${name}
`,
};
