/** Conversations that the gateway keeps. */
import assert from "node:assert/strict";
import { type Answer, assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { TOKENS } from "./kit/config.ts";
import { textOf } from "./kit/event-stream.ts";
import { callBytes, type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { chunk } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NO_SESSION = "00000000-0000-4000-8000-000000000000";
const session = { sessions_enabled: true };

function sessionOf(answer: Answer): string {
  return String(at(answer.json, "meta", "session_id"));
}

/** Says something in a new or running session, and returns its id. */
async function turn(g: Harness, message: string, session_id?: string): Promise<string> {
  const answer = await g.call({ message, ...(session_id === undefined ? {} : { session_id }) });
  assertAnswered(answer);
  return sessionOf(answer);
}

function sent(g: Harness): unknown[] {
  const messages = g.provider.sent("messages");
  return Array.isArray(messages) ? messages.map((message) => at(message, "content")) : [];
}

function missing(id: string): string {
  return `Session '${id}' not found or expired.`;
}

function start(
  t: Parameters<typeof startGateway>[0],
  endpoint = {},
  more: StartOptions = {},
): Promise<Harness> {
  return startGateway(t, { ...more, endpoint: { ...session, ...endpoint } });
}

verifies(
  ["session.created", "session.resumed", "session.stored.before-template"],
  "a session is created by the first call, and its history precedes the next message",
  async (t) => {
    const g = await start(t, { prompt: "Be brief.", user_prompt_template: "Q: {{input}}" });
    g.provider.says("First answer.");
    const id = await turn(g, "One");
    assert.match(id, UUID);
    g.provider.says("Second answer.");
    assert.equal(await turn(g, "Two", id), id);
    assert.deepEqual(g.provider.sent("messages"), [
      { role: "system", content: "Be brief." },
      { role: "user", content: "One" },
      { role: "assistant", content: "First answer." },
      { role: "user", content: "Q: Two" },
    ]);
    assert.notEqual(await turn(g, "Three"), id);
  },
);

verifies(
  ["session.stored.after-masks", "session.stored.answer"],
  "what is kept is what the guardrails left, of both sides",
  async (t) => {
    const g = await start(t, { guardrails: [{ use: "pii", mode: "mask", on: ["input", "output"] }] });
    g.provider.says("Mail bob@mail.example.org.");
    const id = await turn(g, "I am ada@mail.example.org.");
    await turn(g, "And now?", id);
    assert.deepEqual(sent(g), ["I am [EMAIL].", "Mail [EMAIL].", "And now?"]);
  },
);

verifies(
  ["session.unknown", "session.bound.token", "session.bound.endpoint"],
  "a session is found by its token at its endpoint alone",
  async (t) => {
    const other = { name: "Other", provider: "openai", model: "m", credential: "main", ...session };
    const g = await start(t, {}, { endpoints: [other] });
    g.provider.says("Yes.");
    const id = await turn(g, "One");
    const again = { message: "Two", session_id: id };
    assertRefused(await g.call(again, { token: TOKENS.tester }), 404, missing(id));
    assertRefused(await g.call(again, { slug: "other" }), 404, missing(id));
    assertRefused(await g.call({ ...again, session_id: NO_SESSION }), 404, missing(NO_SESSION));
    assertAnswered(await g.call(again));
  },
);

verifies(
  ["session.idle", "session.idle.renewed", "session.unknown"],
  "a session lives as long as it is used within its time",
  async (t) => {
    const g = await start(t, { session_ttl_seconds: 60 });
    g.provider.says("Yes.");
    const id = await turn(g, "One");
    for (let n = 0; n < 3; n += 1) {
      g.clock.advance(59_000);
      await turn(g, "More", id);
    }
    g.clock.advance(60_001);
    assertRefused(await g.call({ message: "Late", session_id: id }), 404, missing(id));
  },
);

verifies("session.disabled", "an endpoint without sessions refuses a session_id", async (t) => {
  const g = await startGateway(t);
  const refused = await g.call({ message: "Hello", session_id: NO_SESSION });
  assertRefused(refused, 400, "Sessions are not enabled for this endpoint.");
});

verifies("session.stored.success-only", "a call that failed leaves no turn behind", async (t) => {
  const g = await start(t, { output_schema: { type: "string", maxLength: 10 } });
  g.provider.says("Yes.");
  const id = await turn(g, "One");
  g.provider.failsWith(500);
  assertRefused(await g.call({ message: "Lost", session_id: id }), 502, /^Provider call failed/);
  g.provider.says("An answer that is too long.");
  assertRefused(await g.call({ message: "Lost too", session_id: id }), 502, /^Validation failed/);
  g.provider.says("Yes.");
  await turn(g, "Two", id);
  assert.deepEqual(sent(g), ["One", "Yes.", "Two"]);
});

verifies(
  ["session.stored.streamed", "session.header"],
  "a streamed answer is kept like any other",
  async (t) => {
    const g = await start(t);
    g.provider.streams(["In ", "two."]);
    const stream = await g.stream({ message: "One" });
    const events = await stream.rest();
    assert.equal(textOf(events), "In two.");
    const id = String(stream.headers["x-session-id"]);
    assert.match(id, UUID);
    const last = events.at(-2) ?? "";
    assert.equal(at(JSON.parse(last), "meta", "session_id"), id);
    await turn(g, "Two", id);
    assert.deepEqual(sent(g), ["One", "In two.", "Two"]);
  },
);

verifies("session.stored.success-only", "a stream that broke leaves no turn behind", async (t) => {
  const g = await start(t);
  g.provider.says("Yes.");
  const id = await turn(g, "One");
  const broken = g.provider.opens();
  const [stream] = await Promise.all([
    g.stream({ message: "Lost", session_id: id }),
    broken.send(chunk({ content: "Half an ans" })),
  ]);
  await broken.hangUp();
  await stream.rest();
  g.provider.says("Yes.");
  await turn(g, "Two", id);
  assert.deepEqual(sent(g), ["One", "Yes.", "Two"]);
});

verifies(
  "session.max-messages.trim",
  "over its messages a session loses its oldest turns, a pair at a time",
  async (t) => {
    const g = await start(t, { session_max_messages: 4 });
    g.provider.says("Yes.");
    const id = await turn(g, "One");
    await turn(g, "Two", id);
    assert.deepEqual(sent(g), ["One", "Yes.", "Two"]);
    await turn(g, "Three", id);
    assert.deepEqual(sent(g), ["Two", "Yes.", "Three"]);
    await turn(g, "Four", id);
    assert.deepEqual(sent(g), ["Three", "Yes.", "Four"]);
  },
);

verifies("session.max-messages.reject", "a full session is refused when it does not trim", async (t) => {
  const g = await start(t, { session_max_messages: 4, session_overflow: "reject" });
  g.provider.says("Yes.");
  const id = await turn(g, "One");
  await turn(g, "Two", id);
  const refused = await g.call({ message: "Three", session_id: id });
  assertRefused(refused, 422, "Session limit reached: 6 messages, maximum 4.");
  assert.equal(g.provider.requests.length, 2);
});

verifies("session.max-tokens.trim", "over its tokens a session loses its oldest turns", async (t) => {
  // Twenty characters a text: five tokens each.
  const g = await start(t, { session_max_tokens: 20 });
  const text = (first: string): string => first.padEnd(20, ".");
  g.provider.says(text("yes"));
  const id = await turn(g, text("one"));
  await turn(g, text("two"), id);
  assert.equal(sent(g).length, 3);
  await turn(g, text("three"), id);
  assert.deepEqual(sent(g), [text("two"), text("yes"), text("three")]);
});

verifies(
  "session.max-tokens.reject",
  "a session over its tokens is refused when it does not trim",
  async (t) => {
    const g = await start(t, { session_max_tokens: 20, session_overflow: "reject" });
    const text = "a".repeat(20);
    g.provider.says(text);
    const id = await turn(g, text);
    await turn(g, text, id);
    const refused = await g.call({ message: text, session_id: id });
    assertRefused(refused, 422, /^Session limit reached: \d+ tokens, maximum 20\.$/);
  },
);

verifies(
  ["session.serial", "session.busy"],
  "calls on one session run one after the other; eight wait, the next is refused",
  async (t) => {
    const g = await start(t, { session_max_messages: 100 });
    g.provider.says("Yes.");
    const id = await turn(g, "One");
    const held = g.provider.opens();
    g.provider.says("Yes.");
    const first = await Promise.all([
      g.stream({ message: "Two", session_id: id }),
      held.send(chunk({ content: "Slow" })),
    ]);
    const asked = g.provider.requests.length;
    let over = 0;
    const calls = Array.from({ length: 9 }, async (_, n) => {
      const answer = await g.call({ message: `Waiting ${n}`, session_id: id });
      over += 1;
      return answer;
    });
    await until(() => over === 1, "the one too many is refused");
    assert.equal(g.provider.requests.length, asked, "none of those who wait is asked of the provider");
    await held.send(chunk({}, "stop"));
    await held.send("[DONE]");
    await held.end();
    await first[0].rest();
    const answers = await Promise.all(calls);
    const refused = answers.filter(({ status }) => status !== 200);
    assert.equal(refused.length, 1);
    const [busy] = refused;
    assert.ok(busy);
    assertRefused(busy, 409, "Session is busy.");
    assert.equal(busy.headers["retry-after"], "1");
    // One, Two and the eight who waited: the last of them saw the turns of all the others.
    assert.equal(sent(g).length, 2 * 9 + 1);
    assert.deepEqual(sent(g).slice(0, 4), ["One", "Yes.", "Two", "Slow"]);
  },
);

verifies(
  "session.waiting.gone",
  "clients that left wait no more, and leave their places to others",
  async (t) => {
    const g = await start(t);
    g.provider.says("Yes.");
    const session_id = await turn(g, "One");
    const held = g.provider.opens();
    const running = g.call({ message: "Two", session_id });
    await held.opened;
    const request = callBytes({ message: "Gone", session_id });
    const leave = Array.from({ length: 8 }, () => g.client.abandon(request));
    await until(() => g.gateway.openCalls === 9, "one runs and eight wait");
    for (const go of leave) go();
    await until(() => g.gateway.openCalls === 1, "the eight are gone");
    g.provider.says("Yes.");
    const asked = g.provider.requests.length;
    const next = g.call({ message: "Three", session_id });
    await until(() => g.gateway.openCalls === 2, "another takes a place");
    await held.hangUp();
    assertRefused(await running, 502, /^Provider call failed/);
    assertAnswered(await next);
    assert.equal(g.provider.requests.length, asked + 1, "those who left are not asked for");
  },
);

verifies(
  "session.lru",
  "with as many sessions as it may keep, the one used least recently goes",
  async (t) => {
    const g = await start(t, {}, { root: { state: { max_sessions: 2 } } });
    g.provider.says("Yes.");
    const first = await turn(g, "One");
    const second = await turn(g, "Two");
    assertAnswered(await g.call({ message: "One again", session_id: first }));
    await turn(g, "Three");
    assertAnswered(await g.call({ message: "Still here", session_id: first }));
    const gone = await g.call({ message: "Gone", session_id: second });
    assertRefused(gone, 404, missing(second));
  },
);
