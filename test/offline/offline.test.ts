/** The offline gateway: the real chain over scripted providers, from given states, with time that the case moves. */
import assert from "node:assert/strict";
import {
  chatRequest,
  completionRequest,
  type OfflineGateway,
  proxyRequest,
  toolRequest,
} from "../../src/offline/offline.ts";
import { SPANS_MAX } from "../../src/pipeline/trace.ts";
import { verifies } from "../spec/verifies.ts";
import { EVERY_PROVIDER, GATEWAY, offlineWith, PROVIDERS, PROXY, SUPPORT, WRAPPER } from "./kit.ts";

function ask(offline: OfflineGateway, slug: string, body: Readonly<Record<string, unknown>>) {
  return chatRequest(GATEWAY, slug, body, offline.token(GATEWAY, "1"));
}

for (const provider of PROVIDERS) {
  verifies(
    "offline.wire",
    `a scripted reply is read by the wire format of ${provider}, whole and streamed`,
    async (t) => {
      const offline = await offlineWith(t, EVERY_PROVIDER);
      const run = await offline.case();
      const entry = { chunks: ["one ", "two"], usage: { prompt: 40, completion: 5 } };
      const whole = await run.call(ask(offline, provider, { message: "hi" }), { script: [entry] });
      assert.equal(whole.status, 200, whole.body.toString());
      assert.equal(whole.answer?.content, "one two");
      assert.equal(whole.answer?.finishReason, "stop");
      assert.equal(whole.usage?.promptTokens, 40);
      assert.equal(whole.usage?.completionTokens, 5);
      const [sent] = whole.sent;
      assert.deepEqual(
        sent?.messages.map(({ role, content }) => [role, content]),
        [
          ["system", "Be brief."],
          ["user", "hi"],
        ],
      );
      assert.ok(sent?.body.includes("Be brief."));

      const streamed = await run.call(ask(offline, provider, { message: "hi", stream: true }), {
        script: [entry],
      });
      assert.equal(streamed.status, 200, streamed.body.toString());
      assert.equal(streamed.answer?.content, "one two");
      assert.equal(streamed.usage?.completionTokens, 5);
      assert.ok((streamed.events?.length ?? 0) >= 4, "the pieces are events of their own");
    },
  );

  verifies(
    "offline.wire",
    `scripted tool calls, lengths and errors are read by the wire format of ${provider}`,
    async (t) => {
      const offline = await offlineWith(t, EVERY_PROVIDER);
      const run = await offline.case();
      const request = ask(offline, provider, { message: "hi" });
      const toolCalls = [{ name: "look_up", arguments: { city: "Bern" } }];
      const called = await run.call(request, { script: [{ toolCalls }] });
      assert.equal(called.answer?.finishReason, "tool_calls", called.body.toString());
      assert.deepEqual(
        called.answer?.toolCalls.map(({ name, arguments: json }) => [name, JSON.parse(json)]),
        [["look_up", { city: "Bern" }]],
      );
      const stream = ask(offline, provider, { message: "hi", stream: true });
      const streamed = await run.call(stream, { script: [{ toolCalls }] });
      assert.deepEqual(
        streamed.answer?.toolCalls.map(({ name, arguments: json }) => [name, JSON.parse(json)]),
        [["look_up", { city: "Bern" }]],
      );
      const cut = await run.call(request, { script: [{ reply: "half", finishReason: "length" }] });
      assert.equal(cut.answer?.finishReason, "length");
      const failed = await run.call(request, { script: [{ status: 503 }] });
      assert.equal(failed.status, 502);
      assert.match(failed.error?.message ?? "", /503: scripted status 503/);
      assert.equal(failed.refusedAt, "call");
      const late = await run.call(request, { script: [{ timeout: true }] });
      assert.match(late.error?.message ?? "", /timed out after 60000 ms/);
      assert.equal(late.durationMs, 60_000);
      const broken = await run.call(stream, {
        script: [{ chunks: ["one ", "two ", "three"], disconnectAfterChunks: 2 }],
      });
      assert.equal(broken.answer?.content, "one two ");
      assert.equal(broken.attempts[0]?.status, 200);
      const gone = await run.call(request, { script: [{ disconnect: true }] });
      assert.match(gone.error?.message ?? "", /unreachable/);
    },
  );
}

