/** Webhooks against real receivers: what they get, in which order, and what is recorded of each attempt. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GATEWAY_WIDE } from "../../src/audit/audit.ts";
import type { FakeUpstream, ScriptedAnswer, UpstreamRequest } from "../../src/testing/fake-upstream.ts";
import { WAITING_BYTES_MAX, WAITING_MAX, WAITING_PER_WEBHOOK_MAX } from "../../src/webhooks/webhooks.ts";
import { at, until } from "../spec/kit/client.ts";
import { verifies } from "../spec/verifies.ts";
import {
  accept,
  deliveriesOf,
  eventOf,
  HAS_OPENSSL,
  hang,
  type Office,
  openOffice,
  PROJECT_UUID,
  projectOf,
  receiver,
  SECRET,
  verifyWithOpenssl,
  verifyWithStandard,
  webhookOf,
} from "../telemetry/kit.ts";

const ASKER = { actor: "platform-team", ipAddress: "127.0.0.1" };

const field = ({ body }: UpstreamRequest, ...path: string[]): unknown => at(JSON.parse(body), ...path);
const targetsOf = ({ requests }: FakeUpstream): unknown[] => requests.map((one) => field(one, "target"));

/** Until nothing waits and `count` deliveries have their record. */
async function settled(office: Office, count: number, webhook = "siem"): Promise<void> {
  await until(() => deliveriesOf(office, webhook).length >= count, `${count} deliveries of ${webhook}`);
}

test("every delivery verifies with openssl alone", { skip: !HAS_OPENSSL && "NO OPENSSL HERE" }, async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t);
  office.webhooks.configure([projectOf(webhookOf(siem.url))]);
  for (const target of ["web", "Zoë ☕", '"quoted"\n']) office.trail.record(eventOf({ target }));
  await siem.received(3);
  for (const request of siem.requests) verifyWithOpenssl(request, SECRET);
});

test("every delivery verifies with the reference receiver of Standard Webhooks, by either secret", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t);
  office.webhooks.configure([projectOf(webhookOf(siem.url, { secret: ["new plain secret", SECRET] }))]);
  for (const target of ["web", "Zoë ☕", '"quoted"\n']) office.trail.record(eventOf({ target }));
  await siem.received(3);
  for (const request of siem.requests) {
    verifyWithStandard(request, "new plain secret");
    verifyWithStandard(request, SECRET);
  }
  const ids = siem.requests.map(({ headers }) => headers["webhook-id"]);
  assert.equal(new Set(ids).size, 3);
});

/** What one attempt at a receiver that plays `answer` comes to. `wait`: time passes once the request is there. */
async function attempt(t: Parameters<typeof openOffice>[0], answer: ScriptedAnswer, waitMs = 0) {
  const office = openOffice(t);
  const siem = await receiver(t, answer, accept);
  office.webhooks.configure([projectOf(webhookOf(siem.url))]);
  office.trail.record(eventOf());
  await siem.received(1);
  if (waitMs > 0) {
    office.clock.advance(waitMs - 1);
    assert.equal(deliveriesOf(office).length, 0);
    office.clock.advance(1);
  }
  await settled(office, 1);
  // The next one comes after it: a second attempt would show by then.
  office.trail.record(eventOf({ target: "next" }));
  await settled(office, 2);
  assert.deepEqual(targetsOf(siem), ["web", "next"]);
  const [first, second] = deliveriesOf(office);
  assert.equal(second?.success, true);
  return { record: first, office };
}

