// Counts the source files and functions that one call runs through, with V8's precise coverage of a warm gateway:
//   npm run call-coverage                     npm run call-coverage -- --files    (their names too)
//   npm run call-coverage -- --tree ../other  (the same calls in another checkout, to compare)
// The gateway runs in this process, on the memory store, and calls an OpenAI provider on loopback.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type Profiler, Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { tokenHash } from "../src/base/token.ts";
import type { createGateway, Gateway } from "../src/index.ts";

export interface CallPath {
  readonly files: ReadonlySet<string>;
  readonly functions: number;
}

export interface MeasuredCall {
  readonly name: string;
  readonly path: CallPath;
}

const PROJECT = "6f1d2c0a-4b7e-4a53-8c61-0d9be2a4f701";
const TOKEN = "gw_test_coverage0Of0Calls1";
/** Calls before the measured one: connections are open and caches are filled then. */
const WARM_CALLS = 2;

const CALLS = [
  { name: "chat, no limits or guardrails", slug: "plain", stream: false },
  { name: "chat with the README's limits and guardrails", slug: "guarded", stream: false },
  { name: "the same, streamed", slug: "guarded", stream: true },
] as const;

/** Runs each kind of call against the sources of `tree`, one after the other. */
export async function measureCalls(tree: string): Promise<readonly MeasuredCall[]> {
  const provider = await startProvider();
  const folder = mkdtempSync(join(tmpdir(), "sluice-call-coverage-"));
  const session = new Session();
  session.connect();
  let gateway: Gateway | undefined;
  try {
    const configPath = join(folder, "gateway.config.yaml");
    writeFileSync(configPath, JSON.stringify(configuration(provider.url)));
    // Coverage must be on before the modules are compiled.
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const module: { readonly createGateway: typeof createGateway } = await import(
      pathToFileURL(join(tree, "src/index.ts")).href
    );
    gateway = await module.createGateway({ configPath, env: {}, watch: false, log: () => undefined });
    const { url } = await gateway.start();
    const measured: MeasuredCall[] = [];
    for (const { name, slug, stream } of CALLS) {
      for (let call = 0; call < WARM_CALLS; call++) await chat(url, slug, stream);
      await session.post("Profiler.takePreciseCoverage"); // resets the counters
      await chat(url, slug, stream);
      const { result } = await session.post("Profiler.takePreciseCoverage");
      measured.push({ name, path: pathOf(result, tree) });
    }
    return measured;
  } finally {
    session.disconnect();
    await gateway?.stop();
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function pathOf(scripts: readonly Profiler.ScriptCoverage[], tree: string): CallPath {
  const files = new Set<string>();
  let functions = 0;
  for (const { url, functions: all } of scripts) {
    if (!url.startsWith("file:")) continue;
    const file = relative(tree, fileURLToPath(url)).split("?")[0] ?? "";
    if (!/^(?:src|plugins|providers)\//.test(file)) continue;
    const called = all.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length;
    if (called > 0) files.add(file);
    functions += called;
  }
  return { files, functions };
}

async function chat(url: string, slug: string, stream: boolean): Promise<void> {
  const response = await fetch(`${url}/api/${PROJECT}/${slug}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ message: "What is the capital of France?", stream }),
  });
  const text = await response.text();
  if (response.status !== 200 || !text.includes("Paris")) throw new Error(`${response.status} ${text}`);
  // The gateway logs and counts a call after its answer.
  await new Promise((done) => setTimeout(done, 50));
}

function configuration(providerUrl: string): unknown {
  const target = { provider: "openai", model: "gpt-5-mini", credential: "main" };
  return {
    version: 1,
    server: { port: 0 },
    // For its overview a timer reads the counters, which would count with the call that runs at that moment.
    admin: { enabled: false },
    projects: [
      {
        uuid: PROJECT,
        name: "Coverage",
        type: "ai_gateway",
        credentials: [{ name: "main", provider: "openai", api_key: "sk-none", base_url: providerUrl }],
        tokens: [{ name: "test", hash: tokenHash(TOKEN), scopes: ["chat"] }],
        endpoints: [
          { name: "Plain", ...target },
          {
            name: "Guarded",
            ...target,
            rate_limit_per_minute: 1000,
            monthly_budget_usd: 200,
            estimated_cost_per_1k_tokens_usd: 0.002,
            guardrails: [
              { use: "content_length", max: 8000, on: ["input", "output"] },
              { use: "keyword_blocklist", keywords: ["internal use only"], on: ["input", "output"] },
              { use: "pii", mode: "mask", on: ["input", "output"] },
              { use: "prompt_injection" },
            ],
          },
        ],
      },
    ],
  };
}

interface Provider {
  readonly url: string;
  close(): Promise<void>;
}

/** An OpenAI chat provider with one answer, whole or as events. */
async function startProvider(): Promise<Provider> {
  const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
  const about = { id: "chatcmpl-1", created: 1_790_000_000, model: "gpt-5-mini" };
  const content = "The capital is Paris.";
  const event = (delta: unknown, finish_reason: string | null, extra = {}) =>
    `data: ${JSON.stringify({ ...about, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }], ...extra })}\n\n`;
  const events = [
    ...content.split(/(?= )/).map((part) => event({ role: "assistant", content: part }, null)),
    event({}, "stop"),
    `data: ${JSON.stringify({ ...about, object: "chat.completion.chunk", choices: [], usage })}\n\n`,
    "data: [DONE]\n\n",
  ];
  const message = { role: "assistant", content };
  const whole = {
    ...about,
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage,
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += String(piece);
    const isStream = body.includes('"stream":true');
    response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
    response.end(isStream ? events.join("") : JSON.stringify(whole));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { tree: { type: "string" }, files: { type: "boolean", default: false } },
  });
  const tree = resolve(values.tree ?? fileURLToPath(new URL("..", import.meta.url)));
  for (const { name, path } of await measureCalls(tree)) {
    process.stdout.write(`${name.padEnd(46)} ${path.files.size} files  ${path.functions} functions\n`);
    if (values.files) for (const file of [...path.files].sort()) process.stdout.write(`    ${file}\n`);
  }
}
