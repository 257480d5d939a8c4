/** Webhooks from a thread of their own: the real thread, real receivers, and threads that die or do not listen. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { GATEWAY_WIDE } from "../../src/audit/audit.ts";
import { startThread } from "../../src/base/thread.ts";
import type { AuditRecord } from "../../src/plugin/store.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { deliveryMetrics } from "../../src/webhooks/metrics.ts";
import { ThreadedCourier, UNTAKEN_MAX } from "../../src/webhooks/threaded-courier.ts";
import { at, until } from "../spec/kit/client.ts";
import type { Closer } from "../spec/kit/gateway.ts";
import { countingRandom } from "../state/counting-random.ts";
import {
  accept,
  eventOf,
  hang,
  PROJECT_UUID,
  projectOf,
  receiver,
  SECRET,
  verifyWithStandard,
  webhookOf,
} from "../telemetry/kit.ts";

const ALLOW = ["127.0.0.0/8"];
const ASKER = { actor: "platform-team", ipAddress: "127.0.0.1" };
const random = countingRandom();

interface Desk {
  readonly courier: ThreadedCourier;
  /** Of restarts and of hanging threads; the thread itself goes by the machine's. */
  readonly clock: VirtualClock;
  /** Threads that were started. */
  readonly workers: Worker[];
  readonly lines: string[];
  metrics(): Promise<string>;
}

const gatewayThread = (): Worker =>
  startThread(new URL("../../src/webhooks/courier-worker.ts", import.meta.url), { env: {} });
/** Hears everything, does nothing. */
const deafThread = (): Worker =>
  new Worker('require("node:worker_threads").parentPort.on("message", () => {})', { eval: true });

function openDesk(t: Closer, thread: () => Worker = gatewayThread): Desk {
  const clock = virtualClock();
  const lines: string[] = [];
  const log = createLog("info", (line) => lines.push(line));
  const metrics = createMetrics();
  const workers: Worker[] = [];
  const start = (): Worker => {
    const worker = thread();
    workers.push(worker);
    return worker;
  };
  const count = deliveryMetrics(metrics, () => courier.waiting);
  const courier = new ThreadedCourier({ clock, random, log, count, start });
  t.after(async () => {
    const drained = courier.drain(0);
    clock.advance(2000);
    await drained;
    await Promise.all(workers.map((worker) => worker.terminate()));
    metrics.close();
  });
  return { courier, clock, workers, lines, metrics: () => metrics.text() };
}

const recordOf = (fields: Partial<AuditRecord> = {}): AuditRecord => ({
  id: random.uuid(),
  occurredAtMs: Date.UTC(2026, 4, 15, 12),
  ...eventOf(fields),
});

const targetOf = ({ body }: { readonly body: string }): unknown => at(JSON.parse(body), "target");
const messagesOf = ({ lines }: Desk): unknown[] => lines.map((line) => at(JSON.parse(line), "msg"));

test("the thread delivers in order, signed, and answers for its records; the counts are here", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t);
  desk.courier.configure([projectOf(webhookOf(siem.url))], ALLOW);
  const targets = Array.from({ length: 500 }, (_, n) => `t${n}`);
  for (const target of targets) desk.courier.notify(recordOf({ target }));
  await siem.received(500);
  assert.deepEqual(siem.requests.map(targetOf), targets);
  const [request] = siem.requests;
  assert.ok(request !== undefined);
  verifyWithStandard(request, SECRET);
  await until(async () => (await desk.courier.query({ limit: 1000 })).length === 500, "500 records");
  const [newest] = await desk.courier.query({ webhook: "siem", limit: 1 });
  assert.equal(at(JSON.parse(newest?.request_body ?? ""), "target"), "t499");
  assert.equal(newest?.success, true);
  assert.match(await desk.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"delivered"\} 500$/m);
  assert.match(await desk.metrics(), /^sluice_webhook_queue 0$/m);
  assert.deepEqual(desk.lines, []);
});

test("what nobody asks for does not cross; what concerns the whole gateway is everybody's", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t);
  const events = ["token.revoked", "auth.login_failed"];
  desk.courier.configure([projectOf(webhookOf(siem.url, { events }))], ALLOW);
  desk.courier.notify(recordOf({ event: "token.created", target: "not asked for" }));
  desk.courier.notify(recordOf({ project: { id: 8, name: "Other", uuid: "other" }, target: "not its own" }));
  desk.courier.notify(recordOf({ event: "auth.login_failed", project: GATEWAY_WIDE, target: "admin" }));
  desk.courier.notify(recordOf({ target: "last" }));
  await siem.received(2);
  assert.deepEqual(siem.requests.map(targetOf), ["admin", "last"]);
});

