/** A side that was kept: compared with another one, it gives the same changes at the same places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changesBetween } from "../../src/plan/changes.ts";
import { keepSide, keptSide, type LoadedSide } from "../../src/plan/kept-side.ts";
import { judge } from "../../src/plan/plan.ts";
import { folderOf, projectOf } from "../config/kit.ts";

const SECRET = "canary-5e11";

function textOf(rate: string, more = ""): string {
  return projectOf(`    endpoint_defaults: { temperature: ${rate === "5" ? "0.1" : "0.2"} }
    credentials:
      - { name: main, provider: openai, api_key: "\${env:KEY}" }
    tokens:
      - { id: 7, name: web, hash: "sha256:${"a".repeat(64)}", scopes: [chat] }
    endpoints:
      - { name: A, provider: openai, model: gpt-5-mini, credential: main, rate_limit_per_minute: ${rate} }
${more}`);
}

const GONE = "      - { name: Gone, provider: openai, model: gpt-5-mini, credential: main }\n";

test("changes against a kept side are those against the side itself, places of what is gone included", async (t) => {
  const side = async (text: string, name: string): Promise<LoadedSide> => {
    const folder = folderOf(t, { "gateway.config.yaml": text });
    const { config, shown, hash } = await folder.load({ env: { KEY: SECRET }, shows: true });
    assert.ok(config !== undefined && shown !== undefined);
    return { name, hash, revision: null, shown, config };
  };
  const [from, to] = [await side(textOf("5", GONE), "from"), await side(textOf("50"), "to")];
  const bytes = keepSide(from);
  const kept = keptSide(bytes);
  assert.deepEqual(kept.shown.config, from.shown.config);
  assert.ok(!JSON.stringify(kept).includes(SECRET));
  assert.deepEqual(changesBetween(kept, to), changesBetween(from, to));
  const options = { findPlugin: () => undefined, nowMs: 0 };
  const judged = judge(from, to, options);
  assert.deepEqual(judge(kept, to, options), judged);
  assert.deepEqual(
    judged.map(({ rule, at: { line } }) => [rule, line]),
    [
      ["P401", 6],
      ["P202", 12],
      ["P101", 13],
    ],
  );
  assert.deepEqual(changesBetween(kept, from), []);
});
