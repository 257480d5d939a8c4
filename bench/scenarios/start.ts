/** Time from the start of the process to its first whole answer, with nothing warm but the disk's cache. */
import { bareProxy, gateway } from "../contestants.ts";
import { fullEndpoint } from "../gateway-config.ts";
import { type Bench, inRounds } from "../measure.ts";
import { gatewayRequest, proxyRequest } from "../requests.ts";
import { atMost, figure, type Row } from "../result.ts";
import { message } from "../texts.ts";

export const title = "from the start of the process to the first answer, everything on";

export async function run(bench: Bench): Promise<Row[]> {
  const url = bench.lab.upstreamUrl({ chunks: 1, eventsPerWrite: 1, pauseMs: 0 });
  const plans = [
    gateway(bench.lab, {
      name: "gateway",
      credentials: { upstream: url },
      endpoints: [fullEndpoint({ slug: "summary", credential: "upstream" })],
      probe: gatewayRequest("summary", message(1024)),
    }),
    bareProxy("dispatch", url, proxyRequest(message(1024))),
  ];
  const [ours = [], dispatch = []] = await inRounds(bench, plans, async ({ name, startMs }) => {
    bench.progress(`  ${name}: ${startMs.toFixed(0)} ms`);
    return startMs;
  });
  return [
    figure("gateway, first answer after", "ms", ours, atMost(500)),
    figure("dispatch proxy, first answer after", "ms", dispatch),
  ];
}
