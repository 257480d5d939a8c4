/** Two gateways on one Redis that load the same change of git: what it changes is one event, and one delivery. */
import assert from "node:assert/strict";
import { skipWithoutRedis, startRedis } from "../state/redis-server.ts";
import { receiver } from "../webhooks/kit.ts";
import { at, until } from "./kit/client.ts";
import { configOf, echoEntry, hashOf } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const OPERATOR = "gw_live_operator0Token9";

async function dataOf({ admin }: Harness, path: string): Promise<readonly unknown[]> {
  const { json } = await admin.send(path, { method: "GET", token: OPERATOR });
  const found = at(json, "data");
  assert.ok(Array.isArray(found));
  return found;
}

verifies("audit.log", "a change that two replicas load is recorded, and delivered, once", async (t) => {
  if (skipWithoutRedis) return t.skip(skipWithoutRedis);
  const redis = await startRedis();
  t.after(() => redis.stop());
  const siem = await receiver(t);
  const webhook = { name: "siem", url: siem.url, secret: "whsec_cmVwbGljYXM=", events: ["endpoint.updated"] };
  const config = (temperature: number): string =>
    JSON.stringify(
      configOf(
        {
          endpoint: echoEntry({ temperature }),
          project: { webhooks: [webhook] },
          root: {
            state: { driver: "redis", url: redis.url, key_prefix: "events" },
            network: { allow: ["127.0.0.0/8"] },
            control_plane: { tokens: [{ name: "operator", hash: hashOf(OPERATOR) }] },
          },
        },
        "https://provider.invalid",
      ),
    );
  const replicas = [
    await startGateway(t, { config: config(0) }),
    await startGateway(t, { config: config(0) }),
  ];
  for (const temperature of [1, 0, 1]) {
    for (const { rewrite } of replicas) rewrite(config(temperature));
    await Promise.all(replicas.map(({ gateway }) => gateway.reload()));
  }
  await siem.received(3);
  await until(async () => {
    const delivered = await Promise.all(replicas.map((one) => dataOf(one, "/admin/deliveries")));
    return delivered.flat().length === 3;
  }, "each event has one delivery");
  for (const replica of replicas) assert.equal((await dataOf(replica, "/admin/audit")).length, 3);
  assert.equal(siem.requests.length, 3);
});
