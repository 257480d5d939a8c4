/** Large bodies through a proxy endpoint, against node:http piped by hand: speed, CPU, and what memory they take. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { download, type Transfer, upload } from "../bulk-transfer.ts";
import { projectUuid, token } from "../gateway-config.ts";
import { benchFile, freePort, type Target, type TargetPlan } from "../lab.ts";
import type { Bench } from "../measure.ts";
import { atLeast, atMost, column, figure, type Row } from "../result.ts";

const bytes = 2 ** 30;
const smallBytes = 1024;
const settleMs = 1_000;
const watchMs = 20;
const longestMs = 600_000;

export const title = "1 GiB down and 1 GiB up, through a proxy endpoint and through a bare pipe";

interface Plan extends TargetPlan {
  readonly path: string;
}

/** What one target made of one round. */
interface Sample {
  downMbS: number;
  upMbS: number;
  overIdleMb: number;
  cpuMsPerGib: number;
}

export async function run(bench: Bench): Promise<Row[]> {
  const port = await freePort();
  const program = [process.execPath, benchFile("bulk-upstream.mjs"), String(port)];
  const upstream = await bench.lab.startProgram(program, /listening/);
  const url = `http://127.0.0.1:${port}`;
  const ours: Sample[] = [];
  const pipe: Sample[] = [];
  try {
    for (let round = 0; round < bench.rounds; round++) {
      bench.progress(`  round ${round + 1} of ${bench.rounds}`);
      const pair = await inPair(bench, gatewayPlan(bench, url), pipePlan(url));
      ours.push(pair[0]);
      pipe.push(pair[1]);
    }
  } catch (error) {
    bench.failed(error instanceof Error ? error.message : String(error));
  }
  await upstream.stop();
  return [
    figure("download, of the bare pipe", "x", ratios(ours, pipe, "downMbS"), atLeast(0.8)),
    figure("upload, of the bare pipe", "x", ratios(ours, pipe, "upMbS"), atLeast(0.8)),
    figure("CPU, of the bare pipe", "x", ratios(ours, pipe, "cpuMsPerGib")),
    figure("most memory over idle", "MB", column(ours, "overIdleMb"), atMost(64)),
    figure("download", "MB/s", column(ours, "downMbS")),
    figure("upload", "MB/s", column(ours, "upMbS")),
    figure("CPU, down and up", "ms/GiB", column(ours, "cpuMsPerGib")),
    figure("bare pipe: CPU", "ms/GiB", column(pipe, "cpuMsPerGib")),
    figure("bare pipe: most memory over idle", "MB", column(pipe, "overIdleMb")),
  ];
}

/** Of each round: what else a machine does in a minute differs more than the two do. */
function ratios(above: readonly Sample[], below: readonly Sample[], name: keyof Sample): number[] {
  return above.map((sample, round) => sample[name] / (below[round]?.[name] ?? Number.NaN));
}

/** Both run at once and take turns: down, down, up, up. */
async function inPair(bench: Bench, ours: Plan, pipe: Plan): Promise<[Sample, Sample]> {
  const first = await bench.lab.start(ours);
  const second = await bench.lab.start(pipe);
  try {
    const one = await watched(first, ours);
    const two = await watched(second, pipe);
    await one.take("downMbS", download);
    await two.take("downMbS", download);
    await two.take("upMbS", upload);
    await one.take("upMbS", upload);
    return [one.sample, two.sample];
  } finally {
    await Promise.all([first.stop(), second.stop()]);
  }
}

/** A target that has done both once and come to rest. */
async function watched(target: Target, { path }: Plan) {
  const transfer = (count: number): Transfer => ({
    ...{ port: target.port, token, bytes: count },
    path: `${path}/${count}`,
  });
  await download(transfer(smallBytes));
  await upload(transfer(smallBytes));
  await delay(settleMs);
  const idleMb = target.rssMb();
  const sample: Sample = { downMbS: 0, upMbS: 0, overIdleMb: 0, cpuMsPerGib: 0 };
  return {
    sample,
    async take(name: "downMbS" | "upMbS", way: typeof download): Promise<void> {
      const watch = setInterval(() => {
        sample.overIdleMb = Math.max(sample.overIdleMb, target.rssMb() - idleMb);
      }, watchMs);
      const beforeUs = target.cpuUs();
      try {
        sample[name] = bytes / 1e3 / (await way(transfer(bytes)));
        sample.cpuMsPerGib += (target.cpuUs() - beforeUs) / 1000 / ((2 * bytes) / 2 ** 30);
      } finally {
        clearInterval(watch);
      }
    },
  };
}

function pipePlan(upstream: string): Plan {
  return {
    ...{ name: "bare pipe", path: "", probe: probe("") },
    launch: () => ({ args: [benchFile("proxies/pipe.mjs")], env: { UPSTREAM: upstream } }),
  };
}

function gatewayPlan({ lab }: Bench, upstream: string): Plan {
  const path = `/api/${projectUuid}/proxy/bulk`;
  return {
    ...{ name: "gateway", path, probe: probe(path) },
    launch(port) {
      const file = join(lab.folder, "proxy.config.yaml");
      writeFileSync(file, JSON.stringify(configOf(port, upstream)));
      const program = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
      return { args: [program, "start", "--config", file] };
    },
  };
}

function configOf(port: number, upstream: string): object {
  const hash = `sha256:${createHash("sha256").update(token).digest("hex")}`;
  return {
    version: 1,
    server: { host: "127.0.0.1", port, request_timeout_ms: longestMs, max_body_bytes: 1_073_741_824 },
    admin: { port: 0 },
    network: { allow: ["127.0.0.1"] },
    projects: [
      {
        ...{ uuid: projectUuid, name: "Bench", type: "proxy" },
        tokens: [{ name: "bench", hash, scopes: ["proxy"] }],
        proxy_endpoints: [{ slug: "bulk", upstream_url: upstream, timeout_ms: longestMs }],
      },
    ],
  };
}

function probe(path: string): Buffer {
  const lines = [`GET ${path}/1 HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`, "", ""];
  return Buffer.from(lines.join("\r\n"));
}
