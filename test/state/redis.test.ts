/** The redis store: the promises of every store. On the test's clock, since a server's cannot be turned. */
import { after, before, describe } from "node:test";
import { redisStore } from "../../src/state/redis/redis.ts";
import { storeConformance } from "../../src/testing/store-conformance.ts";
import { countingRandom } from "./counting-random.ts";
import { listeningLog, type RedisServer, skipWithoutRedis, startRedis } from "./redis-server.ts";

describe("on a real server", { skip: skipWithoutRedis }, () => {
  let server: RedisServer;
  let stores = 0;
  before(async () => {
    server = await startRedis();
  });
  after(() => server.stop());

  storeConformance("redis", async (clock) => {
    stores += 1;
    return redisStore({
      clock,
      random: countingRandom(),
      log: listeningLog(),
      url: server.url,
      // Each store finds the server empty.
      keyPrefix: `conformance-${stores}`,
      onUnavailable: "deny",
      onDataLoss: "deny",
      maxSessions: 100,
      serverTimeMs: () => clock.nowMs(),
    });
  });
});