test("without an active webhook there is no thread", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t);
  desk.courier.configure([], ALLOW);
  desk.courier.configure([projectOf()], ALLOW);
  desk.courier.configure([projectOf(webhookOf(siem.url, { active: false }))], ALLOW);
  desk.courier.notify(recordOf());
  assert.deepEqual(await desk.courier.query({ limit: 10 }), []);
  assert.equal(desk.courier.sendTest(PROJECT_UUID, "siem", ASKER), "inactive");
  assert.equal(desk.courier.sendTest(PROJECT_UUID, "none", ASKER), "unknown");
  assert.equal(desk.workers.length, 0);
});

test("records stay readable when the webhook is switched off, and the thread ends when it is gone", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t);
  const webhook = webhookOf(siem.url);
  desk.courier.configure([projectOf(webhook)], ALLOW);
  const sent = await desk.courier.sendTest(PROJECT_UUID, "siem", ASKER);
  desk.courier.configure([projectOf({ ...webhook, active: false })], ALLOW);
  assert.deepEqual(await desk.courier.query({ limit: 10 }), [sent]);
  desk.courier.configure([projectOf()], ALLOW);
  // What Node says of one that has ended.
  await until(() => desk.workers[0]?.threadId === -1, "the thread ends");
  assert.deepEqual(await desk.courier.query({ limit: 10 }), [sent], "readable without any thread");
  desk.courier.configure([projectOf(webhook)], ALLOW);
  desk.courier.notify(recordOf());
  await siem.received(2);
  assert.equal(desk.workers.length, 2);
  assert.deepEqual(desk.lines, []);
});

test("a reload reaches the thread after what was recorded before it", async (t) => {
  const desk = openDesk(t);
  const [old, young] = [await receiver(t), await receiver(t)];
  desk.courier.configure([projectOf(webhookOf(old.url))], ALLOW);
  desk.courier.notify(recordOf({ target: "before" }));
  await old.received(1);
  desk.courier.configure([projectOf(webhookOf(young.url, { secret: ["rotated"] }))], ALLOW);
  desk.courier.notify(recordOf({ target: "after" }));
  await young.received(1);
  assert.deepEqual(old.requests.map(targetOf), ["before"]);
  assert.deepEqual(young.requests.map(targetOf), ["after"]);
  assert.equal(desk.workers.length, 1);
});

test("a receiver at an inner address is not asked unless `network.allow` names it", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t);
  desk.courier.configure([projectOf(webhookOf(siem.url))], []);
  const refused = await desk.courier.sendTest(PROJECT_UUID, "siem", ASKER);
  assert.match(String(at(refused, "error")), /^blocked by the SSRF guard: /);
  desk.courier.configure([projectOf(webhookOf(siem.url))], ALLOW);
  assert.equal(at(await desk.courier.sendTest(PROJECT_UUID, "siem", ASKER), "success"), true);
  assert.deepEqual(messagesOf(desk), ["a webhook delivery failed", "webhook deliveries succeed again"]);
});

test("a thread that dies is replaced, and what it had not delivered is counted and said", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t, hang, accept);
  desk.courier.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (const target of ["under way", "waiting"]) desk.courier.notify(recordOf({ target }));
  await siem.received(1);
  const asked = desk.courier.sendTest(PROJECT_UUID, "siem", ASKER);
  await desk.workers[0]?.terminate();
  assert.equal(at(await asked, "error"), "not sent: nobody delivers just now");
  assert.deepEqual(messagesOf(desk), [
    "the thread that delivers webhooks has died and is started again",
    "webhook deliveries were lost: their thread has died",
  ]);
  assert.equal(at(JSON.parse(desk.lines[1] ?? ""), "deliveries"), 2);
  assert.match(await desk.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"dropped"\} 2$/m);
  // Heard of while there is no thread, delivered by the next.
  desk.courier.notify(recordOf({ target: "meanwhile" }));
  assert.equal(desk.workers.length, 1);
  desk.clock.advance(50);
  await siem.received(2);
  assert.deepEqual(siem.requests.map(targetOf), ["under way", "meanwhile"]);
  assert.equal(desk.workers.length, 2);
});

