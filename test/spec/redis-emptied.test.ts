/** What clients are told when Redis has lost data, and when it is lost before a turn is stored. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { jsonAnswer } from "../../src/testing/fake-upstream.ts";
import { ask, skipWithoutRedis, startRedis } from "../state/redis-server.ts";
import { type Answer, assertAnswered, assertRefused, type Client, until } from "./kit/client.ts";
import { configOf, echoEntry, hashOf, PROJECT, TOKENS } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { completion } from "./kit/provider.ts";
import { callTool, contentOf, WITH_CONTROL } from "./kit/rpc.ts";
import { verifies } from "./verifies.ts";

const SEVEN = "gw_live_seven0Of9";

function parts(state: object) {
  const tokens = [{ id: 7, name: "seven", hash: hashOf(SEVEN), scopes: ["chat"] }];
  return {
    endpoint: echoEntry({ rate_limit_per_minute: 100 }),
    tokens,
    root: { ...WITH_CONTROL, state: { driver: "redis", ...state } },
  };
}

const call = (client: Client, token: string): Promise<Answer> =>
  client.send(`/api/${PROJECT}/ask`, { token, body: { message: "Hello" } });

verifies(
  "state.redis.data-loss",
  "after FLUSHALL a revoked token stays revoked, and calls get 503 until `sluice state confirm`",
  async (t) => {
    if (skipWithoutRedis !== false) return t.skip(skipWithoutRedis);
    const redis = await startRedis();
    t.after(() => redis.stop());
    const folder = mkdtempSync(join(tmpdir(), "sluice-loss-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const state = { url: redis.url, key_prefix: "loss", directory: folder };
    const { client } = await startGateway(t, parts(state));
    contentOf(await callTool(client, "gw_revoke_token", { token_id: 7 }));
    assertAnswered(await call(client, TOKENS.web));
    await ask(redis, "FLUSHALL");
    assertRefused(await call(client, TOKENS.web), 503, "The state store is not available.");
    assertRefused(await call(client, SEVEN), 401, "Invalid or revoked token.");
    assert.equal((await client.send("/readyz", { method: "GET" })).status, 503);

    const config = join(folder, "gateway.config.yaml");
    writeFileSync(config, JSON.stringify(configOf(parts(state), "http://127.0.0.1:9")));
    const confirm = async (): Promise<string> => {
      let out = "";
      const io = {
        stdout: (text: string) => void (out += text),
        stderr: (text: string) => void (out += text),
      };
      const rest = { stdin: async () => "", env: {}, cwd: folder, isTerminal: false };
      const code = await main(["state", "confirm", "--config", config], { ...io, ...rest });
      return `${code} ${out}`;
    };
    assert.match(
      await confirm(),
      /^0 redis .*confirmed the data loss of .* \(emptied\); calls are admitted again\n$/,
    );
    assert.match(await confirm(), /^0 redis .*no data loss to confirm\n$/);
    assertAnswered(await call(client, TOKENS.web));
    assertRefused(await call(client, SEVEN), 401, "Invalid or revoked token.");
    const ready = async (): Promise<boolean> =>
      (await client.send("/readyz", { method: "GET" })).status === 200;
    await until(ready, "it is ready again");
    await redis.kill();
    assert.match(await confirm(), /^1 sluice state: redis \(.*\) does not answer: /);
  },
);

verifies(
  "state.redis.data-loss",
  "with on_data_loss: allow calls pass after FLUSHALL, and a revoked token stays revoked",
  async (t) => {
    if (skipWithoutRedis !== false) return t.skip(skipWithoutRedis);
    const redis = await startRedis();
    t.after(() => redis.stop());
    const state = { url: redis.url, key_prefix: "loss", on_data_loss: "allow" };
    const { client } = await startGateway(t, parts(state));
    contentOf(await callTool(client, "gw_revoke_token", { token_id: 7 }));
    assertAnswered(await call(client, TOKENS.web));
    await ask(redis, "FLUSHALL");
    for (let again = 0; again < 3; again += 1) {
      assertAnswered(await call(client, TOKENS.web));
      assertRefused(await call(client, SEVEN), 401, "Invalid or revoked token.");
    }
  },
);

verifies(
  "state.redis.session-turn",
  "when Redis is lost while the model answers, a call with a session gets 503, or its answer with allow",
  async (t) => {
    if (skipWithoutRedis !== false) return t.skip(skipWithoutRedis);
    const folder = mkdtempSync(join(tmpdir(), "sluice-loss-"));
    t.after(() => rmSync(folder, { recursive: true }));
    for (const on_unavailable of ["deny", "allow"]) {
      const redis = await startRedis();
      t.after(() => redis.stop());
      const state = { driver: "redis", url: redis.url, on_unavailable, directory: folder };
      const g = await startGateway(t, { endpoint: { sessions_enabled: true }, root: { state } });
      const answer = jsonAnswer(completion("Hi."));
      g.provider.answer((response, request) => void redis.kill().then(() => answer(response, request)));
      const told = await g.call({ message: "Hello" });
      if (on_unavailable === "deny") assertRefused(told, 503, "The state store is not available.");
      else assertAnswered(told);
    }
  },
);
