/**
 * What calls cost, to the nano-dollar, by sums done by hand: nano-dollars a token are dollars per million times 1,000. The
 * recorded answers lie outside the repository and are played where `../shared/recordings` is there; answers of our own in
 * the same shapes are always played.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { monthOf } from "../../src/base/month.ts";
import { type FakeUpstream, fakeUpstream } from "../../src/testing/fake-upstream.ts";
import { at } from "../spec/kit/at.ts";
import { PROJECT, PROVIDER_KEY } from "../spec/kit/config.ts";
import type { Closer } from "../spec/kit/gateway.ts";
import { verifies } from "../spec/verifies.ts";
import { startWrapper } from "../surfaces/openai/kit.ts";

const FOLDER = fileURLToPath(new URL("../../../shared/recordings", import.meta.url));

interface Played {
  readonly provider: string;
  readonly model: string;
  readonly body: string;
  readonly streams: boolean;
}

/** Models that the bundled table does not list: their list prices when the answers were recorded. */
const PRICES: readonly (readonly [
  provider: string,
  model: string,
  input: number,
  output: number,
  cached?: number,
])[] = [
  ["openai", "gpt-4-vision-preview", 10, 30],
  ["openai", "gpt-4", 30, 60],
  ["openai", "gpt-5.2", 1.75, 14, 0.175],
  ["openai", "gpt-5.2-codex", 1.75, 14, 0.175],
  ["anthropic", "claude-3-5-sonnet-20240620", 3, 15, 0.3],
  ["anthropic", "claude-3-5-haiku-20241022", 0.8, 4],
  ["anthropic", "claude-sonnet-4-0", 3, 15],
  ["google", "gemini-3-pro-preview", 2, 12],
  ["groq", "llama3-8b-8192", 0.05, 0.08],
  ["together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", 0.88, 0.88],
];

/** Recording, the model it is priced as, its cost in nano-dollars. */
const RECORDED: readonly (readonly [recording: string, model: string, nanoUsd: number])[] = [
  ["openai/length", "gpt-4-vision-preview", 438 * 10_000 + 16 * 30_000],
  ["openai/refusal", "gpt-4o", 292_500],
  ["openai/text", "gpt-4.1-nano-2025-04-14", 146_800],
  ["openai/text_stream_usage", "gpt-4", 660_000],
  // 4 fresh, 1,163 read from the cache at 0.30, 202 out.
  ["anthropic/cache_read", "claude-3-5-sonnet-20240620", 3_390_900],
  ["anthropic/text", "claude-sonnet-4-5-20250929", 471_000],
  ["anthropic/text_stream_raw", "claude-3-5-haiku-20241022", 32_800],
  ["anthropic/tool_use_stream", "claude-3-5-sonnet-20240620", 3_813_000],
  // Thoughts are paid as output.
  ["google/max_tokens_empty", "gemini-2.5-pro", 38_750],
  ["google/text", "gemini-3.5-flash", 679_500],
  ["google/text_stream_raw", "gemini-2.5-flash", 292_900],
  ["google/tool_call_gemini3", "gemini-3-pro-preview", 21_850_000],
  ["mistral/reasoning", "magistral-medium-2507", 250_000],
  ["mistral/text", "mistral-small-latest", 8_850],
  ["mistral/text_stream", "mistral-small-latest", 8_100],
  ["mistral/tool_call_stream", "mistral-small-latest", 31_800],
  ["groq/text_stream_raw", "llama3-8b-8192", 6_740],
  ["groq/tool_call", "llama-3.3-70b-versatile", 140_470],
  ["together/text", "meta-llama/Llama-3.3-70B-Instruct-Turbo", 48_400],
  ["together/text_stream", "meta-llama/Llama-3.3-70B-Instruct-Turbo", 44_000],
  ["ollama/chat", "llama3", 0],
  ["ollama/chat_stream", "llama3", 0],
  // Cohere charges for billed units, not for the 500 tokens of its preamble.
  ["cohere/text", "command-a-03-2025", 100_000],
  ["cohere/text_stream", "command-a-03-2025", 227_500],
  ["cohere/tool_call_stream", "command-a-03-2025", 390_000],
  ["anthropic-messages/mid_system_cache_read", "claude-opus-4-8", 905_000],
  ["anthropic-messages/redacted_thinking_stream", "claude-sonnet-4-5-20250929", 3_111_000],
  ["anthropic-messages/thinking_tool_turn", "claude-sonnet-4-0", 3_588_000],
  ["anthropic-messages/tool_result_image", "claude-sonnet-4-5", 5_520_000],
  ["anthropic-messages/tool_search_stream", "claude-sonnet-4-6", 7_398_000],
  // 2,411 in and 145 out of Sonnet 5; its adviser Opus 4.8 has read 2,543 and written 18.
  ["anthropic-messages/advisor_iterations_stream", "claude-sonnet-5", 6_272_000 + 13_165_000],
  // One web search at a cent.
  ["anthropic-messages/web_search_stream", "claude-haiku-4-5-20251001", 20_017_000],
];

