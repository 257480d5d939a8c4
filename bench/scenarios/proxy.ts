/** Large bodies through a proxy endpoint, against node:http piped by hand: speed, CPU, and what memory they take. */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { download, type Transfer, upload } from "../bulk-transfer.ts";
import { projectUuid, token } from "../gateway-config.ts";
import { benchFile, freePort, type Target, type TargetPlan } from "../lab.ts";
import { type Bench, inRounds } from "../measure.ts";
import { atLeast, atMost, column, figure, type Row, ratio } from "../result.ts";

const bytes = 2 ** 31;
const smallBytes = 1024;
const settleMs = 1_000;
const watchMs = 20;
const longestMs = 600_000;

export const title = "2 GiB down and 2 GiB up, through a proxy endpoint and through a bare pipe";

interface Plan extends TargetPlan {
  readonly path: string;
}

export async function run(bench: Bench): Promise<Row[]> {
  const port = await freePort();
  const program = [process.execPath, benchFile("bulk-upstream.mjs"), String(port)];
  const upstream = await bench.lab.startProgram(program, /listening/);
  const url = `http://127.0.0.1:${port}`;
  const [ours = [], pipe = []] = await inRounds(bench, [gatewayPlan(bench, url), pipePlan(url)], measureBoth);
  await upstream.stop();
  return [
    ratio("download, of the bare pipe", column(ours, "downMbS"), column(pipe, "downMbS"), atLeast(0.8)),
    ratio("upload, of the bare pipe", column(ours, "upMbS"), column(pipe, "upMbS"), atLeast(0.8)),
    figure("most memory over idle", "MB", column(ours, "overIdleMb"), atMost(64)),
    figure("download", "MB/s", column(ours, "downMbS")),
    figure("upload", "MB/s", column(ours, "upMbS")),
    figure("CPU, down and up", "ms/GiB", column(ours, "cpuMsPerGib")),
    figure("bare pipe: CPU", "ms/GiB", column(pipe, "cpuMsPerGib")),
    figure("bare pipe: most memory over idle", "MB", column(pipe, "overIdleMb")),
  ];
}

async function measureBoth(target: Target, { path }: Plan) {
  const transfer = (count: number): Transfer => ({
    ...{ port: target.port, token, bytes: count },
    path: `${path}/${count}`,
  });
  await download(transfer(smallBytes));
  await upload(transfer(smallBytes));
  await delay(settleMs);
  const idleMb = target.rssMb();
  let peakMb = idleMb;
  const watch = setInterval(() => (peakMb = Math.max(peakMb, target.rssMb())), watchMs);
  const beforeUs = target.cpuUs();
  try {
    const downMs = await download(transfer(bytes));
    const upMs = await upload(transfer(bytes));
    const megabytes = bytes / 1e6;
    return {
      downMbS: (megabytes / downMs) * 1000,
      upMbS: (megabytes / upMs) * 1000,
      overIdleMb: peakMb - idleMb,
      cpuMsPerGib: (target.cpuUs() - beforeUs) / 1000 / ((2 * bytes) / 2 ** 30),
    };
  } finally {
    clearInterval(watch);
  }
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
    server: { host: "127.0.0.1", port, request_timeout_ms: longestMs },
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