verifies(
  "offline.chain",
  "guardrails, failover, cost and the bytes sent are those of the real chain",
  async (t) => {
    const offline = await offlineWith(t, SUPPORT);
    const run = await offline.case();
    const request = ask(offline, "summarise", { message: "Write to ann@example.org" });
    const result = await run.call(request, {
      script: [{ status: 503 }, { reply: "Ask bob@example.org.", usage: { prompt: 40, completion: 5 } }],
    });
    assert.equal(result.status, 200);
    assert.equal(result.answer?.content, "Ask [EMAIL].");
    assert.deepEqual(
      result.guardrails.map(({ name, verdict, input, output }) => [name, verdict, input, output]),
      [
        ["pii", "mask", "mask", "mask"],
        ["keyword_blocklist", "pass", "pass", undefined],
      ],
    );
    assert.deepEqual(result.guardrails[0]?.runs[0]?.verdicts[0]?.spans, [[9, 24]]);
    assert.equal(result.guardrails[0]?.runs[0]?.verdicts[0]?.text, undefined, "no text is kept unasked");
    assert.deepEqual(
      result.attempts.map(({ target, status }) => [target, status]),
      [
        ["openai-main/gpt-5-mini", 503],
        ["openai-spare/gpt-5-nano", 200],
      ],
    );
    assert.ok(result.sent.every(({ body }) => !body.includes("ann@example.org")));
    assert.equal(result.sent[1]?.messages.at(-1)?.content, "Text: Write to [EMAIL]");
    assert.equal(result.sent[1]?.settings?.maxOutputTokens, 100);
    assert.equal(result.costNanoUsd, 22_500_000, "45 tokens at 0.5 USD for 1,000");
    assert.deepEqual(result.script, { entries: 2, played: 2, missing: 0 });
  },
);

verifies("trace.verdicts", "a blocked call says which stage, guardrail, rule and span", async (t) => {
  const offline = await offlineWith(t, SUPPORT);
  const run = await offline.case({ keepsTexts: true });
  const result = await run.call(ask(offline, "summarise", { message: "this is forbidden" }));
  assert.equal(result.status, 422);
  assert.equal(result.refusedAt, "guard");
  assert.deepEqual(result.sent, []);
  const [pii, words] = result.guardrails;
  assert.equal(pii?.verdict, "pass");
  assert.equal(words?.verdict, "block");
  const [verdict] = words?.runs[0]?.verdicts ?? [];
  assert.equal(verdict?.reason, "keyword 'forbidden'");
  assert.deepEqual(verdict?.spans, [[8, 17]]);
  assert.equal(verdict?.text, "this is forbidden");
  assert.equal(result.audit[0]?.event, "guardrail.blocked");
});

verifies("offline.chain", "a script with too few or too many answers says so", async (t) => {
  const offline = await offlineWith(t, SUPPORT);
  const run = await offline.case();
  const request = ask(offline, "summarise", { message: "hi" });
  const few = await run.call(request, { script: [{ status: 503 }] });
  assert.deepEqual(few.script, { entries: 1, played: 1, missing: 1 });
  assert.equal(few.status, 502);
  const many = await run.call(request, { script: [{ reply: "ok" }, { reply: "unused" }] });
  assert.deepEqual(many.script, { entries: 2, played: 1, missing: 0 });
});

