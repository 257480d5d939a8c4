/** The dispatcher against real receivers: what they get, in which order, and what is recorded of each attempt. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GATEWAY_WIDE } from "../../src/audit/audit.ts";
import type { FakeUpstream, ScriptedAnswer, UpstreamRequest } from "../../src/testing/fake-upstream.ts";
import { WAITING_BYTES_MAX, WAITING_MAX, WAITING_PER_WEBHOOK_MAX } from "../../src/webhooks/dispatcher.ts";
import { at, until } from "../spec/kit/client.ts";
import { verifies } from "../spec/verifies.ts";
import {
  ALLOW,
  accept,
  type DispatcherSetup,
  deliveriesOf,
  eventOf,
  HAS_OPENSSL,
  hang,
  PROJECT_UUID,
  projectOf,
  receiver,
  SECRET,
  startDispatcher,
  verifyWithOpenssl,
  verifyWithStandard,
  webhookOf,
} from "./kit.ts";

const REQUESTER = { actor: "platform-team", ipAddress: "127.0.0.1" };

const field = ({ body }: UpstreamRequest, ...path: string[]): unknown => at(JSON.parse(body), ...path);
const targetsOf = ({ requests }: FakeUpstream): unknown[] => requests.map((one) => field(one, "target"));

/** Resolves when `count` deliveries have their record. */
async function settled(setup: DispatcherSetup, count: number, webhook = "siem"): Promise<void> {
  await until(() => deliveriesOf(setup, webhook).length >= count, `${count} deliveries of ${webhook}`);
}

test("every delivery verifies with openssl alone", { skip: !HAS_OPENSSL && "NO OPENSSL HERE" }, async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.webhooks.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (const target of ["web", "Zoë ☕", '"quoted"\n']) setup.trail.record(eventOf({ target }));
  await siem.received(3);
  for (const request of siem.requests) verifyWithOpenssl(request, SECRET);
});

test("every delivery verifies with the reference receiver of Standard Webhooks, by either secret", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.webhooks.configure([projectOf(webhookOf(siem.url, { secret: ["new plain secret", SECRET] }))], ALLOW);
  for (const target of ["web", "Zoë ☕", '"quoted"\n']) setup.trail.record(eventOf({ target }));
  await siem.received(3);
  for (const request of siem.requests) {
    verifyWithStandard(request, "new plain secret");
    verifyWithStandard(request, SECRET);
  }
  const ids = siem.requests.map(({ headers }) => headers["webhook-id"]);
  assert.equal(new Set(ids).size, 3);
});

/** One attempt at a receiver that plays `answer`. `waitMs`: advanced once the request has arrived. */
async function attempt(t: Parameters<typeof startDispatcher>[0], answer: ScriptedAnswer, waitMs = 0) {
  const setup = startDispatcher(t);
  const siem = await receiver(t, answer, accept);
  setup.webhooks.configure([projectOf(webhookOf(siem.url))], ALLOW);
  setup.trail.record(eventOf());
  await siem.received(1);
  if (waitMs > 0) {
    setup.clock.advance(waitMs - 1);
    assert.equal(deliveriesOf(setup).length, 0);
    setup.clock.advance(1);
  }
  await settled(setup, 1);
  // The next one comes after it: a second attempt would show by then.
  setup.trail.record(eventOf({ target: "next" }));
  await settled(setup, 2);
  assert.deepEqual(targetsOf(siem), ["web", "next"]);
  const [first, second] = deliveriesOf(setup);
  assert.equal(second?.success, true);
  return { record: first, setup };
}

test("a receiver's 2xx is success, and its answer is recorded", async (t) => {
  const { record, setup } = await attempt(t, (response) => response.writeHead(202).end("thanks"));
  assert.match(record?.id ?? "", /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    { ...record, id: "", request_body: "" },
    {
      id: "",
      event: "token.revoked",
      webhook: "siem",
      project_uuid: PROJECT_UUID,
      message_id: (await setup.store.audit.query({ limit: 2 }))[1]?.id,
      attempted_at: new Date(setup.clock.nowMs()).toISOString(),
      duration_ms: 0,
      request_body: "",
      response_status: 202,
      response_body: "thanks",
      success: true,
      error: null,
    },
  );
});

test("a receiver that answers 500 gets one attempt, and its answer is recorded", async (t) => {
  const { record } = await attempt(t, (response) => response.writeHead(500).end("no database"));
  assert.equal(record?.success, false);
  assert.equal(record?.response_status, 500);
  assert.equal(record?.response_body, "no database");
  assert.equal(record?.error, null);
});

