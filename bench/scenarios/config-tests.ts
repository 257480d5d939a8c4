/** What `sluice test` takes: 1,000 cases over 250 endpoints, and the same with 500 mutations. Whole processes, from `dist/`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { benchFile } from "../lab.ts";
import type { Bench } from "../measure.ts";
import { atMost, figure, type Row } from "../result.ts";

export const title = "sluice test: 1,000 cases over 250 endpoints, and 500 mutations of them";

const ENDPOINTS = 250;
const CASES = 4 * ENDPOINTS;

export async function run(bench: Bench): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-tests-"));
  try {
    writeFileSync(join(folder, "gateway.config.yaml"), configuration());
    writeFileSync(join(folder, "gateway.test.yaml"), cases());
    const plain: number[] = [];
    const mutated: number[] = [];
    for (let round = 0; round < bench.rounds; round++) {
      plain.push(seconds(bench, folder, []));
      mutated.push(seconds(bench, folder, ["--mutate"]));
    }
    return [
      figure("1,000 cases", "s", plain, atMost(10)),
      figure("1,000 cases and 500 mutations", "s", mutated, atMost(20)),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Of the whole process. NaN and a failure when it did not pass every case and miss every protection. */
function seconds(bench: Bench, cwd: string, flags: readonly string[]): number {
  const startedMs = performance.now();
  const program = benchFile("../dist/main.js");
  const args = [program, "test", "--output", "json", ...flags];
  const { stdout, status } = spawnSync(process.execPath, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const took = (performance.now() - startedMs) / 1000;
  bench.progress(`  ${flags.join(" ") || "cases alone"}: ${took.toFixed(2)} s`);
  const isWhole = status === 0 && stdout.includes(`"passed": ${CASES},`);
  if (!isWhole) bench.failed(`sluice test ${flags.join(" ")} ended with ${status}`);
  return isWhole ? took : Number.NaN;
}

function configuration(): string {
  const endpoints = numbered((n) => {
    const guardrails = "guardrails: [{ use: pii, mode: mask }]";
    return `      - { name: E${n}, slug: e${n}, provider: openai, model: gpt-5-mini, credential: main, rate_limit_per_minute: 5, ${guardrails} }`;
  });
  return `version: 1
projects:
  - uuid: 6f1c3c0e-8a55-4d0c-9b0e-0d8a2f8f7a11
    name: Bench
    type: ai_gateway
    tokens: [{ id: web, hash: "sha256:${"a".repeat(64)}" }]
    credentials: [{ name: main, provider: openai, api_key: "\${env:OPENAI_API_KEY}" }]
    endpoints:
${endpoints}
`;
}

function cases(): string {
  return `tests:\n${numbered(
    (n) => `  - name: e${n} answers
    call: { endpoint: e${n}, message: hi }
    expect: { status: 200, content: ok, cost_usd: { max: 1 } }
  - name: e${n} masks
    call: { endpoint: e${n}, message: "Write to ann@example.org" }
    expect: { guardrails: { pii: mask }, sent: { excludes: [ann@example.org] } }
  - name: e${n} has its limit
    given: { calls: [{ endpoint: e${n}, count: 5 }] }
    call: { endpoint: e${n}, message: hi }
    expect: { status: 429 }
  - name: e${n} streams
    call: { endpoint: e${n}, message: hi, stream: true }
    provider: { chunks: ["a b", " c"] }
    expect: { status: 200, content: a b c }`,
  )}\n`;
}

function numbered(text: (n: number) => string): string {
  return Array.from({ length: ENDPOINTS }, (_, n) => text(n)).join("\n");
}