verifies(
  "offline.given",
  "given spend, calls, revocations, overrides, circuits and conversations are in effect",
  async (t) => {
    const offline = await offlineWith(t, SUPPORT);
    const request = ask(offline, "summarise", { message: "hi" });
    const summarise = { project: GATEWAY, kind: "endpoint", name: "summarise" } as const;
    const spent = await offline.case({
      given: { spent: [{ subject: summarise, nanoUsd: 199_999_900_000 }] },
    });
    const overBudget = await spent.call(request);
    assert.equal(overBudget.status, 402);
    assert.equal(overBudget.refusedAt, "budget");
    assert.match(overBudget.error?.message ?? "", /monthly budget/);

    const token = { project: GATEWAY, kind: "token", name: "1" } as const;
    const poor = await offline.case({ given: { spent: [{ subject: token, nanoUsd: 50_000_000_000 }] } });
    assert.equal((await poor.call(request)).error?.code, "token_budget");

    const triage = { project: GATEWAY, kind: "endpoint", name: "triage" } as const;
    const busy = await offline.case({ given: { calls: [{ subject: triage, count: 2, agoMs: 20_000 }] } });
    const ask2 = ask(offline, "triage", { message: "hi" });
    const script = [{ reply: '{"level":1}' }];
    const limited = await busy.call(ask2, { script });
    assert.equal(limited.status, 429);
    assert.equal(limited.refusedAt, "limit");
    assert.equal(limited.error?.retryAfterSeconds, 40);
    busy.advance(40_000);
    assert.equal((await busy.call(ask2, { script })).status, 200);

    const revoked = await offline.case({ given: { revoked: [{ project: GATEWAY, token: "1" }] } });
    const unknown = await revoked.call(request);
    assert.equal(unknown.status, 401);
    assert.equal(unknown.refusedAt, "authenticate");

    const off = await offline.case({
      given: { overrides: [{ project: GATEWAY, endpoint: "summarise", isActive: false }] },
    });
    const missing = await off.call(request);
    assert.equal(missing.status, 404);
    assert.equal(missing.refusedAt, "request");

    const open = await offline.case({
      given: { openCircuits: [{ project: GATEWAY, credential: "openai-main" }] },
    });
    const skipping = await open.call(request);
    assert.deepEqual(
      skipping.attempts.map(({ outcome }) => outcome),
      ["skipped: circuit open", "ok"],
    );
    open.advance(30_000);
    assert.equal((await open.call(request)).attempts.length, 1);

    const messages = [
      { role: "user", content: "My name is Ann." },
      { role: "assistant", content: "Hello Ann." },
    ] as const;
    const talking = await offline.case({
      given: { sessions: [{ project: GATEWAY, endpoint: "triage", token: "1", messages }] },
    });
    const next = ask(offline, "triage", { message: "again", session_id: talking.sessions[0] });
    const resumed = await talking.call(next, { script });
    assert.deepEqual(
      resumed.sent[0]?.messages.map(({ content }) => content),
      ["You triage.", "My name is Ann.", "Hello Ann.", "again"],
    );
  },
);

verifies("offline.cases", "nothing of a case reaches the next one", async (t) => {
  const offline = await offlineWith(t, SUPPORT);
  const request = ask(offline, "triage", { message: "hi" });
  const ids: unknown[] = [];
  for (let n = 0; n < 3; n++) {
    const run = await offline.case({ startMs: Date.UTC(2026, 10, 22) });
    assert.equal(new Date(run.nowMs).toISOString(), "2026-11-22T00:00:00.000Z");
    for (let k = 0; k < 2; k++) {
      const failed = await run.call(request, { script: [{ status: 503 }] });
      assert.equal(failed.attempts[0]?.outcome, "503: scripted status 503", "the circuit is closed");
      ids.push(failed.headers["x-request-id"]);
    }
    assert.equal((await run.call(request)).status, 429);
    assert.equal((await run.call(ask(offline, "summarise", { message: "hi" }))).audit.length, 0);
  }
  assert.deepEqual(ids.slice(0, 2), ids.slice(2, 4), "ids are the same in every case");
});

verifies(
  "offline.chain",
  "aliases, MCP tools and proxy endpoints are called through their own surfaces",
  async (t) => {
    const offline = await offlineWith(t, SUPPORT);
    const run = await offline.case();
    const alias = completionRequest(WRAPPER, "smart", { message: "hi" }, offline.token(WRAPPER, "3"));
    const completion = await run.call(alias, { script: [{ reply: "Hello." }] });
    assert.equal(completion.answer?.content, "Hello.", completion.body.toString());
    assert.equal(completion.sent[0]?.target, "claude/claude-sonnet-4-5");

    const tool = toolRequest(GATEWAY, "triage", { message: "hi" }, offline.token(GATEWAY, "1"));
    const called = await run.call(tool, { script: [{ reply: '{"level":2}' }] });
    assert.equal(called.answer?.content, '{"level":2}', called.body.toString());

    const proxied = proxyRequest(
      PROXY,
      "items",
      { path: "/list?limit=1", method: "POST", body: { a: 1 } },
      offline.token(PROXY, "4"),
    );
    const answer = await run.call(proxied, {
      upstream: { status: 201, headers: { "x-own": "1" }, body: { items: [] } },
    });
    assert.equal(answer.status, 201, answer.body.toString());
    assert.deepEqual(answer.json, { items: [] });
    assert.equal(answer.headers["x-own"], "1");
    assert.equal(answer.upstream[0]?.path, "/v1/list?limit=1");
    assert.equal(answer.upstream[0]?.body, '{"a":1}');
  },
);

