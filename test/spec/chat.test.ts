/** The chat surface: routes, requests, answers, prompt, template, listing. */
import assert from "node:assert/strict";
import { uuidV5 } from "../../src/base/ids.ts";
import { assertAnswered, assertRefused, at } from "./kit/client.ts";
import { echoEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
const dispatch = { slug: "chat/completions" };

verifies(
  ["chat.routes", "chat.answer.fields", "chat.request.stream.default"],
  "both routes answer with the chat response object and nothing else",
  async (t) => {
    const g = await startGateway(t);
    g.provider.says("Good day.", {
      id: "chatcmpl-7",
      model: "gpt-4o-mini-2026",
      usage: { prompt: 9, completion: 3 },
    });
    for (const answer of [await g.call(hello), await g.call({ ...hello, endpoint: "ask" }, dispatch)]) {
      assert.equal(answer.status, 200, answer.text);
      assert.match(String(answer.headers["content-type"]), /^application\/json/);
      assert.deepEqual(answer.json, {
        ok: true,
        id: "chatcmpl-7",
        model: "gpt-4o-mini-2026",
        content: "Good day.",
        finish_reason: "stop",
        usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
        meta: { request_id: answer.headers["x-request-id"] },
      });
    }
  },
);

verifies(
  ["chat.dispatcher.endpoint.required", "chat.dispatcher.endpoint.string"],
  "the dispatcher requires the slug of an endpoint",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry({}) });
    for (const body of [hello, { ...hello, endpoint: 7 }, { ...hello, endpoint: null }]) {
      assertRefused(await g.call(body, dispatch), 400, /'endpoint'/);
    }
    assertRefused(
      await g.call({ ...hello, endpoint: "none" }, dispatch),
      404,
      "Endpoint 'none' not found or inactive.",
    );
  },
);

verifies(
  ["chat.endpoint.unknown", "chat.endpoint.inactive", "error.status.404"],
  "an unknown slug and an inactive endpoint are refused alike",
  async (t) => {
    const g = await startGateway(t, { endpoints: [echoEntry({ name: "Off", is_active: false })] });
    for (const slug of ["nowhere", "off", "ASK"]) {
      assertRefused(await g.call(hello, { slug }), 404, `Endpoint '${slug}' not found or inactive.`);
    }
    const dispatched = await g.call({ ...hello, endpoint: "off" }, dispatch);
    assertRefused(dispatched, 404, "Endpoint 'off' not found or inactive.");
  },
);

verifies("chat.reserved", "the reserved paths are routes of their own", async (t) => {
  const g = await startGateway(t, { endpoint: echoEntry({}) });
  assertRefused(await g.call(hello, { slug: "chat/completions" }), 400, /'endpoint'/);
  assertRefused(await g.call(hello, { slug: "endpoints" }), 405, /./);
});

verifies(
  ["chat.request.messages", "prompt.absent", "provider.key-sent"],
  "messages reach the provider as they were sent",
  async (t) => {
    const g = await startGateway(t);
    g.provider.says("Yes.");
    assertAnswered(await g.call(hello));
    assert.deepEqual(g.provider.sent("messages"), [{ role: "user", content: "Hello" }]);
    const messages = [
      { role: "system", content: "Be kind." },
      { role: "user", content: "One" },
      { role: "assistant", content: "Two" },
      { role: "user", content: "Three" },
    ];
    assertAnswered(await g.call({ messages }));
    assert.deepEqual(g.provider.sent("messages"), messages);
    const { headers } = g.provider.last;
    assert.equal(headers["authorization"], `Bearer ${g.provider.key}`);
    assert.ok(!JSON.stringify(headers).includes(TOKENS.web));
  },
);

