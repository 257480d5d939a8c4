/**
 * What the gateway adds to latency at half load, beside the bare dispatch proxy: JSON calls that arrive by chance
 * (Poisson) at 2,000 a second, counted from when each was due, and 200 open streams with 10,000 chunks a second.
 */
import { setTimeout as delay } from "node:timers/promises";
import { bareProxy, gateway } from "../contestants.ts";
import { fullEndpoint, guardedEndpoint } from "../gateway-config.ts";
import type { Target, TargetPlan } from "../lab.ts";
import { type Bench, inRounds } from "../measure.ts";
import { gatewayRequest, proxyRequest } from "../requests.ts";
import { atMost, column, figure, type Goal, type Row, ratio } from "../result.ts";
import { SteadyLoad } from "../steady-load.ts";
import { StreamDelays } from "../stream-delays.ts";
import { message } from "../texts.ts";

const callsPerSecond = 2_000;
const connections = 64;
const streams = 200;
/** A chunk every 20 ms on each stream. */
const pauseMs = 20;
const chunks = 50;
/** The compiler works for long on code that is not called in a row, and so does the heap grow. */
const warmUpMs = 10_000;

export const title = "2,000 calls/s by chance, from when each was due; 200 streams with 10,000 chunks/s";

interface Latencies {
  readonly p50: number;
  readonly p99: number;
}

export async function run(bench: Bench): Promise<Row[]> {
  const json = await scenario(bench, "JSON", jsonPlans(bench), jsonLatencies);
  const streamed = await scenario(bench, "", streamPlans(bench), streamLatencies);
  return [...json, ...streamed];
}

function jsonPlans(bench: Bench): TargetPlan[] {
  const url = bench.lab.upstreamUrl({ chunks: 1, eventsPerWrite: 1, pauseMs: 0 });
  const probe = gatewayRequest("summary", message(1024));
  const endpoint = fullEndpoint({ slug: "summary", credential: "upstream" });
  return [
    gateway(bench.lab, { name: "gateway", credentials: { upstream: url }, endpoints: [endpoint], probe }),
    bareProxy("dispatch", url, proxyRequest(message(1024))),
  ];
}

function streamPlans(bench: Bench): TargetPlan[] {
  const url = bench.lab.upstreamUrl({ chunks, eventsPerWrite: 1, pauseMs, stamped: true });
  const probe = gatewayRequest("stream", message(1024), true);
  const endpoint = guardedEndpoint({ slug: "stream", credential: "upstream" }, 20);
  return [
    gateway(bench.lab, { name: "gateway", credentials: { upstream: url }, endpoints: [endpoint], probe }),
    bareProxy("dispatch", url, proxyRequest(message(1024), true)),
  ];
}

type Taken = Readonly<Record<string, Latencies>>;

/** Rows for every kind of latency that `take` returns: the gateway's beside the proxy's. */
async function scenario(
  bench: Bench,
  what: string,
  plans: readonly TargetPlan[],
  take: (bench: Bench, target: Target, plan: TargetPlan) => Promise<Taken>,
): Promise<Row[]> {
  const [ours = [], proxy = []] = await inRounds(bench, plans, (target, plan) => take(bench, target, plan));
  const kinds = Object.keys(ours[0] ?? {});
  return kinds.flatMap((kind) => {
    const [own, bare] = [ours, proxy].map((rounds) => rounds.map((taken) => taken[kind] ?? NONE));
    const name = [what, kind].filter((word) => word !== "").join(", ");
    return rowsOf(name, own ?? [], bare ?? []);
  });
}

const NONE: Latencies = { p50: Number.NaN, p99: Number.NaN };
const P50_ADDED_MS_MAX = 0.3;
const P99_RATIO_MAX = 1.3;

function rowsOf(name: string, ours: readonly Latencies[], proxy: readonly Latencies[]): Row[] {
  const added = ours.map(({ p50 }, round) => p50 - (proxy[round]?.p50 ?? Number.NaN));
  const goal: Goal = atMost(P50_ADDED_MS_MAX);
  return [
    figure(`${name}: p50, gateway - dispatch proxy`, "ms", added, goal),
    ratio(
      `${name}: p99, gateway : dispatch proxy`,
      column(ours, "p99"),
      column(proxy, "p99"),
      atMost(P99_RATIO_MAX),
    ),
    figure(`${name}: gateway, p50`, "ms", column(ours, "p50")),
    figure(`${name}: gateway, p99`, "ms", column(ours, "p99")),
    figure(`${name}: dispatch proxy, p50`, "ms", column(proxy, "p50")),
    figure(`${name}: dispatch proxy, p99`, "ms", column(proxy, "p99")),
  ];
}

async function jsonLatencies(bench: Bench, target: Target, { probe }: TargetPlan): Promise<Taken> {
  const load = new SteadyLoad({
    ...{ port: target.port, request: probe, callsPerSecond, connections, status: 200 },
    random: seeded(callsPerSecond),
  });
  try {
    await delay(warmUpMs);
    load.begin();
    await delay(bench.seconds * 1000);
    if (load.failure !== "") throw new Error(`${target.name}: ${load.failure}`);
    return { "from due to whole": latencies(load.latenciesMs) };
  } finally {
    load.close();
  }
}

async function streamLatencies(bench: Bench, target: Target, { probe }: TargetPlan): Promise<Taken> {
  const load = new StreamDelays({ port: target.port, request: probe, streams, staggerMs: 5 });
  try {
    await delay(warmUpMs);
    load.begin();
    await delay(bench.seconds * 1000);
    if (load.failure !== "") throw new Error(`${target.name}: ${load.failure}`);
    return {
      "first chunk": latencies(load.firstChunksMs),
      "delay of a chunk": latencies(load.chunksMs),
    };
  } finally {
    load.close();
  }
}

function latencies(taken: readonly number[]): Latencies {
  const sorted = [...taken].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** The same numbers in every round and for every target (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
