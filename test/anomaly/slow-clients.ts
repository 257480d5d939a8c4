/**
 * Slow clients against a gateway: all must be gone within 30 s, and the others must not notice. Attackers, provider,
 * gateway and the client that measures are processes of their own; the measuring one has a short loop and nothing else
 * to do, and what it waits for itself is shown. Linux only, since the kernel is asked who is still connected.
 *   npm run slow-clients -- [COUNT OF EACH]
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { setPriority } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { PROJECT, TOKENS } from "../spec/kit/config.ts";
import { gatewayProcess } from "../spec/kit/process.ts";
import { type AttackReport, attackedProject, GONE_WITHIN_S, KINDS } from "./slow-attackers.ts";

const BASELINE_S = 10;
/** Between two calls of the client that measures; the next one does not wait for the last. */
const EVERY_MS = 10;
/** How much slower others may become. */
const FACTOR_MAX = 2;

const ATTACKERS = fileURLToPath(new URL("./slow-attackers.ts", import.meta.url));

/** Starts it and waits for its first message. */
async function processOf(...args: string[]): Promise<{ child: ChildProcess; said: unknown }> {
  const child = fork(ATTACKERS, args, { execArgv: ["--conditions=sluice-source", "--import", "tsx"] });
  const [said] = await once(child, "message");
  return { child, said };
}

/** What the main thread of a process has had of a CPU, and how long it was ready and had to wait for one, in ms. */
function schedule(pid: number): { ranMs: number; waitedMs: number } {
  const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ").map(Number);
  return { ranMs: ran / 1e6, waitedMs: waited / 1e6 };
}

/** Lets what else runs on this machine count for less; only root may. */
function prefer(pid: number): void {
  try {
    setPriority(pid, -15);
  } catch {
    process.stdout.write("not run as root: other programs on this machine count fully\n");
  }
}

interface Measured {
  /** Latencies of answered calls in ms, in order. */
  readonly taken: readonly number[];
  /** Calls with another status than 200, or none. */
  readonly failed: number;
  /** 99th percentile of what the measuring process itself was late by, in ms. */
  readonly ownDelayMs: number;
}

/** Small calls at a steady rate; `latest` gets their latencies as they come. */
async function measured(origin: string, seconds: number, latest: number[] = []): Promise<Measured> {
  const agent = new Agent({ keepAlive: true });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const open = new Set<Promise<void>>();
  const taken: number[] = [];
  let failed = 0;
  const call = async (): Promise<void> => {
    const sentMs = performance.now();
    if ((await statusOf(origin, agent)) !== 200) failed += 1;
    else {
      const tookMs = performance.now() - sentMs;
      taken.push(tookMs);
      latest.push(tookMs);
    }
  };
  const startMs = performance.now();
  for (let n = 1; n <= (seconds * 1000) / EVERY_MS; n++) {
    const running = call().catch(() => void (failed += 1));
    open.add(running);
    void running.then(() => open.delete(running));
    await new Promise((later) => setTimeout(later, startMs + n * EVERY_MS - performance.now()));
  }
  await Promise.all(open);
  delay.disable();
  agent.destroy();
  // The monitor counts its own interval of 1 ms.
  return { taken: taken.sort((a, b) => a - b), failed, ownDelayMs: delay.percentile(99) / 1e6 - 1 };
}

const BODY = JSON.stringify({ message: "Hello" });