test("a receiver that redirects is not followed", async (t) => {
  const elsewhere = await receiver(t);
  const { record } = await attempt(t, (response) =>
    response.writeHead(307, { location: elsewhere.url }).end(),
  );
  assert.equal(record?.response_status, 307);
  assert.equal(record?.success, false);
  assert.equal(elsewhere.requests.length, 0);
});

test("a delivery to a receiver that hangs is canceled after ten seconds", async (t) => {
  const { record } = await attempt(t, hang, 10_000);
  assert.equal(record?.success, false);
  assert.equal(record?.response_status, null);
  assert.equal(record?.response_body, null);
  assert.equal(record?.error, "timed out after 10000 ms");
  assert.equal(record?.duration_ms, 10_000);
});

test("a receiver that resets the connection gets one attempt", async (t) => {
  const { record } = await attempt(t, (response) => response.socket?.resetAndDestroy());
  assert.equal(record?.success, false);
  assert.equal(record?.response_status, null);
  assert.match(record?.error ?? "", /^unreachable/);
});

test("of an answer of ten megabytes 16 KiB are read, and the connection is closed", async (t) => {
  let closed = false;
  const { record } = await attempt(t, (response) => {
    response.on("close", () => (closed = true));
    // The rest is never sent: only the gateway can end this.
    response.writeHead(200, { "content-length": 10_000_000 }).write("x".repeat(5_000_000));
  });
  assert.equal(record?.success, true);
  assert.ok(record?.response_body === "x".repeat(16_384));
  await until(() => closed, "the receiver sees its answer cut off");
});

test("an unreachable receiver is a failure with its reason", async (t) => {
  const setup = startDispatcher(t);
  const gone = await receiver(t);
  await gone.close();
  // Closed once more when the test ends.
  gone.close = async () => {};
  setup.webhooks.configure([projectOf(webhookOf(gone.url))], ALLOW);
  setup.trail.record(eventOf());
  await settled(setup, 1);
  assert.equal(deliveriesOf(setup)[0]?.error, "unreachable (ECONNREFUSED)");
});

test("a receiver at a private address is not called unless `network.allow` names it", async (t) => {
  const setup = startDispatcher(t);
  setup.webhooks.configure([projectOf(webhookOf("http://[::1]:9/hook"))], ALLOW);
  setup.trail.record(eventOf());
  await settled(setup, 1);
  assert.match(deliveriesOf(setup)[0]?.error ?? "", /^blocked by the SSRF guard: /);
});

test("a thousand events reach nine receivers in order, while a tenth is dead", async (t) => {
  const setup = startDispatcher(t);
  const dead = await receiver(t, hang);
  const alive = await Promise.all(Array.from({ length: 9 }, () => receiver(t)));
  const receivers = [dead, ...alive];
  const webhooks = receivers.map(({ url }, n) => webhookOf(url, { name: `w${n}` }));
  setup.webhooks.configure([projectOf(...webhooks)], ALLOW);
  for (let n = 0; n < 1000; n++) setup.trail.record(eventOf({ target: `t${n}` }));
  const expected = Array.from({ length: 1000 }, (_, n) => `t${n}`);
  await Promise.all(alive.map((one) => one.received(1000)));
  for (const one of alive) assert.deepEqual(targetsOf(one), expected);
  assert.deepEqual(targetsOf(dead), ["t0"]);
  assert.equal(setup.webhooks.waiting, 999);
  setup.clock.advance(10_000);
  await dead.received(2);
  assert.deepEqual(targetsOf(dead), ["t0", "t1"]);
});

test("the excess is dropped, with a record and a count, and the order of the rest is kept", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, hang);
  setup.webhooks.configure([projectOf(webhookOf(siem.url))], ALLOW);
  setup.trail.record(eventOf({ target: "first" }));
  await siem.received(1);
  for (let n = 0; n < WAITING_PER_WEBHOOK_MAX + 2; n++) setup.trail.record(eventOf({ target: `t${n}` }));
  assert.equal(setup.webhooks.waiting, WAITING_PER_WEBHOOK_MAX);
  const dropped = deliveriesOf(setup);
  assert.equal(dropped.length, 2);
  assert.equal(dropped[0]?.error, `not sent: ${WAITING_PER_WEBHOOK_MAX} deliveries were queued`);
  assert.equal(at(JSON.parse(dropped[0]?.request_body ?? ""), "target"), `t${WAITING_PER_WEBHOOK_MAX}`);
  const text = await setup.metrics.text();
  assert.match(text, /^sluice_webhook_deliveries_total\{[^}]*outcome="dropped"[^}]*\} 2$/m);
  assert.match(text, new RegExp(`^sluice_webhook_queue ${WAITING_PER_WEBHOOK_MAX}$`, "m"));
});

