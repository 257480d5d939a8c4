/**
 * What the features cost on a 20 KB prompt: two endpoints of one process take turns, one with all guardrails, 1,000
 * keywords and an input schema, one with none of them. One process, since the difference is smaller than that
 * between two.
 */
import { gateway } from "../contestants.ts";
import { guardedEndpoint, limitedEndpoint } from "../gateway-config.ts";
import { type Bench, inRounds, measure } from "../measure.ts";
import { gatewayRequest } from "../requests.ts";
import { atMost, column, figure, type Row } from "../result.ts";
import { message } from "../texts.ts";

const connections = 64;

export const title = "20 KB prompt; four guardrails, 1,000 keywords and an input schema against none of them";

export async function run(bench: Bench): Promise<Row[]> {
  const guarded = gatewayRequest("guarded", message(20_480));
  const bare = gatewayRequest("bare", message(20_480));
  const plan = gateway(bench.lab, {
    name: "gateway",
    credentials: { upstream: bench.lab.upstreamUrl({ chunks: 1, eventsPerWrite: 1, pauseMs: 0 }) },
    endpoints: [
      guardedEndpoint({ slug: "guarded", credential: "upstream" }, 1_000),
      limitedEndpoint({ slug: "bare", credential: "upstream" }),
    ],
    probe: guarded,
  });
  let guardedFirst = false;
  const [rounds = []] = await inRounds(bench, [plan], async (target) => {
    // The second of two windows finds a warmer process: they change places every round.
    guardedFirst = !guardedFirst;
    const first = await measure(bench, target, { requests: [guardedFirst ? guarded : bare], connections });
    const second = await measure(bench, target, { requests: [guardedFirst ? bare : guarded], connections });
    const [onUs, offUs] = guardedFirst
      ? [first.cpuUsPerCall, second.cpuUsPerCall]
      : [second.cpuUsPerCall, first.cpuUsPerCall];
    return { addedMs: (onUs - offUs) / 1000, onUs, offUs };
  });
  return [
    figure("CPU that they add", "ms/call", column(rounds, "addedMs"), atMost(0.25)),
    figure("CPU with them", "us/call", column(rounds, "onUs")),
    figure("CPU without", "us/call", column(rounds, "offUs")),
  ];
}
