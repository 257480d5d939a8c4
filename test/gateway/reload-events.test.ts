/** Audit events of reloads, where several replicas load the same change of git: recorded once, and never lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAuditTrail } from "../../src/audit/audit.ts";
import { CLAIM_SECONDS, ReloadEvents } from "../../src/gateway/reload-events.ts";
import type { ConfigChange } from "../../src/plan/audit-events.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { listeningLog, openStore, realRandom, redisTests } from "../state/redis-server.ts";
import { PROJECT_UUID } from "../webhooks/kit.ts";

const redis = redisTests();

function changeOf(target: string): ConfigChange {
  const project = { id: 7, name: "Support", uuid: PROJECT_UUID };
  return { event: "endpoint.updated", severity: "info", project, target, metadata: { fields: ["model"] } };
}

interface Replica {
  readonly clock: VirtualClock;
  /** Targets that its listeners heard of: what its webhooks would be sent. */
  readonly heard: string[];
  /** Loads the configuration `to` where `from` was in use. */
  reload(from: string, to: string, ...targets: readonly string[]): Promise<void>;
}

function replicaOn(store: Pick<StateStore, "audit" | "slice">, clock = virtualClock()): Replica {
  const trail = createAuditTrail({ store, clock, random: realRandom, log: listeningLog() });
  const heard: string[] = [];
  trail.onRecord(({ target }) => heard.push(target));
  const events = new ReloadEvents({ store, trail, monotonicMs: () => clock.monotonicMs() });
  return {
    clock,
    heard,
    async reload(from, to, ...targets) {
      events.record(from, { hash: to, revision: "" }, targets.map(changeOf));
      await events.flush();
      await trail.flush();
    },
  };
}

/** Two replicas on keys that no other test uses; `targets`: of what was recorded, oldest first. */
async function onTwoReplicas(
  keyPrefix: string,
  body: (one: Replica, other: Replica, targets: () => Promise<string[]>) => Promise<void>,
): Promise<void> {
  const open = (): Promise<StateStore> => openStore({ url: redis.server.url, keyPrefix });
  const [one, other] = [await open(), await open()];
  const targets = async (): Promise<string[]> => {
    const records = await one.audit.query({ limit: 100 });
    assert.equal(new Set(records.map(({ id }) => id)).size, records.length);
    return records.map(({ target }) => target).reverse();
  };
  try {
    await body(replicaOn(one), replicaOn(other), targets);
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
}

redis.test("the same change on two replicas is recorded, and sent to webhooks, by the first alone", () =>
  onTwoReplicas("same", async (one, other, targets) => {
    await Promise.all([one.reload("A", "B", "ask", "sum"), other.reload("A", "B", "ask", "sum")]);
    assert.deepEqual(await targets(), ["ask", "sum"]);
    assert.deepEqual([...one.heard, ...other.heard], ["ask", "sum"]);
  }),
);

redis.test("a change that is taken back and made again is recorded each time", () =>
  onTwoReplicas("again", async (one, other, targets) => {
    for (const [from, to] of ["AB", "BA", "AB"]) {
      assert.ok(from !== undefined && to !== undefined);
      await one.reload(from, to, `to ${to}`);
      await other.reload(from, to, `to ${to}`);
    }
    assert.deepEqual(await targets(), ["to B", "to A", "to B"]);
  }),
);

redis.test("a replica that was started between two makings of a change records neither again", () =>
  onTwoReplicas("young", async (one, young, targets) => {
    await one.reload("A", "B", "first");
    await one.reload("B", "A", "back");
    await young.reload("A", "B", "again");
    await one.reload("A", "B", "again");
    assert.deepEqual(await targets(), ["first", "back", "again"]);
    assert.deepEqual(young.heard, []);
  }),
);

test("one process records every reload, in memory or without anywhere to claim", async () => {
  for (const isSliced of [true, false]) {
    const clock = virtualClock();
    const store = memoryStore({ clock, random: realRandom, maxSessions: 10 });
    const { audit } = store;
    const replica = replicaOn(isSliced ? store : { audit }, clock);
    for (let n = 0; n < 3; n++) {
      await replica.reload("A", "B", "there");
      await replica.reload("B", "A", "back");
      clock.advance(CLAIM_SECONDS * 400);
    }
    assert.deepEqual(replica.heard, ["there", "back", "there", "back", "there", "back"]);
    const ids = (await audit.query({ limit: 10 })).map(({ id }) => id);
    assert.equal(new Set(ids).size, 6, "each has an id of its own");
  }
});

test("while the store is lost a replica records what it cannot claim", async () => {
  const kept: string[] = [];
  const slice = { get: () => undefined, set: () => false, delete: () => false, increment: () => undefined };
  const audit = { append: () => {}, query: () => [] };
  for (const _ of ["one", "other"]) {
    const replica = replicaOn({ audit, slice: () => slice });
    await replica.reload("A", "B", "ask");
    kept.push(...replica.heard);
  }
  assert.deepEqual(kept, ["ask", "ask"]);
});
