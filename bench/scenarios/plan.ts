/** `sluice plan` between two configurations of 1,000 endpoints each, beyond the time that validating both takes. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bench } from "../measure.ts";
import { atMost, column, figure, type Row } from "../result.ts";

const ENDPOINTS = 1_000;
const PER_PROJECT = 25;
const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));

export const title = "plan between two configurations of 1,000 endpoints, beyond validating both";

/** `isNew`: every tenth limit and every seventh prompt differ. */
function configuration(isNew: boolean): string {
  const lines = ["version: 1", "projects:"];
  for (let n = 0; n < ENDPOINTS; n++) {
    if (n % PER_PROJECT === 0) {
      const uuid = `6f1f3c52-1d3a-4d0a-9a39-${String(n).padStart(12, "0")}`;
      lines.push(`  - name: Team ${n / PER_PROJECT}`, `    uuid: ${uuid}`, "    type: ai_gateway");
      lines.push("    endpoints:");
    }
    const tone = isNew && n % 7 === 0 ? "at length and with care" : "briefly";
    lines.push(
      `      - name: Endpoint ${n % PER_PROJECT}`,
      "        provider: mock",
      "        model: m",
      `        rate_limit_per_minute: ${isNew && n % 10 === 0 ? 30 : 60}`,
      `        prompt: You are assistant number ${n}, and answer ${tone} and politely.`,
      "        guardrails:",
      "          - { use: content_length, options: { max: 8000 } }",
      "          - { use: keyword_blocklist, options: { keywords: [one, two] } }",
    );
  }
  return `${lines.join("\n")}\n`;
}

export async function run(bench: Bench): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-plan-"));
  try {
    for (const name of ["old", "new"])
      writeFileSync(join(folder, `${name}.yaml`), configuration(name === "new"));
    const rounds = Array.from({ length: bench.rounds }, (_, round) => {
      const validateMs = timed(folder, ["validate", "old.yaml"]) + timed(folder, ["validate", "new.yaml"]);
      const planMs = timed(folder, ["plan", "--from", "old.yaml", "--to", "new.yaml"]);
      bench.progress(
        `  round ${round + 1}: ${planMs.toFixed(0)} ms, validating both ${validateMs.toFixed(0)} ms`,
      );
      return { planMs, validateMs, beyondMs: planMs - validateMs };
    });
    return [
      figure("plan beyond validating both", "ms", column(rounds, "beyondMs"), atMost(2_000)),
      figure("plan", "ms", column(rounds, "planMs")),
      figure("validating both", "ms", column(rounds, "validateMs")),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function timed(cwd: string, args: readonly string[]): number {
  const startedMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`sluice ${args[0]} ended with ${status}: ${stderr.slice(0, 500)}`);
  return performance.now() - startedMs;
}