/**
 * Answers of OpenAI's Responses, whose format no adapter reads yet: their counts are told as chat completions tell them.
 * What a web search itself costs is not among the counts.
 */
const RESPONSES: readonly (readonly [recording: string, model: string, nanoUsd: number])[] = [
  ["additional_tools", "gpt-5.6-sol", 160 * 4_000 + 23 * 20_000],
  ["custom_tool_stream", "gpt-5.2-codex", 50 * 1_750 + 20 * 14_000],
  ["namespace_tool_search", "gpt-5.4-2026-03-05", 652 * 2_500 + 44 * 15_000],
  ["parallel_tools", "gpt-5-nano-2025-08-07", 112 * 50 + 284 * 400],
  ["reasoning_text_stream", "gpt-5-nano-2025-08-07", 13 * 50 + 284 * 400],
  ["tool_call_stream", "gpt-5.5-2026-04-23", 63 * 5_000 + 69 * 30_000],
  ["web_search_stream", "gpt-5.2-2025-12-11", 8_234 * 1_750 + 79 * 14_000],
];

/** Recordings that cannot be summed: why. */
const UNPRICED: Readonly<Record<string, string>> = {
  "openai/tool_call_stream": "reports no usage",
  "groq/midstream_error_stream": "fails before it reports usage",
};

function recorded(name: string, model: string): Played {
  const [folder = "", file = ""] = name.split("/");
  const found = readdirSync(`${FOLDER}/${folder}`).find(
    (entry) => entry.startsWith(`${file}.`) && !entry.endsWith(".meta.json"),
  );
  assert.ok(found, name);
  const provider = folder === "anthropic-messages" ? "anthropic" : folder;
  const body = readFileSync(`${FOLDER}/${folder}/${found}`, "utf8");
  return { provider, model, body, streams: !found.endsWith(".json") };
}

/** A gateway with an alias for each model, on a scripted provider, and what each answer costs on it. */
async function till(
  t: Closer,
  models: readonly Pick<Played, "provider" | "model">[],
): Promise<(played: Played) => Promise<number>> {
  const upstream: FakeUpstream = await fakeUpstream();
  t.after(() => upstream.close());
  const names = [...new Set(models.map(({ provider, model }) => `${provider}/${model}`))];
  const providers = [...new Set(models.map(({ provider }) => provider))];
  const prices = PRICES.map(([provider, model, input, output, cached_input = null]) => {
    return { provider, model, input, output, cached_input };
  });
  const credentials = providers.map((provider) => {
    return { name: provider, provider, api_key: PROVIDER_KEY, base_url: upstream.url };
  });
  const aliases = names.map((name, n) => {
    const [provider = "", ...model] = name.split("/");
    return { alias: `a${n}`, provider, model: model.join("/"), credential: provider };
  });
  const g = await startWrapper(t, {}, { root: { prices }, credentials, aliases });
  return async ({ provider, model: name, body, streams }) => {
    const model = `a${names.indexOf(`${provider}/${name}`)}`;
    const key = `spend:${PROJECT}/${model}`;
    const month = monthOf(g.clock.nowMs());
    const { settledNanoUsd: before } = await g.gateway.store.spending(key, month);
    const type = streams
      ? provider === "ollama"
        ? "application/x-ndjson"
        : "text/event-stream"
      : "application/json";
    upstream.answer((response) => void response.writeHead(200, { "content-type": type }).end(body));
    if (streams) await (await g.asStream({ model })).rest();
    else await g.ask({ model });
    const { settledNanoUsd, reservedNanoUsd } = await g.gateway.store.spending(key, month);
    assert.equal(reservedNanoUsd, 0);
    return settledNanoUsd - before;
  };
}

