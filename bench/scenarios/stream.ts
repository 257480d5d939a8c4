/**
 * Streams of 50 chunks sent without a pause, OpenAI's passed through and Anthropic's translated, beside a bare proxy that
 * passes the bytes unread.
 */
import { bareProxy, gateway } from "../contestants.ts";
import { guardedEndpoint } from "../gateway-config.ts";
import type { TargetPlan } from "../lab.ts";
import { type Bench, measureByTurns } from "../measure.ts";
import { gatewayRequest, proxyRequest } from "../requests.ts";
import { atMost, column, figure, type Row, ratio } from "../result.ts";
import { message } from "../texts.ts";

const chunks = 50;
const connections = 64;

export const title =
  "streams of 50 chunks in a burst, each its own write; limits, budget and input guardrails on";

export async function run(bench: Bench): Promise<Row[]> {
  const url = bench.lab.upstreamUrl({ chunks, eventsPerWrite: 1, pauseMs: 0 });
  const call = gatewayRequest("stream", message(1024), true);
  // Anthropic's base URL has no version in it.
  const anthropic = { provider: "anthropic", url: url.replace(/\/v1$/, "") } as const;
  const endpoint = { slug: "stream", credential: "upstream" };
  const plans = [
    gateway(bench.lab, {
      name: "gateway",
      credentials: { upstream: url },
      endpoints: [guardedEndpoint(endpoint, 20)],
      probe: call,
    }),
    gateway(bench.lab, {
      name: "gateway, translating",
      credentials: { upstream: anthropic },
      endpoints: [guardedEndpoint({ ...endpoint, provider: "anthropic" }, 20)],
      probe: call,
    }),
    bareProxy("dispatch", url, proxyRequest(message(1024), true)),
  ];
  const loadOf = ({ probe }: TargetPlan) => ({ requests: [probe], connections, eventsMin: chunks });
  const samples = (await measureByTurns(bench, plans, loadOf)).map((rounds) =>
    rounds.map((sample) => ({
      streamsPerSecond: sample.callsPerSecond,
      chunkUs: sample.cpuUsPerCall / chunks,
    })),
  );
  const [ours = [], translated = [], dispatch = []] = samples;
  return [
    ratio(
      "CPU/chunk, gateway : dispatch proxy",
      column(ours, "chunkUs"),
      column(dispatch, "chunkUs"),
      atMost(1.4),
    ),
    ratio(
      "CPU/chunk, translated : passed through",
      column(translated, "chunkUs"),
      column(ours, "chunkUs"),
      atMost(2),
    ),
    ...plans.flatMap(({ name }, n) => [
      figure(`${name}, CPU`, "us/chunk", column(samples[n] ?? [], "chunkUs")),
      figure(`${name}, streams`, "/s", column(samples[n] ?? [], "streamsPerSecond")),
    ]),
  ];
}