test("a receiver's 2xx is success, and its answer is recorded", async (t) => {
  const { record, office } = await attempt(t, (response) => response.writeHead(202).end("thanks"));
  assert.match(record?.id ?? "", /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    { ...record, id: "", request_body: "" },
    {
      id: "",
      event: "token.revoked",
      webhook: "siem",
      project_uuid: PROJECT_UUID,
      message_id: (await office.store.audit.query({ limit: 2 }))[1]?.id,
      attempted_at: new Date(office.clock.nowMs()).toISOString(),
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

test("a receiver that hangs is given up after ten seconds", async (t) => {
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
    // The rest never comes: nobody but the gateway ends this.
    response.writeHead(200, { "content-length": 10_000_000 }).write("x".repeat(5_000_000));
  });
  assert.equal(record?.success, true);
  assert.ok(record?.response_body === "x".repeat(16_384));
  await until(() => closed, "the receiver sees its answer cut off");
});

test("a receiver that nobody can reach is a failure with its reason", async (t) => {
  const office = openOffice(t);
  const gone = await receiver(t);
  await gone.close();
  // Closed once more when the test ends.
  gone.close = async () => {};
  office.webhooks.configure([projectOf(webhookOf(gone.url))]);
  office.trail.record(eventOf());
  await settled(office, 1);
  assert.equal(deliveriesOf(office)[0]?.error, "unreachable (ECONNREFUSED)");
});

test("a receiver at an inner address is not asked unless `network.allow` names it", async (t) => {
  const office = openOffice(t);
  office.webhooks.configure([projectOf(webhookOf("http://[::1]:9/hook"))]);
  office.trail.record(eventOf());
  await settled(office, 1);
  assert.match(deliveriesOf(office)[0]?.error ?? "", /^blocked by the SSRF guard: /);
});

test("a thousand events reach nine receivers in order, while a tenth is dead", async (t) => {
  const office = openOffice(t);
  const dead = await receiver(t, hang);
  const alive = await Promise.all(Array.from({ length: 9 }, () => receiver(t)));
  const receivers = [dead, ...alive];
  const webhooks = receivers.map(({ url }, n) => webhookOf(url, { name: `w${n}` }));
  office.webhooks.configure([projectOf(...webhooks)]);
  for (let n = 0; n < 1000; n++) office.trail.record(eventOf({ target: `t${n}` }));
  const expected = Array.from({ length: 1000 }, (_, n) => `t${n}`);
  await Promise.all(alive.map((one) => one.received(1000)));
  for (const one of alive) assert.deepEqual(targetsOf(one), expected);
  assert.deepEqual(targetsOf(dead), ["t0"]);
  assert.equal(office.webhooks.waiting, 999);
  office.clock.advance(10_000);
  await dead.received(2);
  assert.deepEqual(targetsOf(dead), ["t0", "t1"]);
});

test("what is too much is dropped, with a record and a count; order of the rest is kept", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t, hang);
  office.webhooks.configure([projectOf(webhookOf(siem.url))]);
  office.trail.record(eventOf({ target: "first" }));
  await siem.received(1);
  for (let n = 0; n < WAITING_PER_WEBHOOK_MAX + 2; n++) office.trail.record(eventOf({ target: `t${n}` }));
  assert.equal(office.webhooks.waiting, WAITING_PER_WEBHOOK_MAX);
  const dropped = deliveriesOf(office);
  assert.equal(dropped.length, 2);
  assert.equal(dropped[0]?.error, `not sent: ${WAITING_PER_WEBHOOK_MAX} deliveries were waiting`);
  assert.equal(at(JSON.parse(dropped[0]?.request_body ?? ""), "target"), `t${WAITING_PER_WEBHOOK_MAX}`);
  const text = await office.metrics.text();
  assert.match(text, /^sluice_webhook_deliveries_total\{[^}]*outcome="dropped"[^}]*\} 2$/m);
  assert.match(text, new RegExp(`^sluice_webhook_queue ${WAITING_PER_WEBHOOK_MAX}$`, "m"));
});

