// The table of docs/metrics.md, read from the source text: every metric is registered under a literal name, with a
// literal help and literal labels, and one that is not is an error here.
import { readdirSync, readFileSync } from "node:fs";

export interface Listed {
  readonly name: string;
  readonly type: "counter" | "histogram" | "gauge";
  readonly labels: readonly string[];
  readonly help: string;
  /** The store that has it; undefined: every gateway has it. */
  readonly driver: string | undefined;
}

const REGISTERED =
  /\b(counter|histogram|gauges?)(?:\?\.)?\(\s*"(sluice_\w+)",\s*"((?:[^"\\]|\\.)*)",\s*(\[[^\]]*\])?/g;
const NAMED = /"sluice_\w+"/g;
/** Other things of ours that are called so. */
const NO_METRICS = new Set(['"sluice_session"']);

/** Every metric of the gateway, by name. */
export function listedMetrics(): readonly Listed[] {
  const found = ["src", "plugins", "providers"].flatMap((folder) => {
    const root = new URL(`../${folder}/`, import.meta.url);
    const files = readdirSync(root, { recursive: true, encoding: "utf8" });
    return files
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) => metricsIn(readFileSync(new URL(file, root), "utf8"), `${folder}/${file}`));
  });
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Throws where a name stands that is not registered as it should be. */
export function metricsIn(text: string, path: string): readonly Listed[] {
  const listed = [...text.matchAll(REGISTERED)].map(([, kind = "", name = "", help = "", labels = "[]"]) => ({
    name,
    type: kind.replace(/s$/, "") as Listed["type"], // one of the words that the pattern has
    labels: [...labels.matchAll(/"(\w+)"/g)].map(([, label = ""]) => label),
    help,
    driver: /^src\/state\/redis[./]/.test(path) ? "redis" : undefined,
  }));
  const named = [...text.matchAll(NAMED)].filter(([name]) => !NO_METRICS.has(name)).length;
  if (named !== listed.length) {
    throw new Error(`${path}: metrics are registered with a literal name, help and list of labels`);
  }
  return listed;
}

export function metricsPage(written: string): string {
  const rows = listedMetrics().map(({ name, type, labels, help, driver }) => {
    const told = labels.map((label) => `\`${label}\``).join(", ");
    const only = driver === undefined ? "" : ` (with \`state.driver: ${driver}\`)`;
    return `| \`${name}\` | ${type} | ${told} | ${help.replaceAll("|", "\\|")}${only} |`;
  });
  return `${written}

# Metrics and traces

\`GET /metrics\` on the admin listener is Prometheus' text format. \`project\` is a project's uuid, \`endpoint\` a slug; both
are empty for calls that reached no endpoint. All labels are names of the configuration or words of the gateway, so that
the number of series is bounded by the configuration.

| Metric | Type | Labels | What it says |
|---|---|---|---|
${rows.join("\n")}

## Traces

With \`telemetry.otlp.endpoint\` every call is a span, and every try of a model is one under it, named by OpenTelemetry's
conventions for generative AI (\`src/telemetry/traces-names.ts\` has all names). They are exported by OTLP over HTTP, as JSON,
to \`/v1/traces\` under the endpoint. A W3C \`traceparent\` of the client is the call's parent, and the provider gets one
whose parent is our span; a client that says "not sampled" is obeyed, and its header goes on as it came. A call without
one begins a trace, whose id is its request id without the dashes. Prompts and answers are part of spans only with
\`telemetry.otlp.content: true\`.

Batches are of 512 spans at most, sent after five seconds at the latest, one request at a time with ten seconds to answer.
At most 2,048 spans wait; what does not fit, or what the collector refuses, is dropped and counted in
\`sluice_trace_spans_total\`.
`;
}
