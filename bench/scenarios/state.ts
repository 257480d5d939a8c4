/** What the file and Redis stores cost beside the memory store: JSON calls with limits, budget and everything else on. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { gateway } from "../contestants.ts";
import { fullEndpoint } from "../gateway-config.ts";
import { type Bench, measureByTurns } from "../measure.ts";
import { gatewayRequest } from "../requests.ts";
import { atLeast, column, figure, type Row, ratio } from "../result.ts";
import { message } from "../texts.ts";

const connections = 64;
/** Below the ports that a system gives out by itself. */
const redisPort = 16_379;

export const title = "the state drivers: memory, file, and redis on loopback (beside the load, on its core)";

export async function run(bench: Bench): Promise<Row[]> {
  const url = bench.lab.upstreamUrl({ chunks: 1, eventsPerWrite: 1, pauseMs: 0 });
  const call = gatewayRequest("json", message(1024));
  const directory = join(bench.lab.folder, "state");
  mkdirSync(directory);
  const states = {
    memory: { driver: "memory" },
    file: { driver: "file", directory },
    redis: { driver: "redis", url: `redis://127.0.0.1:${redisPort}` },
  };
  const redis = await bench.lab.startProgram(
    ["redis-server", "--port", String(redisPort), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
    /ready to accept/i,
  );
  const plans = Object.entries(states).map(([name, state]) =>
    gateway(bench.lab, {
      name,
      credentials: { upstream: url },
      endpoints: [fullEndpoint({ slug: "json", credential: "upstream" })],
      state,
      probe: call,
    }),
  );
  const samples = await measureByTurns(bench, plans, () => ({ requests: [call], connections })).finally(() =>
    redis.stop(),
  );
  const [memory = [], file = [], inRedis = []] = samples;
  const rates = [memory, file, inRedis].map((rounds) => column(rounds, "callsPerSecond"));
  const [memoryRate = [], fileRate = [], redisRate = []] = rates;
  return [
    ratio("calls/s, file : memory", fileRate, memoryRate, atLeast(0.9)),
    ratio("calls/s, redis : memory", redisRate, memoryRate, atLeast(0.6)),
    ...plans.flatMap(({ name }, n) => [
      figure(`${name}, calls`, "/s", rates[n] ?? []),
      figure(`${name}, CPU`, "us/call", column(samples[n] ?? [], "cpuUsPerCall")),
    ]),
  ];
}
