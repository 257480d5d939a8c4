/** What a provider has no word for: refused by its name, or asked of a failover entry that has one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VENDORS } from "../../providers/vendors.ts";
import { assertRefused, at } from "../../spec/kit/client.ts";
import { assertCompletion, startWrapper, type Wrapper } from "./kit.ts";

type Closer = Parameters<typeof startWrapper>[0];

const MODELS: Readonly<Record<string, string>> = { anthropic: "claude-haiku-4-5", google: "gemini-3-flash" };

function startWith(t: Closer, provider: string, fields: object = {}): Promise<Wrapper> {
  const model = MODELS[provider] ?? "model-1";
  return startWrapper(t, { provider, model, credential: "other", ...fields }, { other: provider });
}

const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
const file = { type: "file", file: { file_data: "data:application/pdf;base64,AAAA" } };
const said = (part: object) => ({
  messages: [{ role: "user", content: [{ type: "text", text: "x" }, part] }],
});
const schema = { type: "object", properties: {} };
const SCHEMA = { response_format: { type: "json_schema", json_schema: { name: "a", schema } } };
const TOOLS = { tools: [{ type: "function", function: { name: "tide" } }] };

/** What may be asked for, by its name in a refusal. */
const ASKED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  n: { n: 2 },
  seed: { seed: 7 },
  stop: { stop: "END" },
  frequency_penalty: { frequency_penalty: 1 },
  presence_penalty: { presence_penalty: 1 },
  user: { user: "u-1" },
  logprobs: { logprobs: true },
  logit_bias: { logit_bias: { "1": 1 } },
  tools: TOOLS,
  tool_choice: { ...TOOLS, tool_choice: "required" },
  parallel_tool_calls: { ...TOOLS, parallel_tool_calls: false },
  response_format: SCHEMA,
  brand_new: { brand_new: { deep: true } },
  "messages[0].name": { messages: [{ role: "user", name: "ada", content: "x" }] },
  "messages[0].content[1]": said(audio),
  "messages[0].content[1] file": said(file),
};

const OF_OPENAI = ["logit_bias", "logprobs", "brand_new", "messages[0].name"];

/** What each provider refuses of it. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  openai: [],
  anthropic: [
    ...OF_OPENAI,
    ...["n", "seed", "frequency_penalty", "presence_penalty", "messages[0].content[1]"],
  ],
  google: [...OF_OPENAI, "n"],
  mistral: [...OF_OPENAI, "messages[0].content[1] file"],
  groq: [
    ...["n", "logprobs", "logit_bias", "frequency_penalty", "presence_penalty", "messages[0].name"],
    ...["messages[0].content[1]", "messages[0].content[1] file", "response_format"],
  ],
  together: ["logprobs", "messages[0].content[1]", "messages[0].content[1] file"],
  ollama: [
    ...[...OF_OPENAI, "n", "tool_choice"],
    ...["messages[0].content[1]", "messages[0].content[1] file"],
  ],
  cohere: [...[...OF_OPENAI, "n"], ...["messages[0].content[1]", "messages[0].content[1] file"]],
};

for (const { key, label, whole } of VENDORS) {
  test(`${key} is asked for what it has words for, and nothing is left out in silence`, async (t) => {
    const g = await startWith(t, key);
    g.provider.answer((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole("Yes.")));
    });
    const refused: string[] = [];
    for (const [field, asked] of Object.entries(ASKED)) {
      const answer = await g.ask(asked);
      if (answer.status === 400) refused.push(field);
      else assert.equal(at(assertCompletion(answer), "content"), "Yes.", field);
      const named = field.replace(" file", "");
      if (answer.status === 400) assertRefused(answer, 400, `Field '${named}' is not supported by ${label}.`);
    }
    assert.deepEqual(refused.sort(), [...(REFUSED[key] ?? [])].sort());
  });
}

test("a field that asks for nothing is not refused, and is not sent to vendors that would refuse it", async (t) => {
  const g = await startWith(t, "mistral");
  g.provider.says("Yes.");
  const usual = {
    n: 1,
    logprobs: false,
    store: false,
    service_tier: "auto",
    frequency_penalty: 0,
    user: null,
  };
  assertCompletion(await g.ask({ ...usual, tool_choice: "auto", parallel_tool_calls: true }));
  const sent = Object.keys(JSON.parse(g.provider.last.body));
  assert.deepEqual(sent.sort(), ["messages", "model"]);
});

test("a failover entry that has no word for it is skipped, and one that has is asked", async (t) => {
  const g = await startWith(t, "anthropic", { failover: [{ credential: "main", model: "gpt-4o" }] });
  // The fake OpenAI behind `main` has no script and answers 500: it was asked, and Anthropic was not.
  assertRefused(await g.ask({ seed: 7 }), 502, /^Provider call failed: OpenAI 500/);
  assert.equal(g.provider.requests.length, 0);
});

test("settings that a model refuses are brought to what it takes, on every surface", async (t) => {
  const g = await startWith(t, "anthropic");
  g.provider.failsWith(500);
  await g.ask({ temperature: 1.8 });
  assert.equal(g.provider.sent("temperature"), 1);
});