test("records of deliveries outlive the thread that made them", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t);
  desk.courier.configure([projectOf(webhookOf(siem.url))], ALLOW);
  const first = await desk.courier.sendTest(PROJECT_UUID, "siem", ASKER);
  await desk.workers[0]?.terminate();
  await until(() => desk.clock.pendingTimers() === 1, "the death is heard of");
  assert.deepEqual(await desk.courier.query({ limit: 10 }), [first]);
  desk.clock.advance(50);
  const second = await desk.courier.sendTest(PROJECT_UUID, "siem", ASKER);
  assert.deepEqual(await desk.courier.query({ limit: 10 }), [second, first]);
});

test("what a retired thread still delivers is found in the records of the next", async (t) => {
  const desk = openDesk(t);
  let letGo = (): void => {};
  const siem = await receiver(t, (response) => (letGo = () => void response.writeHead(204).end()));
  const project = projectOf(webhookOf(siem.url));
  desk.courier.configure([project], ALLOW);
  desk.courier.notify(recordOf({ target: "under way" }));
  await siem.received(1);
  desk.courier.configure([], ALLOW);
  desk.courier.configure([project], ALLOW);
  letGo();
  await until(async () => (await desk.courier.query({ limit: 10 })).length === 1, "its record is there");
  assert.equal(desk.workers.length, 2);
});

test("each death of a thread that never reports doubles the wait for the next", async (t) => {
  const desk = openDesk(t, () => new Worker("process.exit(3)", { eval: true }));
  desk.courier.configure([projectOf(webhookOf("https://siem.example.com"))], ALLOW);
  for (const [waitMs, threads] of [
    [50, 1],
    [100, 2],
    [200, 3],
  ] as const) {
    await until(() => desk.clock.pendingTimers() === 1, "the death is heard of");
    desk.clock.advance(waitMs - 1);
    assert.equal(desk.workers.length, threads);
    desk.clock.advance(1);
    assert.equal(desk.workers.length, threads + 1);
  }
});

test("a thread that takes nothing up costs bounded memory, and what is too much is counted and said once", async (t) => {
  const desk = openDesk(t, deafThread);
  desk.courier.configure([projectOf(webhookOf("https://siem.example.com"))], ALLOW);
  for (let n = 0; n < UNTAKEN_MAX + 2; n++) desk.courier.notify(recordOf());
  assert.match(await desk.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"dropped"\} 2$/m);
  assert.deepEqual(messagesOf(desk), ["webhook deliveries are dropped: their thread is far behind"]);
});

test("draining sends what waits, and nothing is sent after it", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t);
  desk.courier.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (let n = 0; n < 500; n++) desk.courier.notify(recordOf());
  await desk.courier.drain(30_000);
  assert.equal(siem.requests.length, 500);
  assert.match(await desk.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"delivered"\} 500$/m);
  desk.courier.notify(recordOf());
  const late = await desk.courier.sendTest(PROJECT_UUID, "siem", ASKER);
  assert.equal(at(late, "error"), "not sent: nobody delivers just now");
  assert.equal(siem.requests.length, 500);
  assert.equal(desk.clock.pendingTimers(), 0);
});

test("draining ends when its time is up, and says what was not sent", async (t) => {
  const desk = openDesk(t);
  const siem = await receiver(t, hang);
  desk.courier.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (const target of ["a", "b", "c"]) desk.courier.notify(recordOf({ target }));
  await siem.received(1);
  await desk.courier.drain(0);
  assert.deepEqual(messagesOf(desk), [
    "webhook deliveries were not sent: the gateway has stopped",
    "webhook deliveries were lost: the gateway has stopped",
  ]);
  assert.deepEqual(
    desk.lines.map((line) => at(JSON.parse(line), "events") ?? at(JSON.parse(line), "deliveries")),
    [2, 1],
  );
  assert.match(await desk.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"dropped"\} 3$/m);
});

test("a thread that hangs holds up no shutdown", async (t) => {
  const desk = openDesk(t, deafThread);
  desk.courier.configure([projectOf(webhookOf("https://siem.example.com"))], ALLOW);
  desk.courier.notify(recordOf());
  const drained = desk.courier.drain(5000);
  desk.clock.advance(6000);
  await drained;
  assert.deepEqual(messagesOf(desk), ["webhook deliveries were lost: the gateway has stopped"]);
});
