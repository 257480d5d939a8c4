/**
 * A custom stage, at `record`: counts how calls end and logs the slow ones. Shows what a stage is handed (the
 * host's metrics and log) and the hook that always runs, once, however a call ended. In the config:
 *
 *     plugins: [./plugins/acme-audit.ts]
 *     projects:
 *       - stages: [{ use: acme-audit, options: { slow_ms: 5000 } }]
 */
import { definePlugin } from "sluice/plugin";

export default definePlugin({
  name: "acme-audit",
  stage: "record",
  description: "Counts calls by how they ended and logs slow ones.",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      slow_ms: {
        type: "integer",
        minimum: 1,
        default: 2000,
        description: "Calls that take longer are logged, in milliseconds.",
      },
    },
  },
  examples: [{}, { slow_ms: 500 }],
  setup({ slow_ms }, host) {
    // Labels must be few and known: an outcome is one of four words, a request id would be a series each.
    const calls = host.metrics.counter("acme_calls_total", "Calls by how they ended.", ["outcome"]);
    const count = {
      done: calls.series("done"),
      refused: calls.series("refused"),
      failed: calls.series("failed"),
      client_gone: calls.series("client_gone"),
    };
    return {
      finish(x, end) {
        count[end.outcome](1);
        if (end.durationMs <= slow_ms) return;
        host.log.warn(
          {
            request_id: x.requestId,
            endpoint: x.endpoint.slug,
            duration_ms: end.durationMs,
            stages: end.stageMs,
          },
          "slow call",
        );
      },
    };
  },
});