verifies(
  "webhook.queue.kinds",
  "blocked calls leave half of a webhook's queue to changes and sign-ins",
  async (t) => {
    const office = openOffice(t);
    const siem = await receiver(t, hang);
    const events = ["guardrail.blocked", "auth.login_failed", "token.revoked"];
    office.webhooks.configure([projectOf(webhookOf(siem.url, { events }))]);
    office.trail.record(eventOf({ target: "first" }));
    await siem.received(1);
    const flood = (event: string): void => {
      for (let n = 0; n < WAITING_PER_WEBHOOK_MAX; n++) office.trail.record(eventOf({ event }));
    };
    flood("guardrail.blocked");
    assert.equal(office.webhooks.waiting, WAITING_PER_WEBHOOK_MAX / 2);
    flood("auth.login_failed");
    assert.equal(office.webhooks.waiting, (WAITING_PER_WEBHOOK_MAX * 3) / 4);
    flood("token.revoked");
    assert.equal(office.webhooks.waiting, WAITING_PER_WEBHOOK_MAX);
  },
);

test("what waits is bounded in bytes as well", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t, hang);
  office.webhooks.configure([projectOf(webhookOf(siem.url))]);
  office.trail.record(eventOf({ target: "first" }));
  await siem.received(1);
  for (let n = 0; n < 100; n++) office.trail.record(eventOf({ target: "x".repeat(1 << 20) }));
  assert.equal(office.webhooks.waiting, WAITING_BYTES_MAX / (2 << 20));
});

test("many webhooks share the room for what waits", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t);
  const webhooks = Array.from({ length: 100 }, (_, n) => webhookOf(siem.url, { name: `w${n}` }));
  office.webhooks.configure([projectOf(...webhooks)]);
  for (let n = 0; n < WAITING_MAX / 100 + 1; n++) office.trail.record(eventOf());
  assert.equal(office.webhooks.waiting, WAITING_MAX);
  office.webhooks.configure([]);
  assert.equal(office.webhooks.waiting, 0);
  assert.equal(at(JSON.parse(office.lines.at(-1) ?? ""), "events"), WAITING_MAX / 100);
});

test("a webhook hears of its own project's events that it names, of the gateway's own, and not when inactive", async (t) => {
  const office = openOffice(t);
  const [own, other, off] = [await receiver(t), await receiver(t), await receiver(t)];
  const events = ["token.revoked", "auth.login_failed"];
  office.webhooks.configure([
    projectOf(webhookOf(own.url, { events }), webhookOf(off.url, { name: "off", events, active: false })),
    { id: 8, name: "Other", uuid: "other", webhooks: [webhookOf(other.url, { name: "other", events })] },
  ]);
  office.trail.record(eventOf());
  office.trail.record(eventOf({ event: "token.created" }));
  office.trail.record(eventOf({ event: "auth.login_failed", project: GATEWAY_WIDE, target: "admin" }));
  office.trail.record(eventOf({ target: "last" }));
  await settled(office, 3);
  await settled(office, 1, "other");
  assert.deepEqual(targetsOf(own), ["web", "admin", "last"]);
  assert.deepEqual(targetsOf(other), ["admin"]);
  assert.deepEqual(targetsOf(off), []);
  assert.deepEqual(field(other.requests[0] ?? assert.fail(), "project"), { id: 0, name: "", uuid: "" });
});

test("a reload keeps what waits, for the address and the secrets that it brings", async (t) => {
  const office = openOffice(t);
  const [old, young] = [await receiver(t, hang), await receiver(t)];
  office.webhooks.configure([projectOf(webhookOf(old.url))]);
  for (const target of ["a", "b", "c"]) office.trail.record(eventOf({ target }));
  await old.received(1);
  office.webhooks.configure([projectOf(webhookOf(young.url, { secret: ["rotated"] }))]);
  office.clock.advance(10_000);
  await settled(office, 3);
  assert.deepEqual(targetsOf(old), ["a"]);
  assert.deepEqual(targetsOf(young), ["b", "c"]);
  for (const request of young.requests) verifyWithStandard(request, "rotated");
});

