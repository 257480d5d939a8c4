/** Asking providers: failures and their words, failover, disabled and inactive ones, the mock. */
import assert from "node:assert/strict";
import { monthOf } from "../../src/base/month.ts";
import { ConfigError } from "../../src/index.ts";
import {
  fakeUpstream,
  garbageAnswer,
  hangUpAnswer,
  jsonAnswer,
  type ScriptedAnswer,
  sseAnswer,
  stallAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { echoEntry, PROJECT, PROVIDER_KEY } from "./kit/config.ts";
import { chunksOf, textOf } from "./kit/event-stream.ts";
import { startGateway, timersSettled } from "./kit/gateway.ts";
import { chunk, completion } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
const failover = [{ credential: "main", model: "gpt-4o" }];

verifies(
  ["failure.status", "error.status.502", "failover.not-on.4xx"],
  "a provider's error is a 502 with its label, status and reason; a 4xx of it is not tried elsewhere",
  async (t) => {
    const g = await startGateway(t, { endpoint: { failover } });
    for (const status of [400, 401, 403, 404, 413]) {
      const asked = g.provider.requests.length;
      g.provider.failsWith(status, "no such thing");
      const answer = await g.call(hello);
      assertRefused(answer, 502, `Provider call failed: OpenAI ${status}: no such thing`);
      assert.equal(g.provider.requests.length, asked + 1, String(status));
    }
  },
);

/** What moves a call on to the next entry, by name. */
const MOVES_ON: Readonly<Record<string, ScriptedAnswer>> = {
  "500": statusAnswer(500),
  "502": statusAnswer(502, "<html>Bad gateway</html>"),
  "503": statusAnswer(503),
  "529": statusAnswer(529),
  "429": statusAnswer(429, { error: { message: "slow down" } }, { "retry-after": "7" }),
  "408": statusAnswer(408),
  reset: hangUpAnswer(),
  garbage: garbageAnswer(),
  "200 that is no JSON": jsonAnswer("<html>Welcome</html>"),
  "200 that is another JSON": jsonAnswer({ hello: "world" }),
  "200 that is cut": jsonAnswer('{"id":"chatcmpl-1","choices":[{"mess'),
};

verifies(
  ["failover.order", "failover.settings", "failover.on.failure"],
  "each retryable failure fails over to the next entry, with the endpoint's settings",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: { temperature: 0.3, top_p: 0.4, max_output_tokens: 77, failover },
    });
    for (const [name, answer] of Object.entries(MOVES_ON)) {
      const asked = g.provider.requests.length;
      // A connection that closes at once, having been idle, is taken for an idle one that was closed: asked once more.
      const answers = name === "reset" ? [answer, answer] : [answer];
      g.provider.answer(...answers, jsonAnswer(completion("From the second.", { model: "gpt-4o" })));
      const reply = await g.call(hello);
      assert.equal(assertAnswered(reply), "From the second.", name);
      assert.equal(at(reply.json, "model"), "gpt-4o");
      const bodies = g.provider.requests.slice(asked).map(({ body }): unknown => JSON.parse(body));
      assert.deepEqual(
        bodies.map((body) => at(body, "model")),
        [...answers.map(() => "gpt-4o-mini"), "gpt-4o"],
        name,
      );
      for (const body of bodies) {
        assert.equal(at(body, "temperature"), 0.3);
        assert.equal(at(body, "top_p"), 0.4);
        assert.equal(at(body, "max_completion_tokens") ?? at(body, "max_tokens"), 77);
      }
      assert.deepEqual(at(bodies[0], "messages"), at(bodies.at(-1), "messages"));
      // The 429 asks for 7 s without calls; an answer of the first keeps its circuit closed.
      g.clock.advance(7000);
      g.provider.says("Yes.");
      assert.equal(assertAnswered(await g.call(hello)), "Yes.");
    }
  },
);