function statusOf(origin: string, agent: Agent): Promise<number> {
  return new Promise((resolve, fail) => {
    const headers = {
      authorization: `Bearer ${TOKENS.web}`,
      "content-type": "application/json",
      "content-length": BODY.length,
    };
    const out = request(`${origin}/api/${PROJECT}/echo`, { method: "POST", agent, headers });
    out.on("error", fail).on("response", (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    out.end(BODY);
  });
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

function shown({ taken, failed, ownDelayMs }: Measured): string {
  const [median, p99, p999] = [0.5, 0.99, 0.999].map((share) => percentile(taken, share).toFixed(1));
  const own = Math.max(0, ownDelayMs).toFixed(1);
  return `p50 ${median}, p99 ${p99}, p99.9 ${p999} ms; ${taken.length} calls, ${failed} failed; client itself late by ${own} ms (p99)`;
}

async function main(count: number): Promise<void> {
  const closes: (() => Promise<void>)[] = [];
  const provider = await processOf("provider");
  const gateway = await gatewayProcess(
    { after: (close) => void closes.push(close) },
    {
      version: 1,
      server: { port: 0, max_connections_per_address: 100_000 },
      admin: { port: 0 },
      log: { level: "error" },
      projects: [attackedProject(String(provider.said))],
    },
  );
  const { origin } = gateway.client;
  const attackers = await processOf("attack", origin, String(count));
  prefer(gateway.pid);
  prefer(process.pid);
  await measured(origin, 3);
  const atStart = schedule(gateway.pid);
  const calm = await measured(origin, BASELINE_S);
  const atAttack = schedule(gateway.pid);
  process.stdout.write(`before    ${shown(calm)}\n`);
  let last: AttackReport | undefined;
  const latest: number[] = [];
  let before = schedule(gateway.pid);
  // Told by our own module.
  attackers.child.on("message", (report: AttackReport) => {
    last = report;
    const { second, opened, open, held } = report;
    const now = schedule(gateway.pid);
    const [ran, waited] = [now.ranMs - before.ranMs, now.waitedMs - before.waitedMs].map(Math.round);
    before = now;
    const slowest = Math.max(0, ...latest.splice(0)).toFixed(0);
    const left = KINDS.map((kind) => `${kind} ${open[kind]}`).join(", ");
    process.stdout.write(
      `${String(second).padStart(4)} s  opened ${opened}; left: ${left}; kept by the kernel ${held}; ` +
        `slowest call ${slowest} ms; gateway ran ${ran} ms, waited ${waited} ms for a CPU\n`,
    );
  });
  attackers.child.send("attack");
  const during = await measured(origin, GONE_WITHIN_S, latest);
  while (last === undefined || last.second < GONE_WITHIN_S) await once(attackers.child, "message");
  const atEnd = schedule(gateway.pid);
  process.stdout.write(`attacked  ${shown(during)}\n`);
  const waits = [
    (atAttack.waitedMs - atStart.waitedMs) / BASELINE_S,
    (atEnd.waitedMs - atAttack.waitedMs) / GONE_WITHIN_S,
  ].map(Math.round);
  process.stdout.write(
    `the gateway waited for a CPU ${waits[0]} ms a second before, ${waits[1]} while attacked: the more, the less the latencies are its own\n`,
  );
  const [p99Before, p99During] = [calm, during].map(({ taken }) => percentile(taken, 0.99));
  const factor = (p99During ?? 0) / (p99Before ?? 0);
  const { open, held } = last;
  const rows: (readonly [ok: boolean, what: string])[] = KINDS.map((kind) => [
    open[kind] === 0,
    `${kind}: ${count} opened, ${open[kind]} left after ${GONE_WITHIN_S} s`,
  ]);
  rows.push(
    [held === 0, `kernel: bytes kept for ${held} closed connections`],
    [factor <= FACTOR_MAX, `others: p99 is ${factor.toFixed(2)}x of what it was (at most ${FACTOR_MAX})`],
    [calm.failed + during.failed === 0, `others: ${calm.failed + during.failed} calls failed or were shed`],
  );
  for (const [ok, what] of rows) process.stdout.write(`${ok ? "pass" : "FAIL"}  ${what}\n`);
  for (const { child } of [attackers, provider]) child.disconnect();
  for (const close of closes.reverse()) await close();
  process.exitCode = rows.every(([ok]) => ok) ? 0 : 1;
}

await main(Number(process.argv[2] ?? 500));
