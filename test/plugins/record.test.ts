/** Stage record outside any gateway: the line is JSON whatever the texts and numbers of a call are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallEnd, Exchange, Host } from "sluice/plugin";
import record from "../../plugins/record/index.ts";

/** The line of a call that differs from a plain one in these fields. */
async function lineOf(call: object, ended: object): Promise<Record<string, unknown>> {
  const lines: string[] = [];
  const family = { series: () => () => undefined };
  // All that the stage asks of its host.
  const host = {
    clock: { nowMs: () => 1_700_000_000_000 },
    metrics: { counter: () => family, histogram: () => family },
    requestLog: { enabled: true, write: (line: string) => lines.push(line) },
  } as unknown as Host;
  const hooks = await record.setup({ content: "none" }, host);
  const x = {
    requestId: "r",
    surface: "chat",
    project: { uuid: "p", id: 1, name: "" },
    endpoint: { uuid: "e", slug: "ask", name: "" },
    token: { id: "1" },
    clientAddress: "127.0.0.1",
    stream: false,
    attempts: [],
    verdicts: [],
    guardrails: [],
    config: { hash: "", generation: 1, revision: "" },
    traceId: "0".repeat(32),
    ...call,
  };
  const end = {
    outcome: "done",
    status: 200,
    provider: "",
    model: "",
    durationMs: 0,
    stageMs: [],
    costNanoUsd: 0,
    ...ended,
  };
  // What the line and the counters read of a call.
  await hooks.finish?.(x as unknown as Exchange, end as unknown as CallEnd);
  return JSON.parse(lines[0] ?? "");
}

test("texts of config and clients are escaped where they must be", async () => {
  for (const odd of ['a"b', "a\\b", "a\nb", "\u0000", "é", "", "o4-mini (beta)", "\ud800"]) {
    const attempt = {
      provider: "openai",
      model: odd,
      credential: odd,
      outcome: odd,
      status: undefined,
      durationMs: 1,
    };
    const line = await lineOf(
      { token: { id: odd }, project: { uuid: odd }, attempts: [attempt] },
      { model: odd },
    );
    assert.deepEqual([line["model"], line["project"], line["token_id"]], [odd, odd, odd]);
    const expected = { ...attempt, status: null, duration_ms: 1, durationMs: undefined };
    assert.deepEqual(line["attempts"], [JSON.parse(JSON.stringify(expected))]);
  }
});

test("durations are milliseconds with three digits behind the point, stages that did not run are left out", async () => {
  for (const [ms, shown] of [
    [0, 0],
    [0.0004, 0],
    [0.0006, 0.001],
    [0.05, 0.05],
    [0.9996, 1],
    [7.5, 7.5],
    [1234.0305, 1234.031],
    [86_400_000.1, 86_400_000.1],
  ] as const) {
    const line = await lineOf({}, { durationMs: ms, firstByteMs: ms, stageMs: [ms, -1, ms] });
    assert.deepEqual([line["duration_ms"], line["first_byte_ms"]], [shown, shown]);
    assert.deepEqual(line["stages_ms"], { authenticate: shown, budget: shown });
  }
});