verifies(
  "failover.on.498",
  "a 498 of Groq is exhausted capacity, one of Cohere an invalid key",
  async (t) => {
    const groq = await fakeUpstream();
    t.after(() => groq.close());
    groq.answer(statusAnswer(498, { error: { message: "capacity exceeded" } }));
    const full = ["groq", "cohere"].map((key) => ({
      name: key,
      provider: key,
      api_key: "key-of-nobody",
      base_url: groq.url,
    }));
    const g = await startGateway(t, {
      credentials: full,
      endpoints: full.map(({ name, provider }) => ({
        name,
        provider,
        model: "m",
        credential: name,
        failover,
      })),
    });
    g.provider.says("Yes.");
    assert.equal(assertAnswered(await g.call(hello, { slug: "groq" })), "Yes.");
    const refused = await g.call(hello, { slug: "cohere" });
    assertRefused(refused, 502, "Provider call failed: Cohere 498: capacity exceeded");
  },
);

verifies("failure.detail", "with failover the refusal's detail lists every attempt", async (t) => {
  const g = await startGateway(t, {
    endpoint: { failover: [...failover, { credential: "main", model: "gpt-4.1" }] },
  });
  g.provider.answer(statusAnswer(500, { error: { message: "first" } }), statusAnswer(429), hangUpAnswer());
  const answer = await g.call(hello);
  assertRefused(answer, 502, /^Provider call failed: OpenAI /);
  const detail = String(at(answer.json, "detail"));
  for (const part of ["gpt-4o-mini", "gpt-4o", "gpt-4.1", "500", "429", "unreachable"]) {
    assert.ok(detail.includes(part), `${part} in ${detail}`);
  }
});

verifies(
  ["failure.unreachable", "failover.on.failure"],
  "a refused connection is unreachable, and moves on",
  async (t) => {
    // Port 9 of the loopback is nobody's.
    const nowhere = { name: "nowhere", provider: "openai", api_key: "sk-x", base_url: "http://127.0.0.1:9" };
    const g = await startGateway(t, {
      credentials: [nowhere],
      endpoint: { credential: "nowhere" },
      endpoints: [{ name: "Two", provider: "openai", model: "m", credential: "nowhere", failover }],
    });
    assertRefused(await g.call(hello), 502, "Provider call failed: OpenAI unreachable");
    g.provider.says("Yes.");
    assert.equal(assertAnswered(await g.call(hello, { slug: "two" })), "Yes.");
  },
);

verifies(
  ["failure.timeout", "failover.on.timeout", "config.defaults.provider"],
  "a provider that sends nothing in its time is timed out, and moves on",
  async (t) => {
    const root = { providers: { openai: { timeout_ms: 2_000 } } };
    const g = await startGateway(t, { root, endpoints: [{ name: "Two", ...entry, failover }] });
    const timedOut = async (slug: string) => {
      const asked = g.provider.requests.length;
      g.provider.answer(stallAnswer());
      const answer = g.call(hello, { slug });
      await g.provider.received(asked + 1);
      g.clock.advance(2_000);
      return answer;
    };
    assertRefused(await timedOut("ask"), 502, "Provider call failed: OpenAI timed out after 2000 ms");
    const moved = timedOut("two");
    g.provider.says("Yes.");
    assert.equal(assertAnswered(await moved), "Yes.");
  },
);

const entry = { provider: "openai", model: "gpt-4o-mini", credential: "main" };

verifies(
  "failover.on.timeout.whole",
  "an answer that stops half-way is timed out, and moves on",
  async (t) => {
    const root = { providers: { openai: { first_byte_timeout_ms: 2_000, timeout_ms: 3_000 } } };
    const g = await startGateway(t, { root, endpoint: { failover } });
    const played = g.provider.opens();
    g.provider.says("Second.");
    const answer = g.call(hello);
    await played.write('{"id":"chatcmpl-1","choi');
    g.clock.advance(3_000);
    assert.equal(assertAnswered(await answer), "Second.");
  },
);

verifies(
  "provider.options",
  "options apply to a whole provider, and a credential's own take precedence",
  async (t) => {
    const root = { providers: { mock: { options: { reply: "From all." } } } };
    const own = { name: "own", provider: "mock", options: { reply: "My own." } };
    const bare = { name: "bare", provider: "mock" };
    const g = await startGateway(t, {
      root,
      credentials: [own, bare],
      endpoint: echoEntry({ credential: "own" }),
      endpoints: [
        echoEntry({ name: "Bare", credential: "bare" }),
        { name: "None", provider: "mock", model: "m" },
      ],
    });
    assert.equal(assertAnswered(await g.call(hello)), "My own.");
    assert.equal(assertAnswered(await g.call(hello, { slug: "bare" })), "From all.");
    assert.equal(assertAnswered(await g.call(hello, { slug: "none" })), "From all.");
  },
);

