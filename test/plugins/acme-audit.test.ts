/** The worked example of a stage: what it counts and what it logs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallEnd, Exchange, Hooks, Host } from "sluice/plugin";
import acmeAudit from "../../examples/plugins/acme-audit.ts";

function audited(options: { readonly slow_ms?: number }) {
  const counted: string[] = [];
  const logged: unknown[] = [];
  const host = {
    metrics: {
      counter: () => ({ series: (outcome: string) => (n: number) => counted.push(`${outcome} ${n}`) }),
    },
    // These two are all of a host that the stage asks for.
    log: { warn: (fields: unknown) => logged.push(fields) },
  } as unknown as Host;
  // The stage sets itself up without a promise.
  const hooks = acmeAudit.setup(options, host) as Hooks;
  const finish = (outcome: CallEnd["outcome"], durationMs: number): void => {
    // What the stage reads of a call and its end, and no more.
    const x = { requestId: "r1", endpoint: { slug: "sum" } } as unknown as Exchange;
    hooks.finish?.(x, { outcome, durationMs, stageMs: { call: durationMs } } as unknown as CallEnd);
  };
  return { counted, logged, finish };
}

test("every call is counted by how it ended", () => {
  const { counted, finish } = audited({});
  finish("done", 5);
  finish("refused", 1);
  finish("client_gone", 1);
  assert.deepEqual(counted, ["done 1", "refused 1", "client_gone 1"]);
});

test("calls slower than the limit are logged with where the time went", () => {
  const { logged, finish } = audited({ slow_ms: 100 });
  finish("done", 100);
  finish("done", 101);
  assert.deepEqual(logged, [{ request_id: "r1", endpoint: "sum", duration_ms: 101, stages: { call: 101 } }]);
});
