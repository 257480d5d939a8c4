/** JSON calls of a 1 KB prompt with everything on, beside bare proxies that only parse and pass. */
import { bareProxy, gateway } from "../contestants.ts";
import { fullEndpoint } from "../gateway-config.ts";
import { type Bench, measureByTurns } from "../measure.ts";
import { gatewayRequest, proxyRequest } from "../requests.ts";
import { atLeast, column, figure, type Row, ratio } from "../result.ts";
import { message } from "../texts.ts";

const connections = 64;

export const title =
  "1 KB prompt; authentication, both rate limits, budget, four guardrails, schemas, template, log";

export async function run(bench: Bench): Promise<Row[]> {
  const url = bench.lab.upstreamUrl({ chunks: 1, eventsPerWrite: 1, pauseMs: 0 });
  const call = gatewayRequest("summary", message(1024));
  const plain = proxyRequest(message(1024));
  const plans = [
    gateway(bench.lab, {
      name: "gateway",
      credentials: { upstream: url },
      endpoints: [fullEndpoint({ slug: "summary", credential: "upstream" })],
      probe: call,
    }),
    bareProxy("request", url, plain),
    bareProxy("dispatch", url, plain),
  ];
  const samples = await measureByTurns(bench, plans, ({ probe }) => ({ requests: [probe], connections }));
  const [ours = [], request = [], dispatch = []] = samples.map((rounds) => column(rounds, "callsPerSecond"));
  return [
    ratio("calls/s, gateway : request proxy", ours, request, atLeast(1)),
    ratio("calls/s, gateway : dispatch proxy", ours, dispatch, atLeast(0.8)),
    ...plans.flatMap(({ name }, n) => [
      figure(`${name}, calls`, "/s", column(samples[n] ?? [], "callsPerSecond")),
      figure(`${name}, CPU`, "us/call", column(samples[n] ?? [], "cpuUsPerCall")),
    ]),
  ];
}
