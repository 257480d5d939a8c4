/** The circuit breaker: a target that keeps failing is left alone, then tried, and never when nothing else is left. */
import assert from "node:assert/strict";
import {
  type FakeUpstream,
  fakeUpstream,
  jsonAnswer,
  sseAnswer,
  statusAnswer,
} from "../../src/testing/fake-upstream.ts";
import { assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { textOf } from "./kit/event-stream.ts";
import { type Closer, callBytes, type Harness, type StartOptions, startGateway } from "./kit/gateway.ts";
import { chunk, completion } from "./kit/provider.ts";
import { verifies } from "./verifies.ts";

const hello = { message: "Hello" };
const OPEN_MS = 30_000;

/** A gateway whose first entry is on an origin of its own, so that it is seen who was asked. */
async function withShaky(
  t: Closer,
  options: StartOptions = {},
): Promise<{ g: Harness; shaky: FakeUpstream; asked: () => readonly [shaky: number, steady: number] }> {
  const shaky = await fakeUpstream();
  t.after(() => shaky.close());
  const g = await startGateway(t, {
    credentials: [{ name: "shaky", provider: "openai", api_key: "sk-shaky-1", base_url: shaky.url }],
    ...options,
    endpoint: {
      credential: "shaky",
      failover: [{ credential: "main", model: "gpt-4o" }],
      ...options.endpoint,
    },
  });
  return { g, shaky, asked: () => [shaky.requests.length, g.provider.requests.length] };
}

verifies("provider.breaker.open", "after five failures in a row a target is skipped for 30 s", async (t) => {
  const { g, shaky, asked } = await withShaky(t);
  shaky.answer(statusAnswer(503));
  g.provider.says("From the steady one.");
  for (let call = 1; call <= 5; call++) assertAnswered(await g.call(hello));
  assert.deepEqual(asked(), [5, 5]);
  for (let call = 1; call <= 3; call++) assertAnswered(await g.call(hello));
  g.clock.advance(OPEN_MS - 1);
  assertAnswered(await g.call(hello));
  assert.deepEqual(asked(), [5, 9]);
  const attempts = at(
    JSON.parse(g.lines.findLast((line) => line.includes('"attempts"')) ?? "{}"),
    "attempts",
  );
  assert.equal(at(attempts, 0, "outcome"), "skipped: circuit open");
  assert.equal(at(attempts, 1, "outcome"), "ok");
});

verifies(
  "provider.breaker.open",
  "a success, and a failure that another target would repeat, reset the count",
  async (t) => {
    const { g, shaky, asked } = await withShaky(t);
    const [bad, good, wrong] = [statusAnswer(500), jsonAnswer(completion("Yes.")), statusAnswer(400)];
    shaky.answer(bad, bad, bad, bad, good, bad, bad, bad, bad, wrong, bad);
    g.provider.says("From the steady one.");
    for (let call = 1; call <= 15; call++) await g.call(hello);
    assert.deepEqual(asked(), [15, 13]);
    await g.call(hello);
    assert.deepEqual(asked(), [15, 14], "the last five were in a row");
  },
);

verifies(
  "provider.breaker.trial",
  "after 30 s one trial call asks the target and decides; meanwhile other calls use other targets",
  async (t) => {
    const { g, shaky, asked } = await withShaky(t);
    shaky.answer(statusAnswer(503));
    g.provider.says("From the steady one.");
    for (let call = 1; call <= 5; call++) await g.call(hello);
    g.clock.advance(OPEN_MS);
    let answerTrial = (_: boolean): void => {};
    shaky.answer((response, request) => {
      answerTrial = (good) => (good ? jsonAnswer(completion("Back.")) : statusAnswer(500))(response, request);
    });
    const failing = g.call(hello);
    await shaky.received(6);
    assert.equal(assertAnswered(await g.call(hello)), "From the steady one.");
    answerTrial(false);
    assert.equal(assertAnswered(await failing), "From the steady one.");
    await g.call(hello);
    assert.deepEqual(asked(), [6, 8], "a failed trial leaves it open for another 30 s");

    g.clock.advance(OPEN_MS);
    const mending = g.call(hello);
    await shaky.received(7);
    answerTrial(true);
    assert.equal(assertAnswered(await mending), "Back.");
    shaky.answer(jsonAnswer(completion("Still here.")));
    assert.equal(assertAnswered(await g.call(hello)), "Still here.");
  },
);

verifies(
  "provider.breaker.trial",
  "a trial that its client cancels does not count: the next call is the trial",
  async (t) => {
    const { g, shaky } = await withShaky(t);
    shaky.answer(statusAnswer(503));
    g.provider.says("From the steady one.");
    for (let call = 1; call <= 5; call++) await g.call(hello);
    g.clock.advance(OPEN_MS);
    let gone = (): void => {};
    const left = new Promise<void>((resolve) => (gone = resolve));
    shaky.answer((response) => void response.on("close", gone));
    const leave = g.client.abandon(callBytes(hello));
    await shaky.received(6);
    leave();
    await left;
    shaky.answer(jsonAnswer(completion("Back.")));
    assert.equal(assertAnswered(await g.call(hello)), "Back.");
  },
);

/** A provider that does what the call's message says. */
const OBEDIENT = `export default { api: 1, kind: "provider", name: "obedient", description: "Does as it is told.",
  examples: [], schema: { type: "object" }, label: "Obedient", defaultBaseUrl: "obedient://local", needsApiKey: false,
  setup() { return {
    complete(request) {
      const text = request.messages.at(-1).content;
      if (text === "fail") return { kind: "failure", status: 503, reason: "no", retryable: true, accepted: false };
      if (text === "throw") throw new Error("a bug of the provider");
      if (text === "hang") return new Promise(() => {});
      return { id: "1", model: "m", content: "Back.", finishReason: "stop" };
    },
    stream() { throw new Error("not asked for"); },
  }; } };`;

for (const [way, status] of [
  ["throw", 500],
  ["hang", 502],
] as const) {
  verifies(
    "provider.breaker.trial",
    `a trial whose provider never says how it went (${way}) ends with its call: the next call tries instead`,
    async (t) => {
      const g = await startGateway(t, {
        files: { "obedient.js": OBEDIENT },
        root: { plugins: ["./obedient.js"] },
        server: { request_timeout_ms: 10_000 },
        credentials: [{ name: "own", provider: "obedient" }],
        endpoint: {
          ...{ provider: "obedient", credential: "own", model: "m" },
          failover: [{ credential: "main", model: "gpt-4o" }],
        },
      });
      g.provider.says("From the steady one.");
      const say = (message: string) => g.call({ message });
      for (let call = 1; call <= 5; call++) assertAnswered(await say("fail"));
      assert.equal(assertAnswered(await say("Hello")), "From the steady one.");
      g.clock.advance(OPEN_MS);
      const trial = say(way);
      if (way === "hang") {
        await until(() => g.gateway.openCalls === 1, "the trial is under way");
        assert.equal(assertAnswered(await say("Hello")), "From the steady one.");
        g.clock.advance(10_000);
      }
      assert.equal((await trial).status, status);
      assert.equal(assertAnswered(await say("Hello")), "Back.");
    },
  );
}

verifies("provider.breaker.last", "the last target left is asked, however often it has failed", async (t) => {
  const { g, shaky, asked } = await withShaky(t);
  shaky.answer(statusAnswer(503));
  g.provider.failsWith(503);
  for (let call = 1; call <= 5; call++) await g.call(hello);
  for (let call = 1; call <= 5; call++) assertRefused(await g.call(hello), 502, /^Provider call failed: /);
  assert.deepEqual(asked(), [5, 10]);
});

verifies(
  ["provider.breaker.open", "provider.breaker.trial"],
  "streams count alike: failures before the first content open it, the first content of a trial closes it",
  async (t) => {
    const { g, shaky, asked } = await withShaky(t);
    const errorEvent = sseAnswer([{ error: { message: "overloaded" } }]);
    shaky.answer(errorEvent);
    g.provider.says("From the steady one.");
    for (let call = 1; call <= 6; call++)
      assert.equal(textOf(await (await g.stream(hello)).rest()), "From the steady one.");
    assert.deepEqual(asked(), [5, 6]);
    g.clock.advance(OPEN_MS);
    shaky.answer(sseAnswer([chunk({ content: "Back." }), chunk({}, "stop"), "[DONE]"]));
    assert.equal(textOf(await (await g.stream(hello)).rest()), "Back.");
    assert.equal(textOf(await (await g.stream(hello)).rest()), "Back.");
  },
);