verifies(
  "webhook.queue.kinds",
  "blocked calls leave half of a webhook's queue to changes and sign-ins",
  async (t) => {
    const setup = startDispatcher(t);
    const siem = await receiver(t, hang);
    const events = ["guardrail.blocked", "auth.login_failed", "token.revoked"];
    setup.webhooks.configure([projectOf(webhookOf(siem.url, { events }))], ALLOW);
    setup.trail.record(eventOf({ target: "first" }));
    await siem.received(1);
    const flood = (event: string): void => {
      for (let n = 0; n < WAITING_PER_WEBHOOK_MAX; n++) setup.trail.record(eventOf({ event }));
    };
    flood("guardrail.blocked");
    assert.equal(setup.webhooks.waiting, WAITING_PER_WEBHOOK_MAX / 2);
    flood("auth.login_failed");
    assert.equal(setup.webhooks.waiting, (WAITING_PER_WEBHOOK_MAX * 3) / 4);
    flood("token.revoked");
    assert.equal(setup.webhooks.waiting, WAITING_PER_WEBHOOK_MAX);
  },
);

test("queues are bounded in bytes as well", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, hang);
  setup.webhooks.configure([projectOf(webhookOf(siem.url))], ALLOW);
  setup.trail.record(eventOf({ target: "first" }));
  await siem.received(1);
  for (let n = 0; n < 100; n++) setup.trail.record(eventOf({ target: "x".repeat(1 << 20) }));
  assert.equal(setup.webhooks.waiting, WAITING_BYTES_MAX / (2 << 20));
});

test("many webhooks share the capacity of the queues", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  const webhooks = Array.from({ length: 100 }, (_, n) => webhookOf(siem.url, { name: `w${n}` }));
  setup.webhooks.configure([projectOf(...webhooks)], ALLOW);
  for (let n = 0; n < WAITING_MAX / 100 + 1; n++) setup.trail.record(eventOf());
  assert.equal(setup.webhooks.waiting, WAITING_MAX);
  setup.webhooks.configure([], ALLOW);
  assert.equal(setup.webhooks.waiting, 0);
  assert.equal(at(JSON.parse(setup.lines.at(-1) ?? ""), "events"), WAITING_MAX / 100);
});

test("an active webhook receives the events that it names, of its project and of the whole gateway", async (t) => {
  const setup = startDispatcher(t);
  const [own, other, off] = [await receiver(t), await receiver(t), await receiver(t)];
  const events = ["token.revoked", "auth.login_failed"];
  setup.webhooks.configure(
    [
      projectOf(webhookOf(own.url, { events }), webhookOf(off.url, { name: "off", events, active: false })),
      { id: 8, name: "Other", uuid: "other", webhooks: [webhookOf(other.url, { name: "other", events })] },
    ],
    ALLOW,
  );
  setup.trail.record(eventOf());
  setup.trail.record(eventOf({ event: "token.created" }));
  setup.trail.record(eventOf({ event: "auth.login_failed", project: GATEWAY_WIDE, target: "admin" }));
  setup.trail.record(eventOf({ target: "last" }));
  await settled(setup, 3);
  await settled(setup, 1, "other");
  assert.deepEqual(targetsOf(own), ["web", "admin", "last"]);
  assert.deepEqual(targetsOf(other), ["admin"]);
  assert.deepEqual(targetsOf(off), []);
  assert.deepEqual(field(other.requests[0] ?? assert.fail(), "project"), { id: 0, name: "", uuid: "" });
});

test("a reload keeps queued deliveries and sends them with the new address and secrets", async (t) => {
  const setup = startDispatcher(t);
  const [old, young] = [await receiver(t, hang), await receiver(t)];
  setup.webhooks.configure([projectOf(webhookOf(old.url))], ALLOW);
  for (const target of ["a", "b", "c"]) setup.trail.record(eventOf({ target }));
  await old.received(1);
  setup.webhooks.configure([projectOf(webhookOf(young.url, { secret: ["rotated"] }))], ALLOW);
  setup.clock.advance(10_000);
  await settled(setup, 3);
  assert.deepEqual(targetsOf(old), ["a"]);
  assert.deepEqual(targetsOf(young), ["b", "c"]);
  for (const request of young.requests) verifyWithStandard(request, "rotated");
});