verifies("failover.on.stream-error", "an error event before the first content moves on", async (t) => {
  const g = await startGateway(t, { endpoint: { failover } });
  const error = { error: { message: "The server is overloaded", type: "server_error" } };
  g.provider.answer(sseAnswer([chunk({ role: "assistant", content: "" }), error]));
  g.provider.streams(["Second."]);
  assert.equal(textOf(await (await g.stream(hello)).rest()), "Second.");
  g.provider.answer(sseAnswer([]));
  g.provider.streams(["Third."]);
  assert.equal(textOf(await (await g.stream(hello)).rest()), "Third.");
});

verifies("failure.scrubbed", "a key that the provider quotes goes no further", async (t) => {
  const g = await startGateway(t);
  g.provider.failsWith(401, `Incorrect API key provided: ${PROVIDER_KEY}.\nSee "Bearer ${PROVIDER_KEY}"`);
  const answer = await g.call(hello);
  assertRefused(answer, 502, /^Provider call failed: OpenAI 401: /);
  assert.ok(!answer.text.includes(PROVIDER_KEY), answer.text);
  assert.ok(!g.lines.join("\n").includes(PROVIDER_KEY));
});

verifies(
  ["provider.finish-reasons", "provider.raw-reason", "failover.not-on.refusal"],
  "finish reasons become the specification's four, with the provider's own word where it filtered",
  async (t) => {
    const g = await startGateway(t, { endpoint: { failover } });
    const cases: [said: string, text: string, reason: string, raw: string | undefined][] = [
      ["stop", "Yes.", "stop", undefined],
      ["length", "Ye", "length", undefined],
      ["content_filter", "", "error", "content_filter"],
      ["sunspots", "Yes.", "stop", undefined],
      ["sunspots", "", "error", "sunspots"],
    ];
    for (const [finish, text, reason, raw] of cases) {
      const asked = g.provider.requests.length;
      g.provider.says(text, { finish });
      const answer = await g.call(hello);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(at(answer.json, "finish_reason"), reason, finish);
      assert.equal(at(answer.json, "meta", "provider_finish_reason"), raw);
      assert.equal(g.provider.requests.length, asked + 1);
    }
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    g.provider.answer(
      jsonAnswer({ ...completion(""), choices: [{ index: 0, message, finish_reason: "stop" }] }),
    );
    assert.equal(at((await g.call(hello)).json, "finish_reason"), "tool_calls");
  },
);

verifies(
  ["provider.disabled", "error.status.503", "http.retry.503-disabled"],
  "a disabled provider without another's entry is a 503 that says so",
  async (t) => {
    const root = { providers: { openai: { enabled: false } } };
    const g = await startGateway(t, { root, endpoint: { failover } });
    const answer = await g.call(hello);
    assertRefused(answer, 503, "Provider 'openai' is disabled in this gateway.");
    assert.equal(answer.headers["x-should-retry"], "false");
    assert.equal(answer.headers["retry-after"], undefined);
    assert.equal(g.provider.requests.length, 0);
  },
);

verifies(
  ["provider.disabled.failover", "provider.disabled.entry"],
  "disabled entries are skipped, first or not",
  async (t) => {
    const root = { providers: { openai: { enabled: false } } };
    const echo = { credential: "echo", model: "echo" };
    const openai = { credential: "main", model: "gpt-4o" };
    const shaky = { name: "shaky", provider: "mock", options: { fail: [500] } };
    const g = await startGateway(t, {
      root,
      credentials: [shaky],
      endpoint: { failover: [openai, echo] },
      endpoints: [echoEntry({ name: "Two", credential: "shaky", failover: [openai, echo] })],
    });
    assert.equal(assertAnswered(await g.call(hello)), "Hello");
    assert.equal(assertAnswered(await g.call(hello, { slug: "two" })), "Hello");
    assert.equal(g.provider.requests.length, 0);
  },
);

