/**
 * What webhooks cost calls: the same steady load with ten webhooks and without, half of it calls that a guardrail
 * blocks, each of which is an event for all ten. One of the receivers is dead. Beside them a gateway without webhooks
 * while a stranger posts as much: deliveries take their share of two cores in any case.
 */
import { setTimeout as delay } from "node:timers/promises";
import { gateway } from "../contestants.ts";
import { fullEndpoint, limitedEndpoint } from "../gateway-config.ts";
import { benchFile, type Target } from "../lab.ts";
import { type Bench, inRounds } from "../measure.ts";
import { gatewayRequest } from "../requests.ts";
import { atLeast, atMost, column, figure, type Row, ratio } from "../result.ts";
import { SteadyLoad } from "../steady-load.ts";
import { message } from "../texts.ts";

const callsPerSecond = 1_000;
/** To ten webhooks each: a thousand deliveries a second, and ten thousand. */
const eventRates = [100, 1_000];
const connections = 32;
const webhooksMade = 10;
/** Below the ports that a system gives out by itself. */
const receiverPort = 16_380;
const warmUpSecondsMin = 3;

export const title =
  "1,000 calls/s beside events for ten webhooks (one of them dead), for none, and for none beside a stranger's POSTs";

export async function run(bench: Bench): Promise<Row[]> {
  const receivers = await bench.lab.startProgram(
    [process.execPath, benchFile("receivers.mjs"), String(receiverPort)],
    /ready/,
  );
  const url = bench.lab.upstreamUrl({ chunks: 1, eventsPerWrite: 1, pauseMs: 0 });
  const blocked = {
    ...limitedEndpoint({ slug: "blocked", credential: "upstream" }),
    guardrails: [blocklist],
  };
  const plans = [webhooksMade, 0, 0].map((count, n) => ({
    isBesideStranger: n === 2,
    ...gateway(bench.lab, {
      name: n === 2 ? "0 webhooks, a stranger posts" : `${count} webhooks`,
      credentials: { upstream: url },
      endpoints: [fullEndpoint({ slug: "json", credential: "upstream" }), blocked],
      webhooks: Array.from({ length: count }, (_, n) => webhook(n)),
      probe: gatewayRequest("json", message(1024)),
    }),
    hasThreads: true,
  }));
  const rows: Row[] = [];
  try {
    for (const rate of eventRates) {
      bench.progress(`  ${rate} events/s`);
      const samples = await inRounds(bench, plans, async (target, { isBesideStranger }) => {
        const stranger = isBesideStranger ? await posting(bench, rate * (webhooksMade - 1)) : undefined;
        return take(bench, target, rate).finally(() => stranger?.stop());
      });
      rows.push(...rowsOf(rate, samples));
    }
  } finally {
    await receivers.stop();
  }
  return rows;
}

/** As many POSTs a second as the webhooks that answer would make. */
function posting(bench: Bench, rate: number): Promise<{ stop(): Promise<void> }> {
  const program = [process.execPath, benchFile("poster.mjs"), String(receiverPort), String(rate)];
  return bench.lab.startProgram(program, /ready/);
}

function rowsOf(rate: number, [ten = [], none = [], beside = []]: WebhookSample[][]): Row[] {
  const at = `${rate.toLocaleString("en-GB")} events/s`;
  return [
    ratio(`${at}: CPU of the main thread a call, ten : stranger`, main(ten), main(beside), atMost(1.05)),
    ratio(`${at}: CPU of the main thread a call, ten : none`, main(ten), main(none)),
    ratio(
      `${at}: calls/s, ten : none`,
      column(ten, "callsPerSecond"),
      column(none, "callsPerSecond"),
      atLeast(0.98),
    ),
    ...Object.entries({ ten, none, stranger: beside }).flatMap(([name, rounds]) => [
      figure(`${at}: half of the answers within, ${name}`, "ms", column(rounds, "p50Ms")),
      figure(`${at}: 99 of 100 within, ${name}`, "ms", column(rounds, "p99Ms")),
    ]),
    figure(`${at}: deliveries`, "/s", column(ten, "deliveriesPerSecond")),
    figure(`${at}: CPU of other threads a delivery`, "us", column(ten, "otherUsPerDelivery")),
  ];
}

const blocklist = { use: "keyword_blocklist", keywords: ["plum"] };

function webhook(n: number): Record<string, unknown> {
  return {
    name: `w${n}`,
    url: `http://127.0.0.1:${receiverPort}/${n === 0 ? "dead" : `w${n}`}`,
    events: ["guardrail.blocked"],
    secret: "whsec_YmVuY2g=",
  };
}

interface WebhookSample {
  /** Both kinds together. */
  readonly callsPerSecond: number;
  readonly mainUsPerCall: number;
  /** Of calls that are answered. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly deliveriesPerSecond: number;
  readonly otherUsPerDelivery: number;
}

async function take(bench: Bench, target: Target, eventsPerSecond: number): Promise<WebhookSample> {
  const load = (slug: string, text: string, rate: number, status: number): SteadyLoad =>
    new SteadyLoad({
      ...{ port: target.port, connections, callsPerSecond: rate, status },
      request: gatewayRequest(slug, text),
    });
  const calls = load("json", message(1024), callsPerSecond, 200);
  const events = load("blocked", "one plum, please", eventsPerSecond, 422);
  await delay(Math.max(bench.seconds, warmUpSecondsMin) * 1000);
  const before = await reading(target);
  for (const one of [calls, events]) one.begin();
  await delay(bench.seconds * 1000);
  const answered = calls.latenciesMs.length + events.latenciesMs.length;
  const after = await reading(target);
  for (const one of [calls, events]) one.close();
  const failure = calls.failure || events.failure;
  if (failure !== "") throw new Error(`${target.name}: ${failure}`);
  const latenciesMs = calls.latenciesMs.sort((a, b) => a - b);
  const seconds = (after.wallMs - before.wallMs) / 1000;
  const deliveries = after.deliveries - before.deliveries;
  const sample = {
    callsPerSecond: answered / seconds,
    mainUsPerCall: (after.mainUs - before.mainUs) / answered,
    p50Ms: latenciesMs[Math.floor(latenciesMs.length * 0.5)] ?? Number.NaN,
    p99Ms: latenciesMs[Math.floor(latenciesMs.length * 0.99)] ?? Number.NaN,
    deliveriesPerSecond: deliveries / seconds,
    otherUsPerDelivery: (after.otherUs - before.otherUs) / deliveries,
  };
  bench.progress(
    `  ${target.name}: ${sample.mainUsPerCall.toFixed(1)} us CPU of the main thread a call, ` +
      `p99 ${sample.p99Ms.toFixed(1)} ms, ${sample.deliveriesPerSecond.toFixed(0)} deliveries/s`,
  );
  return sample;
}

async function reading(target: Target) {
  const answer = await fetch(`http://127.0.0.1:${receiverPort}/count`);
  const deliveries = Number(await answer.text());
  const mainUs = target.mainThreadUs();
  return { wallMs: performance.now(), mainUs, otherUs: target.cpuUs() - mainUs, deliveries };
}

function main(samples: readonly WebhookSample[]): number[] {
  return column(samples, "mainUsPerCall");
}
