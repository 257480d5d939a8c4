// docs/metrics.md, read from the source text: every metric is registered with a literal name, help and labels; anything else
// is an error here.
import { readdirSync, readFileSync } from "node:fs";

export interface Listed {
  readonly name: string;
  readonly type: "counter" | "histogram" | "gauge";
  readonly labels: readonly string[];
  readonly help: string;
  /** The store that registers it; undefined: every gateway. */
  readonly driver: string | undefined;
}

const REGISTERED =
  /\b(counter|histogram|gauges?)(?:\?\.)?\(\s*"(sluice_\w+)",\s*"((?:[^"\\]|\\.)*)",\s*(\[[^\]]*\])?/g;
/** A name that is not read back by `metrics.each`. */
const NAMED = /(?<!\.each\(\s*)"sluice_\w+"/g;
/** Names that begin alike and are not metrics. */
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

/** Throws if a metric is not registered with literals. */
export function metricsIn(text: string, path: string): readonly Listed[] {
  const listed = [...text.matchAll(REGISTERED)].map(([, kind = "", name = "", help = "", labels = "[]"]) => ({
    name,
    type: kind.replace(/s$/, "") as Listed["type"], // the pattern matches only these words
    labels: [...labels.matchAll(/"(\w+)"/g)].map(([, label = ""]) => label),
    help,
    driver: /^src\/state\/redis[./]/.test(path) ? "redis" : undefined,
  }));
  const named = [...text.matchAll(NAMED)].filter(([name]) => !NO_METRICS.has(name)).length;
  if (named !== listed.length) {
    throw new Error(`${path}: register metrics with a literal name, help and list of labels`);
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

\`GET /metrics\` on the admin listener returns Prometheus' text format. \`project\` is a project's uuid, \`endpoint\` a slug; both
are empty for calls that reached no endpoint. Label values come from the configuration or from fixed lists, so that the
configuration bounds the number of series.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
${rows.join("\n")}

## Traces

With \`telemetry.otlp.endpoint\` every call is a span and every attempt at a model a child span, named by OpenTelemetry's
conventions for generative AI (\`src/telemetry/traces-names.ts\` lists all names). They are exported with OTLP over HTTP as JSON,
to \`/v1/traces\` under the endpoint. The client's W3C \`traceparent\` is the parent of the call, and the provider receives one
whose parent is the attempt's span. If the client's header says "not sampled", no span is exported and the header is passed on
unchanged. A call without a header begins a trace whose id is its request id without dashes. Spans contain prompts and answers
only with \`telemetry.otlp.content: true\`.

A batch has at most 512 spans and is sent after at most 5 s, one request at a time with a timeout of 10 s. At most 2,048 spans
are queued; spans that do not fit, or that the collector rejects, are dropped and counted in \`sluice_trace_spans_total\`.
`;
}