verifies("provider.credential.inactive", "an inactive credential counts as failed", async (t) => {
  const resting = { name: "resting", provider: "openai", api_key: "sk-rest-77", is_active: false };
  const g = await startGateway(t, {
    credentials: [resting],
    endpoint: { credential: "resting", failover },
    endpoints: [{ ...entry, name: "Alone", credential: "resting" }],
  });
  g.provider.says("Yes.");
  assert.equal(assertAnswered(await g.call(hello)), "Yes.");
  assertRefused(await g.call(hello, { slug: "alone" }), 502, /^Provider call failed: /);
});

verifies(
  ["provider.base-url.gateway", "provider.base-url.credential"],
  "a credential's address wins over the gateway's for its provider",
  async (t) => {
    const first = await startGateway(t);
    const own = { name: "own", provider: "openai", api_key: "sk-own-3", base_url: first.provider.url };
    const lent = { name: "lent", provider: "openai", api_key: "sk-lent-4" };
    const root = { providers: { openai: { base_url: `${first.provider.url}/v1/` } } };
    const g = await startGateway(t, {
      root,
      credentials: [own, lent],
      endpoints: [
        { ...entry, name: "Own", credential: "own" },
        { ...entry, name: "Lent", credential: "lent" },
      ],
    });
    first.provider.says("Yes.");
    g.provider.says("Yes.");
    assertAnswered(await g.call(hello));
    assert.equal(g.provider.requests.length, 1);
    assertAnswered(await g.call(hello, { slug: "own" }));
    assert.equal(first.provider.last.path, "/chat/completions");
    assertAnswered(await g.call(hello, { slug: "lent" }));
    assert.equal(first.provider.last.path, "/v1/chat/completions");
    assert.equal(first.provider.last.headers["authorization"], "Bearer sk-lent-4");
  },
);

verifies(
  "provider.settings.refused",
  "a temperature that a reasoning model refuses is not sent",
  async (t) => {
    const g = await startGateway(t, { endpoint: { model: "o3-mini", temperature: 0.2, top_p: 0.5 } });
    g.provider.says("Yes.");
    assertAnswered(await g.call(hello));
    assert.equal(g.provider.sent("temperature"), undefined);
    assert.equal(g.provider.sent("top_p"), undefined);
  },
);

verifies("provider.keep-alive", "calls one after the other share a connection", async (t) => {
  const g = await startGateway(t);
  g.provider.says("Yes.");
  for (let n = 0; n < 5; n += 1) assertAnswered(await g.call(hello));
  assert.equal(g.provider.connections(), 1);
});

/** A provider as a stranger writes it, without importing anything. */
const PARROT = `export default {
  api: 1, kind: "provider", name: "parrot", label: "Parrot", description: "Says it twice.", examples: [{ times: 2 }],
  defaultBaseUrl: "parrot://here", needsApiKey: false,
  schema: { type: "object", additionalProperties: false, properties: { times: { type: "integer", minimum: 1 } } },
  setup(options) {
    return {
      complete(request) {
        const said = request.messages.at(-1).content;
        return { id: "p-1", model: request.model, content: Array(options.times ?? 1).fill(said).join(" "),
          finishReason: "stop", usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } };
      },
      stream() { throw new Error("not streamed"); },
    };
  },
};`;

verifies(
  "provider.third-party",
  "a third party's provider is named by its key, its options checked",
  async (t) => {
    const parts = (options: unknown) => ({
      files: { "parrot.ts": PARROT },
      root: { plugins: ["./parrot.ts"] },
      credentials: [{ name: "polly", provider: "parrot", options }],
      endpoint: { provider: "parrot", model: "grey", credential: "polly" },
    });
    const g = await startGateway(t, parts({ times: 2 }));
    assert.equal(assertAnswered(await g.call(hello)), "Hello Hello");
    await assert.rejects(startGateway(t, parts({ times: 0 })), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.match(JSON.stringify(error.errors), /options\.times/);
      return true;
    });
  },
);

