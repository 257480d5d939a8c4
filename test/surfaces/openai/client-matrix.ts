/**
 * Which client, provider and feature work together, printed as docs/clients.md. Results of the Node clients are recorded
 * by the tests that run them; those of the Python clients are read from the file that `npm run clients` writes.
 */
import { fileURLToPath } from "node:url";

export const FEATURES = {
  text: "System text, turns, finish reason",
  stream: "Streamed text",
  usage: "Usage of a stream",
  tools: "Tool call",
  forced: "Forced tool call",
  streamedTools: "Streamed parallel tool calls",
  toolResults: "Tool results",
  schema: "JSON by schema",
  json: "JSON mode",
  image: "Image",
  hints: "Hints (user, effort, one call at a time, cache mark)",
  errors: "Errors 400, 401, 404, 502: types, codes, retries",
  limited: "429 with `Retry-After`",
  broken: "Error inside a stream",
  embeddings: "Embeddings",
} as const;

export type Feature = keyof typeof FEATURES;

/** `none`: the vendor has no such thing, and the gateway says so. `fail` is never committed. */
export type Result = "yes" | "none" | "fail";

/** By client, provider and feature. */
export type ClientResults = Record<string, Record<string, Record<string, string>>>;

/** Clients that `npm run clients` runs, in the order of the page. */
export const PYTHON_CLIENTS = [
  "OpenAI SDK (Python)",
  "LangChain (Python)",
  "Pydantic AI (Python)",
  "LiteLLM (Python)",
] as const;

/** Results of the Python clients. */
export const PYTHON_RESULTS = fileURLToPath(new URL("python/results.json", import.meta.url));

/** What a client's own interface does not offer, so that nothing can be tried: by client and feature, with the reason. */
export type ClientLacks = Readonly<Record<string, Partial<Record<Feature, string>>>>;

export interface MatrixParts {
  readonly providers: readonly string[];
  /** Clients in the order of the page. */
  readonly clients: readonly string[];
  readonly results: ClientResults;
  readonly lacks: ClientLacks;
  /** What each `none` means: by provider and feature. */
  readonly vendorLacks: Readonly<Record<string, Partial<Record<Feature, string>>>>;
}

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const FEATURE_NAMES = Object.keys(FEATURES).filter((name): name is Feature => name in FEATURES);

/** Cells without a result, or with another result than the lists of what is missing say. Empty: the page is complete. */
export function gaps({ providers, clients, results, lacks, vendorLacks }: MatrixParts): string[] {
  const cells = clients.flatMap((client) =>
    providers.flatMap((provider) => FEATURE_NAMES.map((feature) => ({ client, provider, feature }))),
  );
  return cells.flatMap(({ client, provider, feature }) => {
    const result = results[client]?.[provider]?.[feature];
    const lacking = lacks[client]?.[feature] !== undefined;
    const expected = lacking ? undefined : vendorLacks[provider]?.[feature] === undefined ? "yes" : "none";
    return result === expected ? [] : [`${client}, ${provider}, ${feature}: ${result ?? "not tried"}`];
  });
}

/** The page. */
export function matrixPage(parts: MatrixParts): string {
  const { providers, clients, lacks, vendorLacks } = parts;
  const tables = clients.map((client) => `## ${client}\n\n${table(parts, client)}${notes(lacks[client])}`);
  const missing = providers.flatMap((provider) =>
    Object.entries(vendorLacks[provider] ?? {}).map(([, reason]) => `- ${provider}: ${reason}`),
  );
  return `<!-- Written by \`SLUICE_WRITE_DOCS=1 npm test -- test/surfaces/openai/clients.test.ts\`. Do not edit. -->

# Clients

What the tests try on \`/api/{uuid}/v1\`: unmodified clients, each on an alias of every provider, against an imitation of
the providers that is not ours (two forms of embeddings that it does not know, Google's \`batchEmbedContents\` and Ollama's
\`/api/embed\`, are answered as the vendors' references say). \`npm test\` runs the Node clients; \`npm run clients\` runs the
Python clients, at the versions that \`test/wrapper/python/\` pins.

- \`yes\`: works.
- \`none\`: the vendor has no such thing, and the call gets a 400 that names the field (below).
- \`n/a\`: the client's interface has no such thing (below its table).

A combination that fails, or is not tried, fails the tests.

What vendors do not have:

${missing.join("\n")}

${tables.join("\n\n")}
`;
}

function table({ providers, results, lacks }: MatrixParts, client: string): string {
  const cell = (provider: string, feature: Feature): string =>
    lacks[client]?.[feature] === undefined ? (results[client]?.[provider]?.[feature] ?? "-") : "n/a";
  const rows = FEATURE_NAMES.map((feature) =>
    row([FEATURES[feature], ...providers.map((provider) => cell(provider, feature))]),
  );
  return [row(["Feature", ...providers]), row(["---", ...providers.map(() => "---")]), ...rows].join("\n");
}

function notes(lacks: Partial<Record<Feature, string>> = {}): string {
  const lines = FEATURE_NAMES.flatMap((feature) => {
    const reason = lacks[feature];
    return reason === undefined ? [] : [`- ${FEATURES[feature]}: ${reason}`];
  });
  return lines.length === 0 ? "" : `\n\n${lines.join("\n")}`;
}
