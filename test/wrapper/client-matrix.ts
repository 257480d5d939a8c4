/**
 * Which client, provider and feature have been tried together: filled by the tests as their assertions hold, and printed
 * as docs/clients.md. A combination that no test tries is shown as not tried, never as working.
 */
const CLIENTS = ["OpenAI SDK", "Vercel AI SDK", "LangChain", "LlamaIndex", "Instructor"] as const;
const FEATURES = {
  text: "Text",
  stream: "Streamed text",
  usage: "Usage of a stream",
  tools: "Tool call",
  streamedTools: "Streamed parallel tool calls",
  toolResults: "Tool results",
  schema: "JSON by schema",
  json: "JSON mode",
  image: "Image",
  hints: "Hints (user, effort, one call at a time, cache mark)",
  errors: "Errors with code and type",
  embeddings: "Embeddings",
} as const;

export type Client = (typeof CLIENTS)[number];
export type Feature = keyof typeof FEATURES;

export class ClientMatrix {
  readonly #providers: readonly string[];
  readonly #held = new Set<string>();
  readonly #absent = new Set<string>();

  constructor(providers: readonly string[]) {
    this.#providers = providers;
  }

  /** The assertions about these features have held. */
  held(client: Client, provider: string, ...features: readonly Feature[]): void {
    for (const feature of features) this.#held.add(`${client}/${provider}/${feature}`);
  }

  /** The vendor has no such thing, and the gateway says so. */
  absent(client: Client, provider: string, feature: Feature): void {
    this.#absent.add(`${client}/${provider}/${feature}`);
  }

  page(): string {
    const tables = CLIENTS.map((client) => `## ${client}\n\n${this.#table(client)}`);
    return `<!-- Written by \`SLUICE_WRITE_DOCS=1 npm test -- test/wrapper/clients.test.ts\`. Do not edit. -->

# Clients

What the tests try on \`/api/{uuid}/v1\`: unmodified clients, each on an alias of every provider, against an imitation of
the providers that is not ours. \`yes\`: tried, and it works. \`none\`: the vendor has no such
thing, and the call gets a 400 that names the field. \`-\`: not tried here. A combination that fails fails the tests.

${tables.join("\n\n")}
`;
  }

  #table(client: Client): string {
    const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
    const cell = (key: string): string =>
      this.#held.has(key) ? "yes" : this.#absent.has(key) ? "none" : "-";
    const rows = Object.entries(FEATURES).map(([feature, title]) =>
      row([title, ...this.#providers.map((name) => cell(`${client}/${name}/${feature}`))]),
    );
    const head = row(["Feature", ...this.#providers]);
    return [head, row(["---", ...this.#providers.map(() => "---")]), ...rows].join("\n");
  }
}
