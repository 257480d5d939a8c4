/** Whether a call costs more because others have endpoints too: a project of 10 endpoints beside one of 10,000. */
import { gateway } from "../contestants.ts";
import { fullEndpoint } from "../gateway-config.ts";
import { type Bench, inRounds, measureByTurns } from "../measure.ts";
import { gatewayRequest } from "../requests.ts";
import { atMost, column, figure, type Row, ratio } from "../result.ts";
import { message } from "../texts.ts";

const few = 10;
const many = 10_000;
const connections = 64;
/** Two processes of one program differ by so much, and more. */
const noise = 1.1;

export const title = "10,000 endpoints against 10, the same calls of 10 of them";

export async function run(bench: Bench): Promise<Row[]> {
  const url = bench.lab.upstreamUrl({ chunks: 1, eventsPerWrite: 1, pauseMs: 0 });
  const plans = [few, many].map((count) => {
    const slugs = Array.from({ length: count }, (_, n) => `endpoint-${n}`);
    // Ten spread evenly over the list, so that a search through it would show.
    const called = slugs.filter((_, n) => n % (count / few) === count / few - 1);
    const requests = called.map((slug) => gatewayRequest(slug, message(1024)));
    const setup = gateway(bench.lab, {
      name: `${count.toLocaleString("en-GB")} endpoints`,
      credentials: { upstream: url },
      endpoints: slugs.map((slug) => fullEndpoint({ slug, credential: "upstream" })),
      probe: requests[0] ?? Buffer.alloc(0),
    });
    return { ...setup, requests };
  });
  const samples = await measureByTurns(bench, plans, ({ requests }) => ({ requests, connections }));
  const [tenUs = [], manyUs = []] = samples.map((rounds) => column(rounds, "cpuUsPerCall"));
  const beside = await inRounds(bench, plans.slice(1), async ({ startMs, rssMb }) => ({
    startMs,
    rssMb: rssMb(),
  }));
  const [starts = []] = beside;
  return [
    ratio("CPU/call, 10,000 : 10 endpoints", manyUs, tenUs, atMost(noise)),
    figure("10 endpoints, CPU", "us/call", tenUs),
    figure("10,000 endpoints, CPU", "us/call", manyUs),
    figure("10,000 endpoints, start", "ms", column(starts, "startMs")),
    figure("10,000 endpoints, resident", "MB", column(starts, "rssMb")),
  ];
}
