/** Resident memory: after the start, and with 2,000 streams open that bring a chunk every half second each. */
import { setTimeout as delay } from "node:timers/promises";
import { bareProxy, gateway } from "../contestants.ts";
import { fullEndpoint, guardedEndpoint } from "../gateway-config.ts";
import type { Target } from "../lab.ts";
import { Load } from "../load.ts";
import { type Bench, inRounds, refuseFailures } from "../measure.ts";
import { gatewayRequest, healthRequest, proxyRequest } from "../requests.ts";
import { atMost, column, figure, type Row } from "../result.ts";
import { message } from "../texts.ts";

const streams = 2_000;
const chunks = 10;
const pauseMs = 500;
const settleMs = 1_000;
const openTimeoutMs = 30_000;
/** Time to look at open streams: one whole life of a stream, so that ends and beginnings are in it. */
const watchMs = (chunks + 3) * pauseMs;

export const title = "2,000 open streams, one chunk every 500 ms each";

export async function run(bench: Bench): Promise<Row[]> {
  const url = bench.lab.upstreamUrl({ chunks, eventsPerWrite: 1, pauseMs });
  const plans = [
    {
      ...gateway(bench.lab, {
        name: "gateway",
        credentials: { upstream: url },
        endpoints: [
          guardedEndpoint({ slug: "stream", credential: "upstream" }, 20),
          fullEndpoint({ slug: "summary", credential: "upstream" }),
        ],
        probe: healthRequest,
      }),
      call: gatewayRequest("summary", message(1024)),
      stream: gatewayRequest("stream", message(1024), true),
    },
    {
      ...bareProxy("dispatch", url, proxyRequest(message(1024))),
      call: proxyRequest(message(1024)),
      stream: proxyRequest(message(1024), true),
    },
  ];
  const [ours = [], dispatch = []] = await inRounds(bench, plans, async (target, { call, stream }) => {
    await delay(settleMs);
    const unusedMb = target.rssMb();
    await callOnce(target, call);
    await delay(settleMs);
    const idleMb = target.rssMb();
    const openMb = await peakWithStreams(target, stream);
    const shown = [unusedMb, idleMb, openMb].map((mb) => mb.toFixed(0)).join(", ");
    bench.progress(`  ${target.name}: ${shown} MB unused, after one call, with ${streams} streams`);
    return { unusedMb, idleMb, openMb };
  });
  return [
    figure("gateway, before any call", "MB", column(ours, "unusedMb"), atMost(90)),
    figure("gateway, idle after one call", "MB", column(ours, "idleMb"), atMost(90)),
    figure("gateway, 2,000 open streams", "MB", column(ours, "openMb"), atMost(170)),
    figure("dispatch proxy, idle after one call", "MB", column(dispatch, "idleMb")),
    figure("dispatch proxy, 2,000 open streams", "MB", column(dispatch, "openMb")),
  ];
}

async function callOnce(target: Target, call: Buffer): Promise<void> {
  const load = new Load({ port: target.port, requests: [call], connections: 1, callsMax: 1 });
  await load.finished;
  refuseFailures(target, load);
}

/** Opens the streams, waits until all are open, and returns the most memory seen while they go on. */
async function peakWithStreams(target: Target, request: Buffer): Promise<number> {
  const load = new Load({ port: target.port, requests: [request], connections: streams, eventsMin: chunks });
  let peakMb = 0;
  let openMax = 0;
  const watch = async (lengthMs: number, enough: () => boolean) => {
    for (const untilMs = performance.now() + lengthMs; performance.now() < untilMs && !enough(); ) {
      await delay(50);
      peakMb = Math.max(peakMb, target.rssMb());
      openMax = Math.max(openMax, load.openStreams);
    }
  };
  await watch(openTimeoutMs, () => load.openStreams >= streams * 0.99);
  await watch(watchMs, () => false);
  load.close();
  refuseFailures(target, load);
  // The rest is between two streams of its own at any moment.
  if (openMax < streams * 0.99)
    throw new Error(`${target.name}: only ${openMax} of ${streams} streams were open at once`);
  return peakMb;
}