verifies(
  "offline.protections",
  "each protection can be taken out, and calls show which ones are at work",
  async (t) => {
    const offline = await offlineWith(t, SUPPORT);
    const labels = offline.protections.map(({ owner, label }) => `${owner.name}: ${label}`);
    assert.deepEqual(labels, [
      "summarise: pii",
      "summarise: keyword_blocklist",
      "summarise: monthly_budget_usd",
      "summarise: failover openai-spare/gpt-5-nano",
      "triage: rate_limit_per_minute",
      "triage: usage_hard_limit_tokens",
      "triage: input_schema",
      "triage: output_schema",
      "triage: tool triage",
      "1: budget of token web",
      "smart: smart",
      "smart: rate_limit_per_minute",
      "items: rate_limit_per_minute",
    ]);
    const idOf = (label: string): string => {
      const found = offline.protections.find(({ owner, label: own }) => `${owner.name}: ${own}` === label);
      assert.ok(found !== undefined, label);
      return found.id;
    };
    const blocked = ask(offline, "summarise", { message: "this is forbidden, ann@example.org" });
    const whole = await (await offline.case()).call(blocked);
    assert.deepEqual(whole.shown, [
      { id: idOf("summarise: pii"), way: "acts" },
      { id: idOf("summarise: keyword_blocklist"), way: "acts" },
    ]);
    const without = await offline.case({ without: idOf("summarise: keyword_blocklist") });
    assert.equal((await without.call(blocked)).status, 200);
    const noFailover = await offline.case({ without: idOf("summarise: failover openai-spare/gpt-5-nano") });
    const failed = await noFailover.call(ask(offline, "summarise", { message: "hi" }), {
      script: [{ status: 503 }],
    });
    assert.equal(failed.attempts.length, 1);
    const tokenSum = { project: GATEWAY, kind: "token", name: "1" } as const;
    const given = { spent: [{ subject: tokenSum, nanoUsd: 60_000_000_000 }] };
    const uncapped = await offline.case({ without: idOf("1: budget of token web"), given });
    assert.equal((await uncapped.call(ask(offline, "summarise", { message: "hi" }))).status, 200);
    const script = [{ reply: "no JSON" }];
    const checked = await (await offline.case()).call(ask(offline, "triage", { message: "hi" }), { script });
    assert.equal(checked.refusedAt, "check");
    const unchecked = await offline.case({ without: idOf("triage: output_schema") });
    assert.equal((await unchecked.call(ask(offline, "triage", { message: "hi" }), { script })).status, 200);
    for (const { id, isRemovable } of offline.protections)
      if (isRemovable) await offline.case({ without: id });
  },
);

verifies(
  "offline.closed",
  "webhook guardrails, MCP servers and fetches of plugins are refused and named",
  async (t) => {
    const yaml = SUPPORT.replace(
      "- { use: keyword_blocklist, keywords: [forbidden] }",
      "- { use: webhook, url: 'https://judge.example.com/secret-path', on_error: allow }",
    ).replace(
      "    credentials:\n      - { name: openai-main",
      "    mcp_servers:\n      - { name: Files, url: 'https://files.example.com/mcp' }\n    credentials:\n      - { name: openai-main",
    );
    const offline = await offlineWith(t, yaml);
    const run = await offline.case();
    const result = await run.call(ask(offline, "summarise", { message: "hi" }));
    assert.equal(result.status, 200);
    assert.equal(result.guardrails[1]?.verdict, "error");
    assert.deepEqual(result.closed, ["a request to https://judge.example.com"]);
    const token = offline.token(GATEWAY, "1");
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const listed = await run.call({
      ...toolRequest(GATEWAY, "x", {}, token),
      body: JSON.stringify(list),
    });
    assert.equal(listed.status, 200, listed.body.toString());
    assert.deepEqual(listed.closed, ["the tools of MCP server 'Files'"]);
  },
);

