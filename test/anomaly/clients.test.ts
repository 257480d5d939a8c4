/** A small share of `npm run slow-clients` and `npm run memory`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startGateway } from "../spec/kit/gateway.ts";
import { claimMemory } from "./memory.ts";
import { attackedProject, endlessProvider, GONE_WITHIN_S, SlowClients } from "./slow-attackers.ts";

test("slow heads, bodies, readers and refused uploads are gone in 30 s", async (t) => {
  const provider = await endlessProvider();
  t.after(() => provider.close());
  const g = await startGateway(t, {
    config: {
      version: 1,
      server: { port: 0 },
      admin: { port: 0 },
      projects: [attackedProject(provider.url)],
    },
  });
  const attack = new SlowClients(g.client.origin);
  attack.open(5);
  t.after(() => attack.close());
  const arrived = performance.now();
  while (g.gateway.openCalls < 5 && performance.now() - arrived < 20_000) await new Promise(setImmediate);
  for (let second = 0; second < GONE_WITHIN_S; second++) {
    attack.drip();
    // In a turn of the loop only a share of what the readers are sent is read: a few seconds take all of it.
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
    g.clock.advance(1_000);
  }
  attack.readOn();
  const since = performance.now();
  while (attack.count > 0 && performance.now() - since < 20_000) {
    attack.drip();
    await new Promise(setImmediate);
  }
  assert.deepEqual(attack.left(), { head: 0, body: 0, reader: 0, upload: 0 });
  assert.equal(g.gateway.openCalls, 0);
});

test("more bodies, answers and sessions than the heap holds are shed, and the gateway continues", async () => {
  const report = await claimMemory({ count: 40, megabytes: 4, heapMegabytes: 160 });
  assert.equal(report.answers, true);
  assert.deepEqual([report.bufferedBytes, report.openCalls], [0, 0]);
  for (const [what, statuses] of Object.entries(report.statuses)) {
    const known = (statuses["200"] ?? 0) + (statuses["503"] ?? 0);
    assert.equal(known, 40, `${what}: ${JSON.stringify(statuses)}`);
  }
  const shed = Object.values(report.statuses).reduce((sum, statuses) => sum + (statuses["503"] ?? 0), 0);
  assert.ok(shed > 0, `something is shed: ${JSON.stringify(report.statuses)}`);
});