/** The recordings are not part of the repository: without them there is nothing to play. */
const recordedTest = existsSync(FOLDER) ? test : () => undefined;

recordedTest("each recorded answer costs what was summed by hand", async (t) => {
  const played = RECORDED.map(([name, model]) => recorded(name, model));
  const cost = await till({ after: (close) => t.after(close) }, played);
  for (const [n, [name, , expected]] of RECORDED.entries()) {
    const one = played[n];
    assert.ok(one);
    assert.equal(await cost(one), expected, name);
  }
});

/** The last response that a recording holds. */
function lastResponse(name: string): unknown {
  const file = readdirSync(`${FOLDER}/openai-responses`).find(
    (entry) => entry.startsWith(`${name}.`) && !entry.endsWith(".meta.json"),
  );
  assert.ok(file, name);
  const text = readFileSync(`${FOLDER}/openai-responses/${file}`, "utf8");
  if (file.endsWith(".json")) return JSON.parse(text);
  const events = [...text.matchAll(/^data: ?(\{.*\})\s*$/gm)].map(([, json = ""]) => JSON.parse(json));
  return events.map((event: unknown) => at(event, "response")).findLast((one) => at(one, "usage"));
}

function asCompletion(name: string, model: string): Played {
  const response = lastResponse(name);
  const count = (...path: string[]): number => Number(at(response, "usage", ...path) ?? 0);
  const usage = {
    prompt_tokens: count("input_tokens"),
    completion_tokens: count("output_tokens"),
    total_tokens: count("total_tokens"),
    prompt_tokens_details: { cached_tokens: count("input_tokens_details", "cached_tokens") },
  };
  assert.ok(usage.prompt_tokens > 0 && usage.completion_tokens > 0, name);
  return openai(model, usage, { service_tier: at(response, "service_tier") });
}

recordedTest("the counts of each recorded response cost what was summed by hand", async (t) => {
  const played = RESPONSES.map(([name, model]) => asCompletion(name, model));
  const cost = await till({ after: (close) => t.after(close) }, played);
  for (const [n, [name, , expected]] of RESPONSES.entries()) {
    const one = played[n];
    assert.ok(one);
    assert.equal(await cost(one), expected, name);
  }
  const recordings = readdirSync(`${FOLDER}/openai-responses`).filter((file) => !file.endsWith(".meta.json"));
  assert.equal(recordings.length, RESPONSES.length);
});

recordedTest("no recorded answer is left out of the sums without a reason", () => {
  const known = new Set([...RECORDED.map(([name]) => name), ...Object.keys(UNPRICED)]);
  const chats = ["openai", "anthropic", "google", "mistral", "groq", "together", "ollama", "cohere"];
  for (const folder of [...chats, "anthropic-messages"]) {
    for (const file of readdirSync(`${FOLDER}/${folder}`)) {
      const name = `${folder}/${file.replace(/\.\w+$/, "")}`;
      const isAnswer = !file.endsWith(".meta.json") && !file.startsWith("error_");
      if (isAnswer) assert.ok(known.has(name), name);
    }
  }
});

