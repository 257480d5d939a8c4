/** Rate windows and the per-request token cap. */
import assert from "node:assert/strict";
import { type Answer, assertAnswered, assertRefused, at } from "./kit/client.ts";
import { echoEntry, hashOf } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };

function assertLimited(answer: Answer, scope: "minute" | "hour", seconds: number): void {
  assertRefused(answer, 429, "Rate limit exceeded.");
  assert.equal(at(answer.json, "scope"), scope);
  assert.equal(at(answer.json, "retry_after"), seconds);
  assert.equal(answer.headers["retry-after"], String(seconds));
}

async function answered(g: Harness, times: number, slug = "ask"): Promise<void> {
  for (let n = 0; n < times; n += 1) assertAnswered(await g.call(hello, { slug }));
}

verifies(
  ["rate.minute", "rate.retry-after", "http.retry.429"],
  "the call over the minute's limit is refused, and admitted after exactly Retry-After",
  async (t) => {
    const g = await startGateway(t, { endpoint: echoEntry({ rate_limit_per_minute: 3 }) });
    await answered(g, 1);
    g.clock.advance(10_500);
    await answered(g, 2);
    const refused = await g.call(hello);
    // The first place is free at 60 s; it is now 10.5 s: 49.5 s, told as whole seconds.
    assertLimited(refused, "minute", 50);
    assert.equal(refused.headers["x-should-retry"], "true");
    g.clock.advance(49_000);
    assertLimited(await g.call(hello), "minute", 1);
    g.clock.advance(1_000);
    await answered(g, 1);
    assertLimited(await g.call(hello), "minute", 10);
  },
);

verifies(
  ["rate.hour", "rate.message", "rate.independent"],
  "the hour's window refuses where the minute's has room, and the other way round",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: echoEntry({ rate_limit_per_minute: 2, rate_limit_per_hour: 3 }),
    });
    await answered(g, 2);
    assertLimited(await g.call(hello), "minute", 60);
    g.clock.advance(60_000);
    await answered(g, 1);
    assertLimited(await g.call(hello), "hour", 3_540);
    g.clock.advance(3_540_000);
    await answered(g, 2);
  },
);

verifies(["rate.unlimited", "token-cap.unlimited"], "without limits nothing is limited", async (t) => {
  const g = await startGateway(t, { endpoint: echoEntry({}) });
  await answered(g, 40);
  const long = "word ".repeat(40_000);
  assert.equal(assertAnswered(await g.call({ message: long })), long);
});

verifies(
  ["rate.per-endpoint", "error.status.429"],
  "one endpoint's full window leaves the other's alone",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: echoEntry({ rate_limit_per_minute: 1 }),
      endpoints: [echoEntry({ name: "Second", rate_limit_per_minute: 1 })],
    });
    await answered(g, 1);
    await answered(g, 1, "second");
    assertLimited(await g.call(hello), "minute", 60);
    assertLimited(await g.call(hello, { slug: "second" }), "minute", 60);
  },
);

verifies(
  ["rate.refused-free", "rate.together"],
  "a call that the minute refuses takes no place in the hour",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: echoEntry({ rate_limit_per_minute: 1, rate_limit_per_hour: 2 }),
    });
    await answered(g, 1);
    for (let n = 0; n < 5; n += 1) assertLimited(await g.call(hello), "minute", 60);
    g.clock.advance(60_000);
    await answered(g, 1);
  },
);

verifies(
  "rate.refused-later-counts",
  "calls that the token cap or a guardrail refuses keep their places in the windows",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: echoEntry({
        rate_limit_per_minute: 3,
        usage_hard_limit_tokens: 10,
        guardrails: [{ use: "keyword_blocklist", keywords: ["forbidden"] }],
      }),
    });
    assertRefused(await g.call({ message: "a".repeat(41) }), 422, /per-request token limit/);
    assertRefused(await g.call({ message: "forbidden" }), 422, /keyword/);
    await answered(g, 1);
    assertLimited(await g.call(hello), "minute", 60);
    assertLimited(await g.call({ message: "a".repeat(41) }), "minute", 60);
  },
);

verifies("rate.sliding", "no minute, wherever it starts, admits more than the limit", async (t) => {
  const limit = 5;
  const g = await startGateway(t, { endpoint: echoEntry({ rate_limit_per_minute: limit }) });
  const admitted: number[] = [];
  // A fixed sequence of pauses that crowds the edges of windows: bursts, near-minutes, single milliseconds.
  const pauses = [
    0, 0, 0, 1, 59_999, 1, 0, 0, 0, 20_000, 39_999, 1, 0, 30_000, 0, 0, 29_999, 2, 0, 0, 60_000, 0,
  ];
  for (let n = 0; n < 8 * pauses.length; n += 1) {
    g.clock.advance(pauses[n % pauses.length] ?? 0);
    const { status } = await g.call(hello);
    if (status === 200) admitted.push(g.clock.nowMs());
  }
  for (const start of admitted) {
    const inside = admitted.filter((time) => time >= start && time < start + 60_000);
    assert.ok(inside.length <= limit, `${inside.length} from ${start}`);
  }
  assert.ok(admitted.length > limit * 8);
});

verifies(
  ["token-cap.message", "token-cap.exact", "estimate.tokens"],
  "input over the cap is refused: characters / 4 rounded up, over all messages, in UTF-16 code units",
  async (t) => {
    const g = await startGateway(t, {
      endpoint: echoEntry({ usage_hard_limit_tokens: 10, prompt: "p".repeat(99) }),
    });
    assertAnswered(await g.call({ message: "a".repeat(40) }));
    const refusal = "Request exceeds endpoint per-request token limit: ~11 tokens estimated, cap is 10.";
    assertRefused(await g.call({ message: "a".repeat(41) }), 422, refusal);
    const messages = [
      { role: "system", content: "a".repeat(14) },
      { role: "assistant", content: "a".repeat(14) },
      { role: "user", content: "a".repeat(13) },
    ];
    assertRefused(await g.call({ messages }), 422, refusal);
    // Each of these is two code units.
    assertAnswered(await g.call({ message: "\u{1f600}".repeat(20) }));
    assertRefused(await g.call({ message: "\u{1f600}".repeat(21) }), 422, refusal);
  },
);

verifies("error.idempotency", "the same call twice is two calls", async (t) => {
  const g = await startGateway(t, { endpoint: { rate_limit_per_minute: 2 } });
  g.provider.says("Yes.");
  const headers = { "idempotency-key": "one" };
  const first = await g.call(hello, { headers });
  const second = await g.call(hello, { headers });
  assert.notEqual(first.headers["x-request-id"], second.headers["x-request-id"]);
  assert.equal(g.provider.requests.length, 2);
  assertLimited(await g.call(hello, { headers }), "minute", 60);
});

verifies("rate.per-endpoint", "tokens share an endpoint's window", async (t) => {
  const g = await startGateway(t, {
    endpoint: echoEntry({ rate_limit_per_minute: 1 }),
    tokens: [{ name: "second", hash: hashOf("gw_live_second"), scopes: ["chat"] }],
  });
  await answered(g, 1);
  assertLimited(await g.call(hello, { token: "gw_live_second" }), "minute", 60);
});
