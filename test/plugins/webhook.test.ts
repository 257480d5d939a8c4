/** The guardrail that asks a service: what the service is told, what it may answer, and that in doubt nothing passes. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, type TestContext, test } from "node:test";
import {
  type FakeUpstream,
  fakeUpstream,
  hangUpAnswer,
  jsonAnswer,
  type ScriptedAnswer,
  stallAnswer,
  statusAnswer,
  testGuardrail,
} from "sluice/testing";
import webhook from "../../plugins/webhook/index.ts";
import { ConfigError } from "../../src/index.ts";
import { assertAnswered, assertRefused, until } from "../spec/kit/client.ts";
import { echoEntry } from "../spec/kit/config.ts";
import { textOf } from "../spec/kit/event-stream.ts";
import { type Harness, startGateway } from "../spec/kit/gateway.ts";

interface Judged extends Harness {
  readonly judge: FakeUpstream;
}

/** A gateway whose endpoint asks `judge`. */
async function judged(
  t: TestContext,
  use: object = {},
  allow: readonly string[] = ["127.0.0.1"],
): Promise<Judged> {
  const judge = await fakeUpstream();
  t.after(() => judge.close());
  const guardrails = [{ use: "webhook", url: `${judge.url}/judge`, ...use }];
  const g = await startGateway(t, { root: { network: { allow } }, endpoint: echoEntry({ guardrails }) });
  return { ...g, judge };
}

const FAILED = "Request blocked: guardrail 'webhook' could not judge it.";

/** A service that masks one word, as the document describes it. */
const masksWord: ScriptedAnswer = (response, request) => {
  const { text } = JSON.parse(request.body) as { text: string }; // What the test before this one asserts.
  const verdict = text.includes("sombra")
    ? { verdict: "replace", reason: "word", text: text.replaceAll("sombra", "******") }
    : { verdict: "pass" };
  jsonAnswer(verdict)(response, request);
};

test("the service is told the text, whose it is and where it was going", async (t) => {
  const g = await judged(t, { headers: { "x-team": "red" } });
  g.judge.answer(jsonAnswer({ verdict: "pass" }));
  const answer = await g.call({ message: "Hello there." });
  assert.equal(assertAnswered(answer), "Hello there.");
  const [request] = g.judge.requests;
  assert.equal(request?.method, "POST");
  assert.equal(request.path, "/judge");
  assert.equal(request.headers["content-type"], "application/json");
  assert.equal(request.headers["x-team"], "red");
  assert.equal(request.headers["x-gateway-signature"], undefined);
  assert.deepEqual(JSON.parse(request.body), {
    text: "Hello there.",
    side: "input",
    role: "user",
    partial: false,
    project: { uuid: g.gateway.config.projects[0]?.uuid, name: "Support" },
    endpoint: "ask",
    request_id: answer.headers["x-request-id"],
  });
});

test("with a secret the raw body is signed, and the time is told", async (t) => {
  const g = await judged(t, { secret: "${env:GUARD:-hush}" });
  g.judge.answer(jsonAnswer({ verdict: "pass" }));
  assertAnswered(await g.call({ message: "Grüße" }));
  const [request] = g.judge.requests;
  const digest = createHmac("sha256", "hush")
    .update(request?.body ?? "")
    .digest("hex");
  assert.equal(request?.headers["x-gateway-signature"], `sha256=${digest}`);
  assert.equal(request.headers["x-gateway-timestamp"], String(Math.floor(g.clock.nowMs() / 1000)));
});

test("it may block with its own words, or mask by spans or by a whole text", async (t) => {
  const g = await judged(t);
  const cases: readonly (readonly [answer: object, outcome: string | number])[] = [
    [{ verdict: "block", reason: "r", message: "Request blocked: not here." }, 422],
    [{ verdict: "replace", edits: [{ start: 0, end: 5, text: "***" }] }, "*** there"],
    [{ verdict: "replace", reason: "r", text: "Hello you" }, "Hello you"],
    [{ verdict: "replace", text: "" }, ""],
    [{ verdict: "pass", reason: "ignored" }, "Hello there"],
  ];
  g.judge.answer(...cases.map(([answer]) => jsonAnswer(answer)), jsonAnswer({ verdict: "block" }));
  for (const [, outcome] of cases) {
    const answer = await g.call({ message: "Hello there" });
    if (outcome === 422) assertRefused(answer, 422, "Request blocked: not here.");
    else assert.equal(assertAnswered(answer), outcome);
  }
  assertRefused(await g.call({ message: "Hello there" }), 422, "Request blocked: the content was refused.");
});

test("whatever is not an answer blocks the call, or lets it through with on_error allow", async (t) => {
  const wrong: readonly ScriptedAnswer[] = [
    statusAnswer(500),
    statusAnswer(302, "", { location: "/pass" }),
    statusAnswer(200, "not json"),
    jsonAnswer(null),
    jsonAnswer({ verdict: "fine" }),
    jsonAnswer({ verdict: "replace" }),
    jsonAnswer({ verdict: "replace", edits: [{ start: 3, end: 99, text: "" }] }),
    jsonAnswer({ verdict: "replace", edits: [{ start: 3 }, null] }),
    statusAnswer(200, `{"verdict":"pass","x":"${"x".repeat(4_200_000)}"}`),
    hangUpAnswer(),
  ];
  for (const on_error of ["block", "allow"]) {
    const g = await judged(t, { on_error });
    g.judge.answer(...wrong);
    for (const [n] of wrong.entries()) {
      const answer = await g.call({ message: `text ${n}` });
      if (on_error === "block") assertRefused(answer, 422, FAILED);
      else assert.equal(assertAnswered(answer), `text ${n}`);
    }
  }
});

test("a service slower than timeout_ms is canceled, and its connection closed", async (t) => {
  const g = await judged(t, { timeout_ms: 300 });
  g.judge.answer(stallAnswer());
  const call = g.call({ message: "hello" });
  await g.judge.received(1);
  g.clock.advance(300);
  assertRefused(await call, 422, FAILED);
  await until(() => g.judge.connections() === 0, "the connection is closed");
});

test("a private address that network.allow does not name is never asked", async (t) => {
  const g = await judged(t, {}, []);
  assertRefused(await g.call({ message: "hello" }), 422, FAILED);
  assert.equal(g.judge.requests.length, 0);
  assert.ok(g.lines.some((line) => line.includes("127.0.0.1 is a loopback address")));
});

test("an address that is not a URL is refused when the configuration is loaded, at its guardrail", async (t) => {
  const guardrails = [{ use: "webhook", url: "https://judge.example:99999/" }];
  await assert.rejects(startGateway(t, { endpoint: echoEntry({ guardrails }) }), (error: unknown) => {
    assert.ok(error instanceof ConfigError);
    const [fault] = error.errors;
    assert.equal(fault?.code, "E0900");
    assert.match(fault.message, /url is no URL/);
    assert.ok(fault.line > 1, "it names the line");
    return true;
  });
});

test("a streamed answer is held to its window, and masked before the client sees it", async (t) => {
  const g = await judged(t, { on: ["output"], window: 10 });
  g.judge.answer(masksWord);
  const stream = await g.stream({ message: "There is light and there is sombra, and then light again." });
  assert.equal(textOf(await stream.rest()), "There is light and there is ******, and then light again.");
});

const service = await fakeUpstream();
service.answer(masksWord);
after(() => service.close());
testGuardrail(webhook, {
  options: { url: service.url, window: 12 },
  pass: ["all is light"],
  mask: [{ text: "la sombra, pues", becomes: "la ******, pues" }],
});