function openai(model: string, usage: object, members: object = {}): Played {
  const choices = [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }];
  return {
    provider: "openai",
    model,
    streams: false,
    body: JSON.stringify({ id: "1", model, choices, usage, ...members }),
  };
}

function anthropic(model: string, usage: object): Played {
  const content = [{ type: "text", text: "Yes." }];
  const body = JSON.stringify({
    id: "1",
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: "end_turn",
    usage,
  });
  return { provider: "anthropic", model, streams: false, body };
}

const TERRA = {
  prompt_tokens: 20_000,
  completion_tokens: 900,
  total_tokens: 20_900,
  prompt_tokens_details: { cached_tokens: 15_000, cache_write_tokens: 4_000 },
};
const HOURLY = {
  input_tokens: 6,
  cache_creation_input_tokens: 14_980,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 14_980 },
  cache_read_input_tokens: 17_922,
  output_tokens: 480,
};
const BILLED = {
  billed_units: { input_tokens: 8, output_tokens: 8 },
  tokens: { input_tokens: 503, output_tokens: 11 },
};

const OWN: readonly (readonly [what: string, played: Played, nanoUsd: number])[] = [
  [
    "cache writes of an hour, reads and output of Sonnet 5.5",
    anthropic("claude-sonnet-5-5", HOURLY),
    12_000 + 59_920_000 + 1_792_200 + 4_800_000,
  ],
  [
    "cache writes of five minutes beside those of an hour",
    anthropic("claude-sonnet-4-5", {
      ...HOURLY,
      cache_creation: { ephemeral_5m_input_tokens: 4_980, ephemeral_1h_input_tokens: 10_000 },
    }),
    6 * 3_000 + 4_980 * 3_750 + 10_000 * 6_000 + 17_922 * 300 + 480 * 15_000,
  ],
  [
    "a web search of Haiku 4.5",
    anthropic("claude-haiku-4-5", {
      input_tokens: 9_447,
      output_tokens: 114,
      server_tool_use: { web_search_requests: 1 },
    }),
    20_017_000,
  ],
  ["cached tokens and cache writes as parts of the prompt", openai("gpt-5.6-terra", TERRA), 25_800_000],
  ["flex at half", openai("gpt-5.6-terra", TERRA, { service_tier: "flex" }), 12_900_000],
  [
    "priority by its own price list, 4 and 24",
    openai("gpt-5.6-terra", TERRA, { service_tier: "priority" }),
    51_600_000,
  ],
  [
    "priority of gpt-5.5, 12.50 and 75",
    openai("gpt-5.5", { prompt_tokens: 100, completion_tokens: 10 }, { service_tier: "priority" }),
    100 * 12_500 + 10 * 75_000,
  ],
  [
    "an ordinary tier at the list price",
    openai("gpt-5.5", { prompt_tokens: 100, completion_tokens: 10 }, { service_tier: "default" }),
    100 * 5_000 + 10 * 30_000,
  ],
  [
    "a prompt above 272,000 tokens",
    openai("gpt-5.6-terra", { prompt_tokens: 300_000, completion_tokens: 1_000, total_tokens: 301_000 }),
    1_218_000_000,
  ],
  [
    "Cohere's billed units",
    {
      provider: "cohere",
      model: "command-a-03-2025",
      streams: false,
      body: JSON.stringify({
        id: "1",
        finish_reason: "COMPLETE",
        message: { role: "assistant", content: [{ type: "text", text: "Yes." }] },
        usage: BILLED,
      }),
    },
    8 * 2_500 + 8 * 10_000,
  ],
];

verifies("cost.vendor-rules", "costs are exact by each vendor's rules", async (t) => {
  const cost = await till(
    t,
    OWN.map(([, played]) => played),
  );
  for (const [what, played, expected] of OWN) assert.equal(await cost(played), expected, what);
});
