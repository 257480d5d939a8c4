/** What changes how an answer is made and not what it means: it reaches who knows it, and is left out elsewhere. */
import assert from "node:assert/strict";
import { jsonAnswer, sseAnswer } from "../../../src/testing/fake-upstream.ts";
import { VENDORS } from "../../providers/vendors.ts";
import { assertRefused, at } from "../../spec/kit/client.ts";
import type { Closer } from "../../spec/kit/gateway.ts";
import { verifies } from "../../spec/verifies.ts";
import { assertCompletion, startWrapper, type Wrapper } from "./kit.ts";

const MARK = { type: "ephemeral" };
const TOOLS = [{ type: "function", function: { name: "tide" } }];

async function on(t: Closer, provider: string, model: string): Promise<Wrapper> {
  const g = await startWrapper(t, { provider, model, credential: "other" }, { other: provider });
  const vendor = VENDORS.find(({ key }) => key === provider);
  g.provider.answer(jsonAnswer(vendor?.whole("Yes.") ?? {}));
  return g;
}

function sent(g: Wrapper): unknown {
  return JSON.parse(g.provider.last.body);
}

verifies("wrapper.hints", "hints that a vendor does not know are left out, and named", async (t) => {
  const part = { type: "text", text: "Hi", cache_control: MARK };
  const asked = {
    messages: [{ role: "user", content: [part] }],
    ...{ user: "u-1", tools: TOOLS, parallel_tool_calls: false, reasoning_effort: "low" },
  };
  const rows: readonly [provider: string, dropped: readonly string[]][] = [
    ["google", ["user", "parallel_tool_calls", "reasoning_effort", "cache_control"]],
    ["cohere", ["user", "parallel_tool_calls", "reasoning_effort", "cache_control"]],
    ["ollama", ["user", "parallel_tool_calls", "reasoning_effort", "cache_control"]],
    ["mistral", ["user", "cache_control"]],
    ["anthropic", ["reasoning_effort"]],
    ["openai", []],
  ];
  for (const [provider, dropped] of rows) {
    const g = await on(t, provider, "model-1");
    const answer = await g.ask(asked);
    assertCompletion(answer);
    const header = dropped.length === 0 ? undefined : dropped.map((field) => `dropped:${field}`).join(", ");
    assert.equal(answer.headers["x-sluice-warnings"], header, provider);
    const line: unknown = JSON.parse(g.lines.findLast((one) => one.includes('"attempts"')) ?? "{}");
    assert.deepEqual(
      at(line, "attempts", 0, "dropped"),
      dropped.length === 0 ? undefined : dropped,
      provider,
    );
    const body = g.provider.last.body;
    for (const field of dropped) assert.ok(!body.includes(`"${field}":`), `${provider} was sent ${field}`);
  }
});