test("a test goes ahead of what waits, to a webhook that did not ask for it, and answers with its record", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t, hang);
  const off = webhookOf(siem.url, { name: "off", active: false });
  office.webhooks.configure([projectOf(webhookOf(siem.url), off)]);
  office.trail.record(eventOf({ target: "a" }));
  office.trail.record(eventOf({ target: "b" }));
  await siem.received(1);
  const sent = office.webhooks.sendTest(PROJECT_UUID, "siem", ASKER);
  siem.answer(accept);
  office.clock.advance(10_000);
  const record = await sent;
  assert.ok(typeof record === "object");
  assert.equal(record.success, true);
  assert.equal(record.event, "webhook.test");
  await settled(office, 3);
  assert.deepEqual(targetsOf(siem), ["a", "siem", "b"]);
  const request = siem.requests[1] ?? assert.fail();
  assert.equal(request.headers["x-gateway-event"], "webhook.test");
  assert.equal(field(request, "actor"), "platform-team");
  assert.deepEqual(field(request, "project"), { id: 7, name: "Support", uuid: PROJECT_UUID });
  verifyWithStandard(request, SECRET);
  assert.equal(office.webhooks.sendTest(PROJECT_UUID, "off", ASKER), "inactive");
  assert.equal(office.webhooks.sendTest(PROJECT_UUID, "none", ASKER), "unknown");
  assert.equal(office.webhooks.sendTest("none", "siem", ASKER), "unknown");
});

test("draining sends what waits", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t);
  office.webhooks.configure([projectOf(webhookOf(siem.url))]);
  for (let n = 0; n < 50; n++) office.trail.record(eventOf());
  await office.webhooks.drain(30_000);
  assert.equal(siem.requests.length, 50);
  // The connection is kept for a moment, and drained without a timer left.
  office.clock.advance(500);
  assert.equal(office.clock.pendingTimers(), 0);
  office.trail.record(eventOf());
  assert.equal(office.webhooks.waiting, 0);
  const late = await office.webhooks.sendTest(PROJECT_UUID, "siem", ASKER);
  assert.equal(at(late, "error"), "not sent: the queue takes no more");
});

test("draining ends when its time is up, and says what was not sent", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t, hang);
  office.webhooks.configure([projectOf(webhookOf(siem.url))]);
  for (const target of ["a", "b"]) office.trail.record(eventOf({ target }));
  await siem.received(1);
  const drained = office.webhooks.drain(5000);
  office.clock.advance(5000);
  await drained;
  const [line] = office.lines.map((text) => JSON.parse(text));
  assert.equal(at(line, "msg"), "webhook deliveries were not sent: the gateway has stopped");
  assert.equal(at(line, "events"), 1);
  assert.deepEqual(targetsOf(siem), ["a"]);
});

test("the log has one line when a webhook starts to fail, one when it is well again, and no address", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t, (response) => response.writeHead(500).end());
  office.webhooks.configure([projectOf(webhookOf(`${siem.url}/hook?key=in-the-address`))]);
  for (let n = 0; n < 3; n++) office.trail.record(eventOf());
  await settled(office, 3);
  siem.answer(accept);
  for (let n = 0; n < 3; n++) office.trail.record(eventOf());
  await settled(office, 6);
  const said = office.lines.map((line) => at(JSON.parse(line), "msg"));
  assert.deepEqual(said, ["a webhook delivery failed", "webhook deliveries succeed again"]);
  assert.doesNotMatch(office.lines.join(), /in-the-address|127\.0\.0\.1/);
});

test("no secret is in what is sent, logged, recorded or counted, even when a receiver says it", async (t) => {
  const office = openOffice(t);
  const siem = await receiver(t, (response) =>
    response.writeHead(401).end(`the secret is ${SECRET} and not that`),
  );
  office.webhooks.configure([projectOf(webhookOf(siem.url, { secret: [SECRET, "second-secret"] }))]);
  office.trail.record(eventOf());
  await settled(office, 1);
  assert.equal(deliveriesOf(office)[0]?.response_body, "the secret is *** and not that");
  const everything = [
    JSON.stringify(siem.requests),
    JSON.stringify(deliveriesOf(office)),
    JSON.stringify(await office.store.audit.query({ limit: 100 })),
    office.lines.join(),
    await office.metrics.text(),
  ].join();
  for (const secret of [SECRET, SECRET.slice(6), "second-secret"]) {
    assert.ok(!everything.includes(secret));
  }
});