verifies(
  ["prompt.system-first", "session.resumed", "template.wraps"],
  "the prompt comes first, and the template wraps the last user message alone, at every place",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: {
        prompt: "Answer briefly.",
        user_prompt_template: "Q: {{input}} ({{ input }}, {{  input}})",
      },
    });
    g.provider.says("Yes.");
    const messages = [
      { role: "user", content: "One" },
      { role: "assistant", content: "Two" },
      { role: "user", content: "Three" },
      { role: "assistant", content: "Four" },
    ];
    assertAnswered(await g.call({ messages }));
    assert.deepEqual(g.provider.sent("messages"), [
      { role: "system", content: "Answer briefly." },
      { role: "user", content: "One" },
      { role: "assistant", content: "Two" },
      { role: "user", content: "Q: Three (Three, Three)" },
      { role: "assistant", content: "Four" },
    ]);
  },
);

verifies("template.one-pass", "what a user writes is never a template", async (t) => {
  const g = await startGateway(t, { endpoint: echoEntry({ user_prompt_template: "<{{input}}>" }) });
  for (const text of ["{{input}}", "$& $1 $$ $`", "\\u0041 ${env:HOME}", "{{ input }}{{input}}"]) {
    assert.equal(assertAnswered(await g.call({ message: text })), `<${text}>`);
  }
});

verifies(
  ["chat.settings.sent", "chat.settings.unset"],
  "the endpoint's settings go to the provider, and what is not set is not sent",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: { temperature: 0, top_p: 0.4, max_output_tokens: 77 },
      endpoints: [{ name: "Plain", provider: "openai", model: "gpt-4o-mini", credential: "main" }],
    });
    g.provider.says("Yes.");
    assertAnswered(await g.call(hello));
    assert.equal(g.provider.sent("temperature"), 0);
    assert.equal(g.provider.sent("top_p"), 0.4);
    assert.equal(g.provider.sent("max_completion_tokens") ?? g.provider.sent("max_tokens"), 77);
    assertAnswered(await g.call(hello, { slug: "plain" }));
    assert.equal(g.provider.sent("temperature"), undefined);
    assert.equal(g.provider.sent("top_p"), undefined);
    assert.equal(g.provider.sent("max_completion_tokens") ?? g.provider.sent("max_tokens"), 4096);
  },
);

verifies(
  "chat.request.stream.ignored",
  "a stream is answered in JSON where the endpoint does not stream",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry({ streaming_enabled: false }) });
    const answer = await g.call({ ...hello, stream: true });
    assert.match(String(answer.headers["content-type"]), /^application\/json/);
    assert.equal(assertAnswered(answer), "Hello");
  },
);

verifies("http.traceparent", "a trace continues at the provider", async (t) => {
  const g = await startGateway(t);
  g.provider.says("Yes.");
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  assertAnswered(await g.call(hello, { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } }));
  assert.match(String(g.provider.last.headers["traceparent"]), new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
});

verifies(["listing.shape", "listing.uuid"], "the listing has every endpoint, in config order", async (t) => {
  const uuid = "0d4c6a1e-93f5-4d2b-b0a7-5c1f8e2d3a90";
  const g = await startGateway(t, {
    endpoints: [
      echoEntry({ name: "Zebra crossing", uuid, is_active: false }),
      echoEntry({ name: "Apple", slug: "an-apple", expose_as_mcp_tool: true }),
    ],
  });
  const answer = await g.client.send(`/api/${PROJECT}/endpoints`, { method: "GET", token: TOKENS.admin });
  assert.equal(answer.status, 200);
  const entry = (name: string, slug: string, more = {}): unknown => ({
    uuid: uuidV5(PROJECT, slug),
    name,
    slug,
    is_active: true,
    expose_as_mcp_tool: false,
    ...more,
  });
  assert.deepEqual(answer.json, {
    ok: true,
    data: [
      entry("Ask", "ask"),
      entry("Zebra crossing", "zebra-crossing", { uuid, is_active: false }),
      entry("Apple", "an-apple", { expose_as_mcp_tool: true }),
    ],
  });
  assert.equal(at(answer.json, "data", 0, "uuid"), uuidV5(PROJECT, "ask"));
});
