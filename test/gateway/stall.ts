/**
 * How long a reload keeps the calls' thread from anything else: the longest delay of the event loop while one line of
 * many endpoints changes. `npm run stall` prints it for 1,000 and 10,000 endpoints.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createGateway } from "../../src/index.ts";
import { hashOf, PROJECT, TOKENS } from "../spec/kit/config.ts";
import { type LongestDelay, LoopDelay } from "./loop-delay.ts";

export interface Stall {
  readonly endpoints: number;
  readonly change: string;
  /** From asking for the reload until it is applied. */
  readonly tookMs: number;
  /** Longest time in which the loop did nothing else. */
  readonly longest: LongestDelay;
}

/** One endpoint of many, each with a prompt, a schema and guardrails of its own. */
function endpointText(index: number, revision: number): string {
  const schema = `{ type: object, properties: { message: { type: string, maxLength: ${1000 + (index % 50)} } } }`;
  return `      - name: E${index}
        provider: mock
        model: m
        credential: demo
        prompt: "You answer questions about part ${index}. Revision ${revision}."
        monthly_budget_usd: 5
        estimated_cost_per_1k_tokens_usd: 0.5
        rate_limit_per_minute: 100
        input_schema: ${schema}
        guardrails: [{ use: content_length, max: ${2000 + index} }, { use: keyword_blocklist, keywords: [word${index}] }]
`;
}

interface Shape {
  readonly endpoints: number;
  /** Of one endpoint in the middle; all others stay at 0. */
  readonly one?: number;
  readonly all?: number;
  /** Lines before the first endpoint: all others move down. */
  readonly comments?: number;
}

function configText({ endpoints, one = 0, all = 0, comments = 0 }: Shape): string {
  const middle = endpoints >> 1;
  const list = Array.from({ length: endpoints }, (_, index) =>
    endpointText(index, index === middle ? all + one : all),
  );
  return `version: 1
server: { port: 0 }
admin: { enabled: false }
log: { level: error }
${"# A comment.\n".repeat(comments)}projects:
  - uuid: ${PROJECT}
    name: Many
    type: ai_gateway
    credentials: [{ name: demo, provider: mock }]
    tokens: [{ name: web, hash: "${hashOf(TOKENS.web)}", scopes: [chat] }]
    endpoints:
${list.join("")}`;
}

/** Reloads a gateway of this many endpoints after several kinds of change, the first of them twice to warm up. */
export async function stalls(endpoints: number): Promise<readonly Stall[]> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-stall-"));
  const path = join(folder, "gateway.yaml");
  writeFileSync(path, configText({ endpoints }));
  const gateway = await createGateway({ configPath: path, env: {}, watch: false, log: () => {} });
  await gateway.start();
  const results: Stall[] = [];
  try {
    const changes: readonly (readonly [string, Shape])[] = [
      ["first reload, one line", { endpoints, one: 1 }],
      ["one line", { endpoints, one: 2 }],
      ["a line inserted on top", { endpoints, one: 2, comments: 1 }],
      ["every endpoint", { endpoints, all: 1, comments: 1 }],
    ];
    for (const [change, shape] of changes) {
      writeFileSync(path, configText(shape));
      await pause(200);
      const delay = new LoopDelay();
      const startedMs = performance.now();
      const { ok, changed, errors } = await gateway.reload();
      const tookMs = performance.now() - startedMs;
      // What is closed after the swap counts as well.
      await pause(300);
      const longest = delay.stop();
      if (!ok || !changed) throw new Error(`not applied: ${change} ${JSON.stringify(errors)}`);
      results.push({ endpoints, change, tookMs, longest });
    }
    return results;
  } finally {
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sizes = process.argv.slice(2).map(Number);
  for (const endpoints of sizes.length > 0 ? sizes : [1_000, 10_000]) {
    for (const { change, tookMs, longest } of await stalls(endpoints)) {
      const figures = `took ${tookMs.toFixed(0).padStart(6)} ms, longest stall ${longest.cpuMs.toFixed(1).padStart(7)} ms CPU, ${longest.wallMs.toFixed(1).padStart(7)} ms in all`;
      process.stdout.write(`${String(endpoints).padStart(6)} endpoints  ${change.padEnd(24)} ${figures}\n`);
    }
  }
}