verifies(
  "provider.mock.options",
  "the mock replies, streams in pieces, fails in sequence and reports the usage it is given",
  async (t) => {
    const usage = { prompt_tokens: 11, completion_tokens: 7 };
    const g = await startGateway(t, {
      credentials: [
        { name: "polite", provider: "mock", options: { reply: "You said {{input}}.", chunks: 4, usage } },
        { name: "moody", provider: "mock", options: { reply: "At last.", fail: [500, "timeout", "ok"] } },
      ],
      endpoint: echoEntry({ credential: "polite" }),
      endpoints: [echoEntry({ name: "Moody", credential: "moody" })],
    });
    const answer = await g.call(hello);
    assert.equal(assertAnswered(answer), "You said Hello.");
    assert.deepEqual(at(answer.json, "usage"), { ...usage, total_tokens: 18 });
    const events = await (await g.stream(hello)).rest();
    assert.equal(textOf(events), "You said Hello.");
    const pieces = chunksOf(events).filter((one) => at(one, "choices", 0, "delta", "content"));
    assert.equal(pieces.length, 4);
    assertRefused(await g.call(hello, { slug: "moody" }), 502, /^Provider call failed: Mock 500/);
    assertRefused(
      await g.call(hello, { slug: "moody" }),
      502,
      /^Provider call failed: Mock timed out after \d+ ms$/,
    );
    assert.equal(assertAnswered(await g.call(hello, { slug: "moody" })), "At last.");
  },
);

verifies("provider.mock.latency", "the mock waits on the gateway's clock", async (t) => {
  const slow = { name: "slow", provider: "mock", options: { reply: "Done.", latency_ms: 300 } };
  const g = await startGateway(t, { credentials: [slow], endpoint: echoEntry({ credential: "slow" }) });
  let over = false;
  const answer = g.call(hello).finally(() => (over = true));
  await until(() => g.gateway.openCalls === 1, "the call has arrived");
  // Connections and calls have timers of their own: the mock's is the last one.
  await until(timersSettled(g), "the mock waits");
  g.clock.advance(299);
  assert.equal(over, false);
  g.clock.advance(1);
  assert.equal(assertAnswered(await answer), "Done.");
});

verifies("server.request-timeout", "a stream whose first byte is late fails", async (t) => {
  const g = await startGateway(t, { server: { request_timeout_ms: 5_000 } });
  const played = g.provider.opens();
  const answer = g.call({ ...hello, stream: true });
  await played.opened;
  g.clock.advance(5_000);
  assertRefused(await answer, 502, /timed out after 5000 ms$/);
});

verifies("server.stream-timeout", "a stream that has begun has a limit of its own, or none", async (t) => {
  for (const limit of [null, 9_000]) {
    const server = { request_timeout_ms: 5_000, stream_timeout_ms: limit };
    const g = await startGateway(t, { server });
    const played = g.provider.opens();
    const opening = g.stream(hello);
    await played.send(chunk({ content: "One" }));
    const stream = await opening;
    let heard = "";
    while (!heard.includes("One")) heard = String(await stream.next());
    g.clock.advance(8_000);
    await played.send(chunk({ content: "Two" }));
    assert.match(String(await stream.next()), /Two/);
    g.clock.advance(2_000);
    if (limit === null) {
      await played.send(chunk({}, "stop"));
      await played.send("[DONE]");
      await played.end();
    }
    const rest = (await stream.rest()).join("");
    assert.equal(/timed out after \d+ ms/.test(rest), limit !== null, rest);
  }
});

verifies("server.request-timeout", "a whole call that takes too long fails", async (t) => {
  const g = await startGateway(t, {
    server: { request_timeout_ms: 5_000 },
    endpoint: { max_output_tokens: 10, estimated_cost_per_1k_tokens_usd: 1, monthly_budget_usd: 1 },
  });
  const played = g.provider.opens();
  const answer = g.call(hello);
  await played.opened;
  g.clock.advance(5_000);
  assertRefused(await answer, 502, /^Provider call failed: .*timed out after 5000 ms$/);
  await played.closed;
  const spent = await g.gateway.store.spending(`spend:${PROJECT}/ask`, monthOf(g.clock.nowMs()));
  assert.equal(spent.reservedNanoUsd, 0);
});
