/** The order of the steps, JSON schemas at both ends, and what a third party's stage may do. */
import assert from "node:assert/strict";
import { assertAnswered, assertRefused, at } from "./kit/client.ts";
import { echoEntry } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

verifies(
  ["order.input-steps", "order.no-later-step"],
  "of several refusals the earliest step's is answered, and no later step runs",
  async (t) => {
    const wrong = { message: "forbidden", mood: "bad" };
    const strict = {
      guardrails: [{ use: "keyword_blocklist", keywords: ["forbidden"] }],
      input_schema: { properties: { mood: { const: "good" } } },
      max_output_tokens: 10,
      estimated_cost_per_1k_tokens_usd: 1,
    };
    const g = await startGateway(t, {
      endpoint: { ...strict, monthly_budget_usd: 0.001 },
      endpoints: [{ name: "Free", provider: "openai", model: "gpt-4o-mini", credential: "main", ...strict }],
    });
    g.provider.says("Yes.");
    assertRefused(await g.call(wrong), 402, /^Endpoint monthly budget/);
    assertRefused(await g.call(wrong, { slug: "free" }), 422, /keyword/);
    assertRefused(
      await g.call({ message: "fine", mood: "bad" }, { slug: "free" }),
      422,
      /^Validation failed: /,
    );
    assert.equal(g.provider.requests.length, 0);
    assertAnswered(await g.call({ message: "fine", mood: "good" }, { slug: "free" }));
    assert.equal(g.provider.requests.length, 1);
  },
);

verifies("order.template-after-guardrails", "prompt and template are not judged", async (t) => {
  const g = await startGateway(t, {
    endpoint: echoEntry({
      prompt: "Never say sombra.",
      user_prompt_template: "sombra: {{input}}",
      guardrails: [
        { use: "keyword_blocklist", keywords: ["sombra"] },
        { use: "content_length", max: 5 },
      ],
    }),
  });
  assert.equal(assertAnswered(await g.call({ message: "Hello" })), "sombra: Hello");
});

verifies(
  ["schema.input.body", "schema.input.message", "schema.draft-2020"],
  "the input schema judges the whole body, and the refusal holds the first errors",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: echoEntry({
        input_schema: {
          type: "object",
          required: ["ticket"],
          properties: {
            ticket: { type: "integer", minimum: 1 },
            tags: { prefixItems: [{ const: "first" }] },
          },
        },
      }),
    });
    assertAnswered(await g.call({ message: "Hello", ticket: 1, tags: ["first", "more"] }));
    const refused = await g.call({ message: "Hello", ticket: "7", tags: ["second"] });
    assertRefused(refused, 422, /^Validation failed: .*ticket/);
    const detail = String(at(refused.json, "detail"));
    assert.match(detail, /ticket [^;]+; .*tags.+/);
    assert.equal(at(refused.json, "error"), `Validation failed: ${detail.split("; ")[0]}`);
    const other = await g.call("{");
    assert.equal(at(other.json, "detail"), undefined);
  },
);

verifies(
  "schema.own-properties",
  "a property that every object inherits is not one of the body's",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry({ input_schema: { required: ["toString"] } }) });
    assertRefused(await g.call({ message: "Hello" }), 422, /toString/);
    assertAnswered(await g.call({ message: "Hello", toString: 1 }));
  },
);

verifies("schema.draft-07", "a draft-07 schema is read as one", async (t) => {
  // In draft-07 an array of `items` holds place by place; in 2020-12 that is no valid schema.
  const input_schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    properties: { tags: { items: [{ const: "first" }] } },
  };
  const g = await startGateway(t, { endpoint: echoEntry({ input_schema }) });
  assertAnswered(await g.call({ message: "Hello", tags: ["first", 2] }));
  assertRefused(await g.call({ message: "Hello", tags: ["second"] }), 422, /^Validation failed: /);
});

verifies(
  ["schema.output.json", "schema.output.told", "http.retry.502"],
  "an answer that does not match the schema is a 502",
  async (t) => {
    const output_schema = {
      type: "object",
      required: ["title"],
      properties: { title: { type: "string" } },
      additionalProperties: false,
    };
    const g = await startGateway(t, { endpoint: { output_schema } });
    g.provider.says('{"title":"Good"}');
    assert.equal(assertAnswered(await g.call({ message: "Hello" })), '{"title":"Good"}');
    assert.deepEqual(at(g.provider.sent("response_format"), "json_schema", "schema"), output_schema);
    g.provider.says('{"title":7}');
    const wrong = await g.call({ message: "Hello" });
    assertRefused(wrong, 502, /^Validation failed: .*title/);
    assert.equal(wrong.headers["x-should-retry"], "true");
    assert.match(String(at(wrong.json, "detail")), /title/);
    g.provider.says("Good");
    assertRefused(await g.call({ message: "Hello" }), 502, /^Validation failed: /);
  },
);

verifies("schema.output.string", "a schema of type string judges the text as it is", async (t) => {
  const g = await startGateway(t, { endpoint: { output_schema: { type: "string", maxLength: 3 } } });
  g.provider.says("Yes");
  assert.equal(assertAnswered(await g.call({ message: "Hello" })), "Yes");
  g.provider.says("Maybe");
  assertRefused(await g.call({ message: "Hello" }), 502, /^Validation failed: /);
});

