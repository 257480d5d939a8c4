/** What the control plane changes outlives the process, and is the same in every replica. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createGateway } from "../../src/index.ts";
import { type RedisServer, skipWithoutRedis, startRedis } from "../state/redis-server.ts";
import { type Answer, assertAnswered, assertRefused, at, Client, until } from "./kit/client.ts";
import { configOf, echoEntry, hashOf, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { assertRpcError, callTool, contentOf, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const SEVEN = "gw_live_seven0Of9";
const hello = { message: "Hello" };

function parts(state: object) {
  const tokens = [{ id: 7, name: "seven", hash: hashOf(SEVEN), scopes: ["chat"] }];
  return { endpoint: echoEntry({}), tokens, root: { ...WITH_CONTROL, state } };
}

/** Calls with a token until that is known to a replica, or known no more. */
const call = (client: Client, token: unknown): Promise<Answer> =>
  client.send(`/api/${PROJECT}/ask`, { token: String(token), body: hello });

verifies("control.lasting", "with the file store, what was changed is there after a restart", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-control-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const configPath = join(folder, "gateway.config.yaml");
  const state = { driver: "file", directory: join(folder, "state") };
  writeFileSync(configPath, JSON.stringify(configOf(parts(state), "http://127.0.0.1:9")));
  const life = async (live: (client: Client) => Promise<void>): Promise<void> => {
    const gateway = await createGateway({ configPath, watch: false, env: {}, log: () => {} });
    const client = new Client((await gateway.start()).url);
    try {
      await live(client);
    } finally {
      client.close();
      await gateway.stop();
    }
  };
  let made: unknown;
  await life(async (client) => {
    made = contentOf(await callTool(client, "gw_create_token", { project_uuid: PROJECT, name: "partner" }));
    const revoked = contentOf(await callTool(client, "gw_revoke_token", { token_id: 7 }));
    assert.deepEqual([at(revoked, "durable"), at(revoked, "yaml")], [true, undefined]);
  });
  await life(async (client) => {
    assertAnswered(await call(client, at(made, "token")));
    assertRefused(await call(client, SEVEN), 401, "Invalid or revoked token.");
    const events = contentOf(await callTool(client, "gw_list_audit_events", { event: "token.revoked" }));
    assert.equal(at(events, "events", 0, "event"), "token.revoked");
    contentOf(
      await callTool(client, "gw_set_endpoint_active", {
        project_uuid: PROJECT,
        slug: "ask",
        is_active: false,
      }),
    );
  });
  await life(async (client) => {
    assertRefused(await call(client, at(made, "token")), 404, "Endpoint 'ask' not found or inactive.");
  });
});

verifies("control.lasting", "on Redis, a change in one replica is one in all, without a poll", async (t) => {
  if (skipWithoutRedis !== false) return t.skip(skipWithoutRedis);
  const redis: RedisServer = await startRedis();
  t.after(() => redis.stop());
  const state = { driver: "redis", url: redis.url, key_prefix: "control" };
  const [here, there]: Harness[] = [await startGateway(t, parts(state)), await startGateway(t, parts(state))];
  assert.ok(here !== undefined && there !== undefined);
  const seen = async (token: unknown, status: number): Promise<void> => {
    assert.equal(
      (await call(here.client, token)).status,
      status,
      "where it was done it holds on the next call",
    );
    await until(
      async () => (await call(there.client, token)).status === status,
      `the other replica answers ${status}`,
    );
  };
  await seen(SEVEN, 200);
  const rotated = contentOf(await callTool(here.client, "gw_rotate_token", { token_id: 7 }));
  await seen(SEVEN, 401);
  await seen(at(rotated, "token"), 200);
  contentOf(await callTool(here.client, "gw_revoke_token", { token_id: 7 }));
  await seen(at(rotated, "token"), 401);
  const made = contentOf(
    await callTool(here.client, "gw_create_token", { project_uuid: PROJECT, name: "partner" }),
  );
  await seen(at(made, "token"), 200);
  contentOf(
    await callTool(here.client, "gw_set_endpoint_active", {
      project_uuid: PROJECT,
      slug: "ask",
      is_active: false,
    }),
  );
  await seen(at(made, "token"), 404);
});

/** A gateway that starts while Redis is lost, which knows that token 7 is revoked. Redis is back when it is started. */
async function startedBlind(t: TestContext, on_unavailable: "deny" | "allow") {
  const redis = await startRedis({ isDurable: true });
  t.after(() => redis.stop());
  const state = { driver: "redis", url: redis.url, key_prefix: "blind", on_unavailable };
  const before = await startGateway(t, parts(state));
  contentOf(await callTool(before.client, "gw_revoke_token", { token_id: 7 }));
  await redis.kill();
  const { client } = await startGateway(t, parts(state));
  return { redis, client };
}

verifies(
  "control.revoke.unread",
  "a gateway that starts without Redis accepts no token before it has read the revocations",
  async (t) => {
    if (skipWithoutRedis !== false) return t.skip(skipWithoutRedis);
    const { redis, client } = await startedBlind(t, "deny");
    for (const token of [SEVEN, TOKENS.web])
      assertRefused(await call(client, token), 503, "The state store is not available.");
    assertRefused(await call(client, TOKENS.unknown), 401, "Invalid or revoked token.");
    for (const tool of ["gw_list_overrides", "gw_export_backup", "gw_revoke_token"]) {
      const args = tool === "gw_revoke_token" ? { token_id: 7 } : {};
      assertRpcError(await callTool(client, tool, args), -32603, /state store is not available/);
    }
    await redis.start();
    await until(async () => (await call(client, TOKENS.web)).status === 200, "it lets callers in");
    assertRefused(await call(client, SEVEN), 401, "Invalid or revoked token.");
  },
);

verifies(
  "control.revoke.unread",
  "with on_unavailable: allow calls pass meanwhile, and a revocation holds once Redis is back",
  async (t) => {
    if (skipWithoutRedis !== false) return t.skip(skipWithoutRedis);
    const { redis, client } = await startedBlind(t, "allow");
    assertAnswered(await call(client, TOKENS.web));
    await redis.start();
    await until(async () => (await call(client, SEVEN)).status === 401, "the revocation is known");
  },
);
