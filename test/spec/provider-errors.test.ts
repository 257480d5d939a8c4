/** What clients and operators are told of a provider's errors: retries, waits, codes, causes; and who is asked next. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { connectionCause } from "../../src/net/http1/connection-cause.ts";
import {
  fakeUpstream,
  hangUpAnswer,
  jsonAnswer,
  sseAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { type Closer, type Harness, startGateway } from "./kit/gateway.ts";
import { chunk, completion } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };

function callLine(g: Harness): unknown {
  return JSON.parse(g.lines.findLast((line) => line.includes('"msg":"call"')) ?? "{}");
}

function logged(g: Harness, message: string): readonly unknown[] {
  return g.lines.map((line): unknown => JSON.parse(line)).filter((line) => at(line, "msg") === message);
}

verifies(
  "failure.no-retry",
  "a 502 whose cause would be the same again is not to be retried, any other is",
  async (t) => {
    const g = await startGateway(t);
    for (const status of [400, 401, 403, 404, 413, 422]) {
      g.provider.failsWith(status);
      const answer = await g.call(hello);
      assert.equal(answer.status, 502);
      assert.equal(answer.headers["x-should-retry"], "false", String(status));
    }
    for (const status of [402, 408, 409, 429, 500, 503, 529]) {
      g.provider.failsWith(status);
      assert.equal((await g.call(hello)).headers["x-should-retry"], "true", String(status));
    }
  },
);

verifies(
  "failure.no-retry",
  "with failover, one attempt that may succeed later is enough to retry",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: { failover: [{ credential: "main", model: "gpt-4o" }] },
    });
    g.provider.answer(statusAnswer(500), statusAnswer(400));
    assert.equal((await g.call(hello)).headers["x-should-retry"], "true");
  },
);

verifies(
  ["failure.code", "failure.status"],
  "the gateway's code and the provider's own are in headers; a code that is not a name is left out",
  async (t) => {
    const g = await startGateway(t);
    const rows: readonly [error: object, code: string | undefined][] = [
      [
        { message: "too long", type: "invalid_request_error", code: "context_length_exceeded" },
        "context_length_exceeded",
      ],
      [{ message: "pay", type: "insufficient_quota", code: null }, "insufficient_quota"],
      [{ message: "odd", code: "two words\r\nX: y" }, undefined],
      [{ message: "number", code: 400 }, undefined],
    ];
    for (const [error, code] of rows) {
      g.provider.answer(statusAnswer(400, { error }));
      const answer = await g.call(hello);
      assert.equal(answer.headers["x-error-code"], "provider_failed");
      assert.equal(answer.headers["x-provider-error-code"], code);
    }
    const refused = await g.call(hello, { token: "gw_live_nobody" });
    assert.equal(refused.headers["x-error-code"], "token_invalid");
  },
);

verifies(
  "failure.retry-after",
  "the provider's wait reaches the client, and its target is left out as long, for five minutes at most",
  async (t) => {
    const { g, primary } = await withPrimary(t);
    g.provider.says("From the spare.");
    primary.answer(statusAnswer(429, {}, { "retry-after": "60" }));
    for (let call = 1; call <= 3; call++) assertAnswered(await g.call(hello));
    assert.equal(primary.requests.length, 1);
    g.clock.advance(59_999);
    assertAnswered(await g.call(hello));
    assert.equal(primary.requests.length, 1);
    g.clock.advance(1);
    primary.answer(statusAnswer(503, {}, { "retry-after": "3600" }));
    assertAnswered(await g.call(hello));
    assert.equal(primary.requests.length, 2);
    g.clock.advance(300_000);
    primary.answer(statusAnswer(429));
    assertAnswered(await g.call(hello));
    assert.equal(primary.requests.length, 3);
    primary.answer(jsonAnswer(completion("Back.")));
    assert.equal(
      assertAnswered(await g.call(hello)),
      "Back.",
      "a failure without a wait counts like any other",
    );

    g.provider.answer(statusAnswer(429, {}, { "retry-after": "7" }));
    primary.answer(statusAnswer(429, {}, { "retry-after": "60" }));
    const both = await g.call(hello);
    assertRefused(both, 502, /^Provider call failed: OpenAI 429/);
    assert.equal(both.headers["retry-after"], "7", "the shorter wait: that target may answer by then");
    assert.equal(at(both.json, "retry_after"), 7);
  },
);

verifies(
  "failover.on.credential",
  "a rejected credential fails over to the next other one, is logged as an error, and opens the circuit",
  async (t) => {
    for (const status of [401, 403]) {
      const { g, primary } = await withPrimary(t, [
        { credential: "primary", model: "gpt-4o" },
        { credential: "main", model: "gpt-4o" },
      ]);
      g.provider.says("From the spare.");
      primary.answer(statusAnswer(status, { error: { message: "Incorrect API key provided" } }));
      for (let call = 1; call <= 7; call++)
        assert.equal(assertAnswered(await g.call(hello)), "From the spare.");
      assert.equal(
        primary.requests.length - (primary.requests.length > 5 ? 2 : 0),
        5,
        "five, then the next model's",
      );
      const lines = logged(g, "provider rejected the credential, trying the next one");
      assert.ok(lines.length >= 5);
      assert.equal(at(lines[0], "level"), "error");
      assert.deepEqual([at(lines[0], "credential"), at(lines[0], "status")], ["primary", status]);
    }
  },
);

verifies("failover.on.passing", "a lock, an early try and a closed request move on", async (t) => {
  const g = await startGateway(t, { endpoint: { failover: [{ credential: "main", model: "gpt-4o" }] } });
  for (const status of [409, 425, 499]) {
    g.provider.answer(statusAnswer(status), jsonAnswer(completion("From the second.")));
    assert.equal(assertAnswered(await g.call(hello)), "From the second.", String(status));
    g.provider.says("Yes.");
    await g.call(hello);
  }
});

verifies("failure.detail.credential", "two credentials of one model are distinguished", async (t) => {
  const { g, primary } = await withPrimary(t, [{ credential: "main", model: "gpt-4o-mini" }]);
  primary.answer(statusAnswer(500, { error: { message: "one" } }));
  g.provider.failsWith(500, "two");
  const detail = at((await g.call(hello)).json, "detail");
  assert.equal(detail, "gpt-4o-mini: OpenAI (primary) 500: one; gpt-4o-mini: OpenAI (main) 500: two");
});

verifies(
  "failure.cause",
  "why a provider is unreachable is in the attempts, and not in the answer",
  async (t) => {
    const closed = await fakeUpstream();
    await closed.close();
    const credentials = [
      { name: "refused", provider: "openai", api_key: "sk-refused-12345", base_url: closed.url },
      {
        name: "unknown",
        provider: "openai",
        api_key: "sk-unknown-12345",
        base_url: "http://nowhere.invalid",
      },
    ];
    const causes = { refused: /\(connection refused\)$/, unknown: /\(DNS: [a-z ]+\)$/ };
    for (const [credential, cause] of Object.entries(causes)) {
      const g = await startGateway(t, { credentials, endpoint: { credential } });
      assertRefused(await g.call(hello), 502, "Provider call failed: OpenAI unreachable");
      assert.match(String(at(callLine(g), "attempts", 0, "outcome")), cause);
    }
    const g = await startGateway(t);
    g.provider.answer(hangUpAnswer());
    assertRefused(await g.call(hello), 502, "Provider call failed: OpenAI unreachable");
    assert.match(String(at(callLine(g), "attempts", 0, "outcome")), /\(connection reset\)$/);
  },
);

verifies("failure.cause", "an untrusted certificate is reported as TLS", () => {
  const coded = (code: string): Error => Object.assign(new Error("x"), { code });
  assert.equal(connectionCause(coded("DEPTH_ZERO_SELF_SIGNED_CERT")), "TLS: depth zero self signed cert");
  assert.equal(connectionCause(coded("ERR_TLS_CERT_ALTNAME_INVALID")), "TLS: err tls cert altname invalid");
  assert.equal(connectionCause(new AggregateError([coded("ECONNREFUSED")])), "connection refused");
  assert.equal(connectionCause(coded("not a code")), undefined);
});

const NO_STREAMS: Readonly<Record<string, readonly [body: string | Buffer, reason: string]>> = {
  HTML: ["<html>Welcome</html>", "HTML came in place of a stream"],
  JSON: ['{"hello":"world"}', "JSON came in place of a stream"],
  gzip: [gzipSync("data: {}\n\n"), "compressed data (gzip) came in place of a stream"],
  nothing: ["", "an empty answer came in place of a stream"],
};

verifies("failure.not-a-stream", "what came in place of a stream is named", async (t) => {
  const g = await startGateway(t);
  for (const [name, [body, reason]] of Object.entries(NO_STREAMS)) {
    g.provider.answer((response) => void response.writeHead(200).end(body));
    const stream = await g.stream(hello);
    assert.equal(stream.status, 502, name);
    assert.equal(at(callLine(g), "attempts", 0, "outcome"), `200: ${reason}`);
    await stream.rest();
  }
  g.provider.answer(sseAnswer([chunk({ content: "Hel" })]));
  await (await g.stream(hello)).rest();
  assert.equal(at(callLine(g), "attempts", 0, "outcome"), "200: the answer broke off");
});

verifies("failure.status", "the status of an attempt is the provider's own, also a 204", async (t) => {
  const g = await startGateway(t);
  g.provider.answer((response) => void response.writeHead(204).end());
  await g.call(hello);
  assert.equal(at(callLine(g), "attempts", 0, "status"), 204);
});

verifies("failure.scrubbed", "what is left of a key in a provider's words is taken out", async (t) => {
  const g = await startGateway(t);
  const end = g.provider.key.slice(-4);
  const texts = [
    `Incorrect API key provided: sk-upstream****${end}.`,
    `Incorrect API key provided: sk-…${end}, see the console`,
    `Invalid key ending in ${end}`,
    `Invalid key ...a${end}`,
  ];
  for (const message of texts) {
    g.provider.failsWith(401, message);
    const { text } = await g.call(hello);
    assert.ok(!text.includes(end), text);
    assert.ok(!g.lines.some((line) => line.includes(end)), message);
  }
});

verifies("failure.log", "an interrupted answer is logged as such", async (t) => {
  const g = await startGateway(t);
  const reasonOf = (): unknown => at(callLine(g), "finish_reason");
  g.provider.answer(sseAnswer([chunk({ content: "Hel" })]));
  await (await g.stream(hello)).rest();
  assert.equal(reasonOf(), "error");
  const played = g.provider.opens();
  const [stream] = await Promise.all([g.stream(hello), played.send(chunk({ content: "Hel" }))]);
  await stream.next();
  stream.leave();
  await until(() => at(callLine(g), "status") === 499, "the call is logged");
  assert.equal(reasonOf(), "");
});

verifies("failure.log", "reasoning tokens and tokens written into a cache are logged", async (t) => {
  const g = await startGateway(t);
  const usage = {
    ...{ prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 },
    prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 4 },
  };
  g.provider.answer(jsonAnswer({ ...completion("Yes."), usage }));
  assertAnswered(await g.call(hello));
  const tokens = at(callLine(g), "tokens");
  assert.deepEqual([at(tokens, "cache_write"), at(tokens, "reasoning")], [3, 4]);
});

verifies("rate.headers", "a 429 has the fields of the IETF draft and the older ones", async (t) => {
  const g = await startGateway(t, { endpoint: { rate_limit_per_minute: 1, rate_limit_per_hour: 5 } });
  g.provider.says("Yes.");
  await g.call(hello);
  g.clock.advance(20_000);
  const { status, headers } = await g.call(hello);
  assert.equal(status, 429);
  assert.equal(headers["ratelimit-policy"], '"minute";q=1;w=60');
  assert.equal(headers["ratelimit"], '"minute";r=0;t=40');
  assert.deepEqual(
    [headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"], headers["x-ratelimit-reset"]],
    ["1", "0", "40"],
  );
});

async function withPrimary(
  t: Closer,
  failover: readonly object[] = [{ credential: "main", model: "gpt-4o" }],
) {
  const primary = await fakeUpstream();
  t.after(() => primary.close());
  const g = await startGateway(t, {
    credentials: [{ name: "primary", provider: "openai", api_key: "sk-primary-1", base_url: primary.url }],
    endpoint: { credential: "primary", failover },
  });
  return { g, primary };
}