test("a test goes ahead of the queue, to a webhook that does not subscribe to it, and returns its record", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, hang);
  const off = webhookOf(siem.url, { name: "off", active: false });
  setup.webhooks.configure([projectOf(webhookOf(siem.url), off)], ALLOW);
  setup.trail.record(eventOf({ target: "a" }));
  setup.trail.record(eventOf({ target: "b" }));
  await siem.received(1);
  const sent = setup.webhooks.sendTest(PROJECT_UUID, "siem", REQUESTER);
  siem.answer(accept);
  setup.clock.advance(10_000);
  const record = await sent;
  assert.ok(typeof record === "object");
  assert.equal(record.success, true);
  assert.equal(record.event, "webhook.test");
  await settled(setup, 3);
  assert.deepEqual(targetsOf(siem), ["a", "siem", "b"]);
  const request = siem.requests[1] ?? assert.fail();
  assert.equal(request.headers["x-gateway-event"], "webhook.test");
  assert.equal(field(request, "actor"), "platform-team");
  assert.deepEqual(field(request, "project"), { id: 7, name: "Support", uuid: PROJECT_UUID });
  verifyWithStandard(request, SECRET);
  assert.equal(setup.webhooks.sendTest(PROJECT_UUID, "off", REQUESTER), "inactive");
  assert.equal(setup.webhooks.sendTest(PROJECT_UUID, "none", REQUESTER), "unknown");
  assert.equal(setup.webhooks.sendTest("none", "siem", REQUESTER), "unknown");
});

test("draining sends what is queued", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.webhooks.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (let n = 0; n < 50; n++) setup.trail.record(eventOf());
  await setup.webhooks.drain(30_000);
  assert.equal(siem.requests.length, 50);
  // The connection is kept for a moment, and drained without a timer left.
  setup.clock.advance(500);
  assert.equal(setup.clock.pendingTimers(), 0);
  setup.trail.record(eventOf());
  assert.equal(setup.webhooks.waiting, 0);
  const late = await setup.webhooks.sendTest(PROJECT_UUID, "siem", REQUESTER);
  assert.equal(at(late, "error"), "not sent: the queue is full or closed");
});

test("draining stops at its timeout and logs what was not sent", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, hang);
  setup.webhooks.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (const target of ["a", "b"]) setup.trail.record(eventOf({ target }));
  await siem.received(1);
  const drained = setup.webhooks.drain(5000);
  setup.clock.advance(5000);
  await drained;
  const [line] = setup.lines.map((text) => JSON.parse(text));
  assert.equal(at(line, "msg"), "webhook deliveries were not sent: the gateway has stopped");
  assert.equal(at(line, "events"), 1);
  assert.deepEqual(targetsOf(siem), ["a"]);
});

test("the log has one line when a webhook starts to fail, one when it recovers, and no address", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, (response) => response.writeHead(500).end());
  setup.webhooks.configure([projectOf(webhookOf(`${siem.url}/hook?key=in-the-address`))], ALLOW);
  for (let n = 0; n < 3; n++) setup.trail.record(eventOf());
  await settled(setup, 3);
  siem.answer(accept);
  for (let n = 0; n < 3; n++) setup.trail.record(eventOf());
  await settled(setup, 6);
  const said = setup.lines.map((line) => at(JSON.parse(line), "msg"));
  assert.deepEqual(said, ["webhook delivery failed", "webhook deliveries succeed again"]);
  assert.doesNotMatch(setup.lines.join(), /in-the-address|127\.0\.0\.1/);
});

test("no secret is sent, logged, recorded or counted, even when a receiver echoes it", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, (response) =>
    response.writeHead(401).end(`the secret is ${SECRET} and not that`),
  );
  setup.webhooks.configure([projectOf(webhookOf(siem.url, { secret: [SECRET, "second-secret"] }))], ALLOW);
  setup.trail.record(eventOf());
  await settled(setup, 1);
  assert.equal(deliveriesOf(setup)[0]?.response_body, "the secret is *** and not that");
  const everything = [
    JSON.stringify(siem.requests),
    JSON.stringify(deliveriesOf(setup)),
    JSON.stringify(await setup.store.audit.query({ limit: 100 })),
    setup.lines.join(),
    await setup.metrics.text(),
  ].join();
  for (const secret of [SECRET, SECRET.slice(6), "second-secret"]) {
    assert.ok(!everything.includes(secret));
  }
});