verifies(
  "wrapper.hints.mapped",
  "cache marks reach Anthropic: of parts, results, tools and the system",
  async (t) => {
    const g = await on(t, "anthropic", "claude-haiku-4-5");
    const marked = (text: string): object => ({ type: "text", text, cache_control: MARK });
    await g.ask({
      messages: [
        { role: "system", content: [marked("Be brief.")] },
        { role: "user", content: [marked("Hi"), { type: "text", text: "there" }] },
        {
          role: "assistant",
          tool_calls: [{ id: "c1", type: "function", function: { name: "tide", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "high", cache_control: MARK },
      ],
      tools: [{ ...TOOLS[0], cache_control: MARK }],
    });
    assert.deepEqual(at(sent(g), "system"), [marked("Be brief.")]);
    assert.deepEqual(at(sent(g), "messages", 0, "content"), [marked("Hi"), { type: "text", text: "there" }]);
    assert.deepEqual(at(sent(g), "messages", 2, "content", 0, "cache_control"), MARK);
    assert.deepEqual(at(sent(g), "tools", 0, "cache_control"), MARK);
  },
);

verifies("wrapper.hints.mapped", "an effort is told in each vendor's own words", async (t) => {
  const rows: readonly [provider: string, model: string, effort: string, path: string[], value: unknown][] = [
    ["anthropic", "claude-opus-4-6", "medium", ["output_config", "effort"], "medium"],
    ["google", "gemini-2.5-flash", "low", ["generationConfig", "thinkingConfig", "thinkingBudget"], 1024],
    ["google", "gemini-2.5-pro", "none", ["generationConfig", "thinkingConfig", "thinkingBudget"], 128],
    ["google", "gemini-3-flash", "medium", ["generationConfig", "thinkingConfig", "thinkingLevel"], "MEDIUM"],
    ["google", "gemini-3-pro", "medium", ["generationConfig", "thinkingConfig", "thinkingLevel"], "HIGH"],
    ["ollama", "gpt-oss:20b", "high", ["think"], "high"],
    ["ollama", "qwen3:8b", "none", ["think"], false],
    ["cohere", "command-a-reasoning-08-2025", "none", ["thinking", "type"], "disabled"],
    ["mistral", "magistral-small", "high", ["reasoning_effort"], "high"],
    ["openai", "gpt-5-mini", "low", ["reasoning_effort"], "low"],
  ];
  for (const [provider, model, reasoning_effort, path, value] of rows) {
    const g = await on(t, provider, model);
    const answer = await g.ask({ reasoning_effort });
    assertCompletion(answer);
    assert.equal(answer.headers["x-sluice-warnings"], undefined, model);
    assert.deepEqual(at(sent(g), ...path), value, model);
  }
});

verifies("wrapper.hints.mapped", "JSON mode with a schema is a schema, wherever there is one", async (t) => {
  const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
  const response_format = { type: "json_object", schema };
  const rows: readonly [provider: string, model: string, path: string[], value: unknown][] = [
    ["openai", "gpt-4o-mini", ["response_format", "json_schema", "schema"], schema],
    ["together", "m", ["response_format", "json_schema", "schema"], schema],
    ["groq", "llama-3.3-70b", ["response_format"], { type: "json_object" }],
    ["google", "gemini-3-flash", ["generationConfig", "responseJsonSchema"], schema],
    ["ollama", "m", ["format"], schema],
    ["cohere", "m", ["response_format", "json_schema"], schema],
  ];
  for (const [provider, model, path, value] of rows) {
    const g = await on(t, provider, model);
    assertCompletion(await g.ask({ response_format }));
    assert.deepEqual(at(sent(g), ...path), value, provider);
  }
});

verifies(
  "wrapper.hints.mapped",
  "Anthropic's models give JSON to a forced tool where they cannot be told a schema, and the client sees text",
  async (t) => {
    const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    const input = { a: "tea" };
    for (const [model, response_format, wanted] of [
      ["claude-3-5-haiku-latest", { type: "json_schema", json_schema: { name: "x", schema } }, schema],
      ["claude-haiku-4-5", { type: "json_object" }, { type: "object" }],
      ["claude-3-5-haiku-latest", { type: "json_object", schema }, schema],
    ] as const) {
      const alias = { provider: "anthropic", model, credential: "other" };
      const g = await startWrapper(t, alias, { other: "anthropic" });
      const usage = { input_tokens: 3, output_tokens: 2 };
      const block = { type: "tool_use", id: "t1", name: "gateway_json_answer", input };
      const head = { id: "msg_1", type: "message", role: "assistant", model };
      g.provider.answer(jsonAnswer({ ...head, content: [block], stop_reason: "tool_use", usage }));
      const message = assertCompletion(await g.ask({ response_format }));
      assert.deepEqual(JSON.parse(String(at(message, "content"))), input);
      assert.equal(at(message, "tool_calls"), undefined);
      assert.deepEqual(at(sent(g), "tools", 0, "input_schema"), wanted);
      assert.deepEqual(at(sent(g), "tool_choice"), { type: "tool", name: "gateway_json_answer" });
      const delta = (partial_json: string): object => ({
        ...{ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json } },
      });
      g.provider.answer(
        sseAnswer([
          { type: "message_start", message: { ...head, content: [], usage } },
          { type: "content_block_start", index: 0, content_block: { ...block, input: {} } },
          delta('{"a":'),
          delta('"tea"}'),
          { type: "content_block_stop", index: 0 },
          { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
          { type: "message_stop" },
        ]),
      );
      const events = await (await g.asStream({ response_format })).rest();
      const chunks = events.slice(0, -1).map((event): unknown => JSON.parse(event));
      const text = chunks.map((chunk) => at(chunk, "choices", 0, "delta", "content") ?? "").join("");
      assert.deepEqual(JSON.parse(text), input);
      assert.ok(chunks.some((chunk) => at(chunk, "choices", 0, "finish_reason") === "stop"));
    }
  },
);

const CALL = { id: "c1", type: "function", function: { name: "tide", arguments: "{}" } };
const CALLED = { role: "assistant", content: null, tool_calls: [CALL] };
const RESULT = { role: "tool", tool_call_id: "c1", content: "high" };

verifies(
  "wrapper.echo",
  "members that SDKs add to an answer are dropped when it is sent back, with a guardrail too",
  async (t) => {
    const kept = {
      annotations: [{ type: "url_citation", url_citation: { url: "https://tea.example/" } }],
      provider_specific_fields: { refusal: null, note: "kept by the client" },
      thinking_blocks: [{ type: "thinking", thinking: "Hm." }],
      parsed: { kettle: true },
    };
    const called = { ...CALL, function: { ...CALL.function, parsed_arguments: { port: "Brest" } } };
    const messages = [{ role: "user", content: "Hi" }, { ...CALLED, ...kept, tool_calls: [called] }, RESULT];
    for (const provider of ["openai", "anthropic", "google", "mistral", "ollama", "cohere"]) {
      for (const guardrails of [[], [{ use: "pii", mode: "mask", kinds: ["email"] }]]) {
        const alias = { provider, model: "model-1", credential: "other", guardrails };
        const g = await startWrapper(t, alias, { other: provider });
        const vendor = VENDORS.find(({ key }) => key === provider);
        g.provider.answer(jsonAnswer(vendor?.whole("Yes.") ?? {}));
        assertCompletion(await g.ask({ messages, tools: TOOLS }));
        for (const member in kept)
          assert.ok(!g.provider.last.body.includes(member), `${provider}: ${member}`);
      }
    }
  },
);

verifies("wrapper.echo", "a tool's result may name the tool, which its call names already", async (t) => {
  for (const provider of [
    "openai",
    "anthropic",
    "google",
    "mistral",
    "groq",
    "together",
    "ollama",
    "cohere",
  ]) {
    const g = await on(t, provider, "model-1");
    const messages = [{ role: "user", content: "Hi" }, CALLED, { ...RESULT, name: "tide" }];
    const answer = await g.ask({ messages, tools: TOOLS });
    assertCompletion(answer);
    assert.equal(answer.headers["x-sluice-warnings"], undefined, provider);
  }
});

verifies("wrapper.echo", "thoughts that are sent back are left out where a vendor takes none", async (t) => {
  const thoughts = {
    reasoning_content: "Hm.",
    reasoning: "Hm.",
    reasoning_details: [{ type: "x", text: "Hm." }],
  };
  const messages = [{ role: "user", content: "Hi" }, { ...CALLED, ...thoughts }, RESULT];
  for (const provider of ["anthropic", "google", "ollama", "cohere", "mistral"]) {
    const g = await on(t, provider, "model-1");
    const answer = await g.ask({ messages, tools: TOOLS });
    assertCompletion(answer);
    const dropped = Object.keys(thoughts).map((member) => `dropped:${member}`);
    assert.equal(answer.headers["x-sluice-warnings"], dropped.join(", "), provider);
    assert.ok(!g.provider.last.body.includes("Hm."), provider);
  }
  const g = await on(t, "openai", "model-1");
  assertCompletion(await g.ask({ messages, tools: TOOLS }));
  assert.equal(at(sent(g), "messages", 1, "reasoning_content"), "Hm.");
});

verifies(
  "wrapper.field.impossible",
  "an image by address for Ollama, and a silent conversation, name their field",
  async (t) => {
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    const ollama = await on(t, "ollama", "llava");
    const looked = await ollama.ask({
      messages: [{ role: "user", content: [{ type: "text", text: "See" }, image] }],
    });
    assertRefused(looked, 400, "Field 'messages[0].content[1].image_url' is not supported by Ollama.");
    for (const [provider, label] of [
      ["anthropic", "Anthropic"],
      ["google", "Google"],
    ] as const) {
      const g = await on(t, provider, "m");
      const messages = [
        { role: "system", content: "Be brief." },
        { role: "user", content: "" },
      ];
      const silent = await g.ask({ messages });
      assertRefused(silent, 400, `Field 'messages[1].content' is not supported by ${label}.`);
      assert.equal(g.provider.requests.length, 0);
    }
  },
);