/** A stage as a stranger writes it, without importing anything. */
function stageModule(name: string, stage: string, hooks: string): string {
  return `export default {
    api: 1, kind: "stage", name: "${name}", stage: "${stage}", description: "A test's own.", examples: [],
    schema: { type: "object" },
    setup(options, host) { return { ${hooks} }; },
  };`;
}

verifies(
  ["stage.plugin.position", "config.plugin.local"],
  "third-party stages run at their stage, in the order of the YAML, .ts and .js alike",
  async (t) => {
    const mark = (name: string): string =>
      `request(x) { x.messages = x.messages.map((m) => ({ ...m, content: m.content + " ${name}" })); }`;
    const g = await startGateway(t, {
      files: {
        "plugins/late.ts": stageModule("late", "prepare", mark("late")),
        "plugins/first.js": stageModule("first", "guard", mark("first")),
        "plugins/second.ts": stageModule("second", "guard", mark("second")),
      },
      root: { plugins: ["./plugins/late.ts", "./plugins/first.js", "./plugins/second.ts"] },
      project: { stages: [{ use: "late" }, { use: "second" }] },
      endpoint: echoEntry({ stages: [{ use: "first" }] }),
    });
    const text = assertAnswered(await g.call({ message: "Marks:" }));
    assert.equal(text.split(" ").at(-1), "late");
    assert.deepEqual(new Set(text.split(" ")), new Set(["Marks:", "first", "second", "late"]));
  },
);

verifies(
  ["stage.plugin.refuse", "stage.plugin.answer"],
  "a third party's stage may refuse, or answer without a provider",
  async (t) => {
    const brand = 'Symbol.for("sluice.GatewayError")';
    const refuse = `request(x) {
      if (!x.received[0].content.includes("tea")) return undefined;
      return { [${brand}]: true, code: "teapot", status: 418, message: "I am a teapot.", extras: {} };
    }`;
    const answer = `request(x) {
      if (!x.received[0].content.includes("time")) return undefined;
      return { id: "cached-1", model: "none", content: "Noon.", finishReason: "stop",
        usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 } };
    }`;
    const g = await startGateway(t, {
      files: {
        "refuses.ts": stageModule("refuses", "guard", refuse),
        "answers.ts": stageModule("answers", "prepare", answer),
      },
      root: { plugins: ["./refuses.ts", "./answers.ts"] },
      endpoint: { stages: [{ use: "refuses" }, { use: "answers" }] },
    });
    g.provider.says("Yes.");
    assertRefused(await g.call({ message: "Some tea?" }), 418, "I am a teapot.");
    assert.equal(assertAnswered(await g.call({ message: "What time is it?" })), "Noon.");
    assert.equal(g.provider.requests.length, 0);
    assert.equal(assertAnswered(await g.call({ message: "Well?" })), "Yes.");
  },
);

verifies(
  ["http.error.internal", "error.status.500", "http.retry.500"],
  "a stage that throws is a 500 without its error",
  async (t) => {
    const throws = `request() { throw new Error("password hunter2 at /srv/plugins"); }`;
    const rejects = `async request() { throw new Error("password hunter2"); }`;
    const g = await startGateway(t, {
      files: {
        "throws.ts": stageModule("throws", "validate", throws),
        "rejects.ts": stageModule("rejects", "validate", rejects),
      },
      root: { plugins: ["./throws.ts", "./rejects.ts"] },
      endpoint: echoEntry({ stages: [{ use: "throws" }] }),
      endpoints: [echoEntry({ name: "Later", stages: [{ use: "rejects" }] }), echoEntry({ name: "Sound" })],
    });
    for (const slug of ["ask", "later"]) {
      const answer = await g.call({ message: "Hello" }, { slug });
      assertRefused(answer, 500, /./);
      assert.doesNotMatch(answer.text, /hunter2|srv|Error:|at /);
      assert.equal(answer.headers["x-should-retry"], "true");
    }
    assertAnswered(await g.call({ message: "Hello" }, { slug: "sound" }));
  },
);

verifies("http.retry.never", "errors that a retry cannot resolve have x-should-retry: false", async (t) => {
  const g = await startGateway(t, {
    endpoint: echoEntry({ usage_hard_limit_tokens: 1 }),
    endpoints: [echoEntry({ name: "Poor", monthly_budget_usd: 0, estimated_cost_per_1k_tokens_usd: 1 })],
  });
  const hello = { message: "Hello" };
  const answers = [
    [401, await g.call(hello, { token: "gw_live_nobody" })],
    [402, await g.call(hello, { slug: "poor" })],
    [403, await g.call(hello, { token: "gw_live_other0Project7" })],
    [404, await g.call(hello, { slug: "nowhere" })],
    [405, await g.call(hello, { method: "PUT" })],
    [422, await g.call(hello)],
  ] as const;
  for (const [status, answer] of answers) {
    assertRefused(answer, status, /./);
    assert.equal(answer.headers["x-should-retry"], "false", String(status));
  }
});