verifies(
  "offline.chain",
  "a plugin that takes its own time keeps its deadline, by the case's clock",
  async (t) => {
    const plugin = `
    import { defineGuardrail } from "sluice/plugin";
    export default defineGuardrail({
      name: "slow", description: "Takes its time.", schema: { type: "object" }, examples: [{}],
      setup: (_options, host) => ({
        judge: (text) => new Promise((resolve) => host.clock.after(text === "late" ? 10_000 : 20, () => resolve(undefined))),
      }),
    });`;
    const yaml = SUPPORT.replace("version: 1", "version: 1\nplugins: [./slow.mjs]").replace(
      "- { use: keyword_blocklist, keywords: [forbidden] }",
      "- { use: slow, timeout_ms: 100 }",
    );
    const offline = await offlineWith(t, yaml, { "slow.mjs": plugin });
    const run = await offline.case();
    const quick = await run.call(ask(offline, "summarise", { message: "soon" }));
    assert.equal(quick.status, 200, quick.body.toString());
    const late = await run.call(ask(offline, "summarise", { message: "late" }));
    assert.equal(late.guardrails[1]?.verdict, "error", late.body.toString());
    assert.equal(late.refusedAt, "guard");
  },
);

verifies(
  "trace.verdicts",
  "a text with many findings is traced with their number and the first spans",
  async (t) => {
    const offline = await offlineWith(t, SUPPORT);
    const run = await offline.case();
    const message = Array.from({ length: 50 }, (_, n) => `mail${n}@example.org`).join(" ");
    const result = await run.call(ask(offline, "summarise", { message }));
    const [verdict] = result.guardrails[0]?.runs[0]?.verdicts ?? [];
    assert.equal(verdict?.places, 50);
    assert.equal(verdict?.spans.length, SPANS_MAX);
    assert.equal(result.audit.length, 0);
  },
);

verifies(
  "offline.wire",
  "a third party's own wire format takes raw answers and recordings, and says so of replies",
  async (t) => {
    const plugin = `
    import { defineProvider, failure } from "sluice/provider";
    const read = (text) => {
      const { words } = JSON.parse(text);
      return words === undefined
        ? failure({ status: undefined, reason: "no words", retryable: false, accepted: true })
        : { id: "1", model: "m", content: words, finishReason: "stop" };
    };
    export default defineProvider({
      name: "acme", label: "Acme", description: "Words.", schema: { type: "object" }, examples: [{}],
      defaultBaseUrl: "https://acme.example.com", needsApiKey: false,
      setup: () => ({
        framing: "ndjson",
        encode: (request, credential) => ({
          method: "POST", url: credential.baseUrl, headers: {}, body: JSON.stringify({ ask: request.messages }),
        }),
        decode: read,
        failure: (status) => failure({ status, reason: "failed", retryable: true, accepted: false }),
        decoder: () => ({ id: "", model: "", complete: false, event: () => undefined }),
      }),
    });`;
    const yaml = SUPPORT.replace("version: 1", "version: 1\nplugins: [./acme.mjs]")
      .replace("{ name: openai-main, provider: openai,", "{ name: openai-main, provider: acme,")
      .replaceAll(
        "        provider: openai\n        model: gpt-5-mini",
        "        provider: acme\n        model: gpt-5-mini",
      );
    const offline = await offlineWith(t, yaml, { "acme.mjs": plugin });
    const run = await offline.case();
    const request = ask(offline, "summarise", { message: "hi" });
    const raw = await run.call(request, { script: [{ json: { words: "Raw." } }] });
    assert.equal(raw.answer?.content, "Raw.", raw.body.toString());
    const recording = Buffer.from('{"words":"Recorded."}');
    assert.equal((await run.call(request, { script: [{ recording }] })).answer?.content, "Recorded.");
    const reply = await run.call(request, { script: [{ reply: "ok" }, { reply: "The spare." }] });
    assert.equal(reply.answer?.content, "The spare.");
    assert.match(reply.closed.join(), /a reply of provider 'acme', whose wire format is its own/);
  },
);
