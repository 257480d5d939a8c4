/** Memory that clients can claim: bodies, unread answers, providers' answers, and what is shed before it hurts. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import type { TestContext } from "node:test";
import {
  DELAY_MS_MAX,
  LATE_SAMPLES,
  OverloadMonitor,
  PROBE_MS,
  SAMPLE_MS,
} from "../../src/gateway/overload.ts";
import type { Clock } from "../../src/plugin/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { type Answer, assertAnswered, assertRefused, at, until } from "./kit/client.ts";
import { echoEntry, PROJECT, TOKENS } from "./kit/config.ts";
import { type Harness, startGateway } from "./kit/gateway.ts";
import { verifies } from "./verifies.ts";

const ROOM = 1_048_576;
const FULL = "The gateway is at its limit of bodies and answers in memory.";
const big = { name: "big", provider: "mock", options: { reply: "answer ".repeat(2_000_000) } };

function start(t: TestContext, server: object = {}): Promise<Harness> {
  return startGateway(t, {
    server: { max_buffered_bytes: ROOM, ...server },
    credentials: [big],
    endpoints: [
      echoEntry({ name: "Echo" }),
      { name: "Big", provider: "mock", model: "m", credential: "big" },
    ],
  });
}

/** Sends the head of a call and part of its body. */
function upload(g: Harness, length: number, sent: number) {
  const lines = ["Host: x", `Authorization: Bearer ${TOKENS.web}`, `Content-Length: ${length}`];
  const head = `POST /api/${PROJECT}/echo HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
  return g.client.dialogue(`${head}{"message":"${"a".repeat(sent - 12)}`);
}

async function buffered(g: Harness): Promise<number> {
  const { text } = await g.admin.send("/metrics", { method: "GET" });
  return Number(/^sluice_buffered_bytes (\d+)/m.exec(text)?.[1]);
}

function assertShed(answer: Answer, message: string): void {
  assertRefused(answer, 503, message);
  assert.equal(answer.headers["retry-after"], "1");
  assert.equal(answer.headers["x-should-retry"], "true");
}

verifies("http.memory.bodies", "a body that does not fit beside others is not read", async (t) => {
  const g = await start(t);
  const first = upload(g, 700_000, 600_000);
  await until(async () => (await buffered(g)) === 700_000, "the first body");
  // Not a byte of this body is sent: its length alone is too much.
  const second = upload(g, 600_000, 12);
  await until(() => g.lines.some((line) => line.includes("buffers_full")), "the refusal");
  assertAnswered(await g.call({ message: "small" }, { slug: "echo" }));
  const head = ["Host: x", `Authorization: Bearer ${TOKENS.web}`, "Transfer-Encoding: chunked"];
  const chunk = `${(700_000).toString(16)}\r\n${"a".repeat(700_000)}\r\n`;
  const chunked = await g.client.raw(
    `POST /api/${PROJECT}/echo HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${chunk}`,
    (text) => text.includes("\r\n\r\n{"),
  );
  assert.match(chunked, /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1/);
  first.write(`${"a".repeat(99_998)}"}`);
  await until(async () => (await buffered(g)) === 0, "nothing is held");
  assertAnswered(await g.call({ message: "a".repeat(900_000) }, { slug: "echo" }));
  first.write("\u0000");
  g.clock.advance(5_000);
  assert.match(await second.answer, /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1/);
});

verifies(
  "http.memory.answers",
  "unread answers count against the limit until they are read or dropped",
  async (t) => {
    const g = await start(t);
    const { hostname, port } = new URL(g.client.origin);
    const deaf = connect(Number(port), hostname);
    deaf.pause().on("error", () => {});
    const lines = ["Host: x", `Authorization: Bearer ${TOKENS.web}`, "Content-Length: 15"];
    deaf.write(`POST /api/${PROJECT}/big HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n{"message":"x"}`);
    await until(async () => (await buffered(g)) > 14_000_000, "an unread answer");
    assertShed(await g.call({ message: "small" }, { slug: "echo" }), FULL);
    deaf.destroy();
    await until(async () => (await buffered(g)) === 0, "nothing is held");
    assertAnswered(await g.call({ message: "small" }, { slug: "echo" }));
    assert.equal(g.gateway.openCalls, 0);
  },
);

verifies("http.memory.upstream", "a provider's answer that does not fit is canceled", async (t) => {
  const g = await start(t);
  g.provider.says("b".repeat(1_200_000));
  assertShed(await g.call({ message: "Hello" }), FULL);
  await until(async () => (await buffered(g)) === 0, "nothing is held");
  g.provider.says("b".repeat(900_000));
  assert.equal(assertAnswered(await g.call({ message: "Hello" })).length, 900_000);
  await until(async () => (await buffered(g)) === 0, "nothing is held");
  const line = g.lines.find((one) => one.includes("buffers_full"));
  assert.equal(at(JSON.parse(line ?? "{}"), "status"), 503);
});

/** A monitor whose heap share and delay are the test's. */
function monitor() {
  const clock = virtualClock();
  const state = { heapShare: 0.2, delayMs: 0 };
  let late = 0;
  const lateClock: Clock = {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs() + late,
    after: (ms, run) =>
      clock.after(ms, () => {
        late += state.delayMs;
        run();
      }),
  };
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const overload = new OverloadMonitor({
    ...{ clock: lateClock, log, isBusy: () => true },
    heapShare: () => state.heapShare,
  });
  return { state, overload, sample: () => clock.advance(SAMPLE_MS) };
}

verifies("http.overload", "a heap that is nearly full sheds all but one call a second", () => {
  const { state, overload, sample } = monitor();
  assert.ok(overload.admits());
  sample();
  assert.ok(overload.admits());
  state.heapShare = 0.9;
  sample();
  assert.equal(overload.admits(), false);
  for (let waited = 0; waited < PROBE_MS; waited += SAMPLE_MS) sample();
  assert.deepEqual([overload.admits(), overload.admits()], [true, false]);
  state.heapShare = 0.8;
  sample();
  assert.ok(overload.shedding, "not before it is well below");
  state.heapShare = 0.5;
  sample();
  assert.deepEqual([overload.admits(), overload.admits()], [true, true]);
  overload.close();
});

verifies("http.overload", "an event loop that stays behind sheds, a single pause does not", () => {
  const { state, overload, sample } = monitor();
  overload.admits();
  state.delayMs = DELAY_MS_MAX + 100;
  sample();
  state.delayMs = 0;
  sample();
  assert.ok(overload.admits());
  state.delayMs = DELAY_MS_MAX + 100;
  for (let late = 0; late < LATE_SAMPLES; late++) sample();
  assert.ok(overload.shedding);
  state.delayMs = 0;
  sample();
  assert.equal(overload.shedding, false);
  overload.close();
});
