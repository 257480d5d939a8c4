/** The dispatcher in a thread of its own: the real thread, real receivers, and threads that die or do nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { GATEWAY_WIDE } from "../../src/audit/audit.ts";
import { startThread } from "../../src/base/thread.ts";
import type { AuditRecord } from "../../src/plugin/store.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { deliveryMetrics } from "../../src/webhooks/deliveries.ts";
import { ThreadedDispatcher, UNTAKEN_MAX } from "../../src/webhooks/threaded-dispatcher.ts";
import { at, until } from "../spec/kit/client.ts";
import type { Closer } from "../spec/kit/gateway.ts";
import { countingRandom } from "../state/counting-random.ts";
import {
  ALLOW,
  accept,
  eventOf,
  hang,
  PROJECT_UUID,
  projectOf,
  receiver,
  SECRET,
  verifyWithStandard,
  webhookOf,
} from "./kit.ts";

const REQUESTER = { actor: "platform-team", ipAddress: "127.0.0.1" };
const random = countingRandom();

interface ThreadSetup {
  readonly dispatcher: ThreadedDispatcher;
  /** Of restarts and of hanging threads; the thread itself goes by the machine's. */
  readonly clock: VirtualClock;
  /** Threads that were started. */
  readonly workers: Worker[];
  readonly lines: string[];
  metrics(): Promise<string>;
}

const gatewayThread = (): Worker =>
  startThread(new URL("../../src/webhooks/dispatcher-worker.ts", import.meta.url), { env: {} });
/** Receives everything and does nothing. */
const idleThread = (): Worker =>
  new Worker('require("node:worker_threads").parentPort.on("message", () => {})', { eval: true });

function startDispatcher(t: Closer, thread: () => Worker = gatewayThread): ThreadSetup {
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
  const count = deliveryMetrics(metrics, () => dispatcher.waiting);
  const dispatcher = new ThreadedDispatcher({ clock, random, log, count, start });
  t.after(async () => {
    const drained = dispatcher.drain(0);
    clock.advance(2000);
    await drained;
    await Promise.all(workers.map((worker) => worker.terminate()));
    metrics.close();
  });
  return { dispatcher, clock, workers, lines, metrics: () => metrics.text() };
}

const recordOf = (fields: Partial<AuditRecord> = {}): AuditRecord => ({
  id: random.uuid(),
  occurredAtMs: Date.UTC(2026, 4, 15, 12),
  ...eventOf(fields),
});

const targetOf = ({ body }: { readonly body: string }): unknown => at(JSON.parse(body), "target");
const messagesOf = ({ lines }: ThreadSetup): unknown[] => lines.map((line) => at(JSON.parse(line), "msg"));

test("the thread delivers in order and signed, answers queries of records and reports counts", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url))], ALLOW);
  const targets = Array.from({ length: 500 }, (_, n) => `t${n}`);
  for (const target of targets) setup.dispatcher.notify(recordOf({ target }));
  await siem.received(500);
  assert.deepEqual(siem.requests.map(targetOf), targets);
  const [request] = siem.requests;
  assert.ok(request !== undefined);
  verifyWithStandard(request, SECRET);
  await until(async () => (await setup.dispatcher.query({ limit: 1000 })).length === 500, "500 records");
  const [newest] = await setup.dispatcher.query({ webhook: "siem", limit: 1 });
  assert.equal(at(JSON.parse(newest?.request_body ?? ""), "target"), "t499");
  assert.equal(newest?.success, true);
  assert.match(await setup.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"delivered"\} 500$/m);
  assert.match(await setup.metrics(), /^sluice_webhook_queue 0$/m);
  assert.deepEqual(setup.lines, []);
});

test("only subscribed events are transferred; events of the whole gateway go to every webhook that names them", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  const events = ["token.revoked", "auth.login_failed"];
  setup.dispatcher.configure([projectOf(webhookOf(siem.url, { events }))], ALLOW);
  setup.dispatcher.notify(recordOf({ event: "token.created", target: "not asked for" }));
  setup.dispatcher.notify(
    recordOf({ project: { id: 8, name: "Other", uuid: "other" }, target: "not its own" }),
  );
  setup.dispatcher.notify(recordOf({ event: "auth.login_failed", project: GATEWAY_WIDE, target: "admin" }));
  setup.dispatcher.notify(recordOf({ target: "last" }));
  await siem.received(2);
  assert.deepEqual(siem.requests.map(targetOf), ["admin", "last"]);
});

test("without an active webhook there is no thread", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.dispatcher.configure([], ALLOW);
  setup.dispatcher.configure([projectOf()], ALLOW);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url, { active: false }))], ALLOW);
  setup.dispatcher.notify(recordOf());
  assert.deepEqual(await setup.dispatcher.query({ limit: 10 }), []);
  assert.equal(setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER), "inactive");
  assert.equal(setup.dispatcher.sendTest(PROJECT_UUID, "none", REQUESTER), "unknown");
  assert.equal(setup.workers.length, 0);
});

test("records stay readable when the webhook is switched off, and the thread ends when it is gone", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  const webhook = webhookOf(siem.url);
  setup.dispatcher.configure([projectOf(webhook)], ALLOW);
  const sent = await setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER);
  setup.dispatcher.configure([projectOf({ ...webhook, active: false })], ALLOW);
  assert.deepEqual(await setup.dispatcher.query({ limit: 10 }), [sent]);
  setup.dispatcher.configure([projectOf()], ALLOW);
  // What Node says of one that has ended.
  await until(() => setup.workers[0]?.threadId === -1, "the thread ends");
  assert.deepEqual(await setup.dispatcher.query({ limit: 10 }), [sent], "readable without any thread");
  setup.dispatcher.configure([projectOf(webhook)], ALLOW);
  setup.dispatcher.notify(recordOf());
  await siem.received(2);
  assert.equal(setup.workers.length, 2);
  assert.deepEqual(setup.lines, []);
});

test("a reload reaches the thread after the events recorded before it", async (t) => {
  const setup = startDispatcher(t);
  const [old, young] = [await receiver(t), await receiver(t)];
  setup.dispatcher.configure([projectOf(webhookOf(old.url))], ALLOW);
  setup.dispatcher.notify(recordOf({ target: "before" }));
  await old.received(1);
  setup.dispatcher.configure([projectOf(webhookOf(young.url, { secret: ["rotated"] }))], ALLOW);
  setup.dispatcher.notify(recordOf({ target: "after" }));
  await young.received(1);
  assert.deepEqual(old.requests.map(targetOf), ["before"]);
  assert.deepEqual(young.requests.map(targetOf), ["after"]);
  assert.equal(setup.workers.length, 1);
});

test("a receiver at a private address is not called unless `network.allow` names it", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url))], []);
  const refused = await setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER);
  assert.match(String(at(refused, "error")), /^blocked by the SSRF guard: /);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url))], ALLOW);
  assert.equal(at(await setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER), "success"), true);
  assert.deepEqual(messagesOf(setup), ["webhook delivery failed", "webhook deliveries succeed again"]);
});

test("a thread that dies is replaced, and what it had not delivered is counted and logged", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, hang, accept);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (const target of ["under way", "waiting"]) setup.dispatcher.notify(recordOf({ target }));
  await siem.received(1);
  const asked = setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER);
  await setup.workers[0]?.terminate();
  assert.equal(at(await asked, "error"), "not sent: the webhook dispatcher is not running");
  assert.deepEqual(messagesOf(setup), [
    "webhook dispatcher thread died and is restarted",
    "webhook deliveries were lost: the dispatcher thread died",
  ]);
  assert.equal(at(JSON.parse(setup.lines[1] ?? ""), "deliveries"), 2);
  assert.match(await setup.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"dropped"\} 2$/m);
  // Heard of while there is no thread, delivered by the next.
  setup.dispatcher.notify(recordOf({ target: "meanwhile" }));
  assert.equal(setup.workers.length, 1);
  setup.clock.advance(50);
  await siem.received(2);
  assert.deepEqual(siem.requests.map(targetOf), ["under way", "meanwhile"]);
  assert.equal(setup.workers.length, 2);
});

test("records of deliveries outlive the thread that made them", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url))], ALLOW);
  const first = await setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER);
  await setup.workers[0]?.terminate();
  await until(() => setup.clock.pendingTimers() === 1, "the death is heard of");
  assert.deepEqual(await setup.dispatcher.query({ limit: 10 }), [first]);
  setup.clock.advance(50);
  const second = await setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER);
  assert.deepEqual(await setup.dispatcher.query({ limit: 10 }), [second, first]);
});

test("a delivery that a retired thread completes is in the records of the next", async (t) => {
  const setup = startDispatcher(t);
  let release = (): void => {};
  const siem = await receiver(t, (response) => (release = () => void response.writeHead(204).end()));
  const project = projectOf(webhookOf(siem.url));
  setup.dispatcher.configure([project], ALLOW);
  setup.dispatcher.notify(recordOf({ target: "under way" }));
  await siem.received(1);
  setup.dispatcher.configure([], ALLOW);
  setup.dispatcher.configure([project], ALLOW);
  release();
  await until(async () => (await setup.dispatcher.query({ limit: 10 })).length === 1, "its record is there");
  assert.equal(setup.workers.length, 2);
});

test("each death of a thread that never reports doubles the wait for the next", async (t) => {
  const setup = startDispatcher(t, () => new Worker("process.exit(3)", { eval: true }));
  setup.dispatcher.configure([projectOf(webhookOf("https://siem.example.com"))], ALLOW);
  for (const [waitMs, threads] of [
    [50, 1],
    [100, 2],
    [200, 3],
  ] as const) {
    await until(() => setup.clock.pendingTimers() === 1, "the death is heard of");
    setup.clock.advance(waitMs - 1);
    assert.equal(setup.workers.length, threads);
    setup.clock.advance(1);
    assert.equal(setup.workers.length, threads + 1);
  }
});

test("memory is bounded while the thread accepts nothing, and the excess is counted and logged once", async (t) => {
  const setup = startDispatcher(t, idleThread);
  setup.dispatcher.configure([projectOf(webhookOf("https://siem.example.com"))], ALLOW);
  for (let n = 0; n < UNTAKEN_MAX + 2; n++) setup.dispatcher.notify(recordOf());
  assert.match(await setup.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"dropped"\} 2$/m);
  assert.deepEqual(messagesOf(setup), [
    "webhook deliveries are dropped: the dispatcher thread has fallen behind",
  ]);
});

test("draining sends what waits, and nothing is sent after it", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (let n = 0; n < 500; n++) setup.dispatcher.notify(recordOf());
  await setup.dispatcher.drain(30_000);
  assert.equal(siem.requests.length, 500);
  assert.match(await setup.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"delivered"\} 500$/m);
  setup.dispatcher.notify(recordOf());
  const late = await setup.dispatcher.sendTest(PROJECT_UUID, "siem", REQUESTER);
  assert.equal(at(late, "error"), "not sent: the webhook dispatcher is not running");
  assert.equal(siem.requests.length, 500);
  assert.equal(setup.clock.pendingTimers(), 0);
});

test("draining stops at its timeout and logs what was not sent", async (t) => {
  const setup = startDispatcher(t);
  const siem = await receiver(t, hang);
  setup.dispatcher.configure([projectOf(webhookOf(siem.url))], ALLOW);
  for (const target of ["a", "b", "c"]) setup.dispatcher.notify(recordOf({ target }));
  await siem.received(1);
  await setup.dispatcher.drain(0);
  assert.deepEqual(messagesOf(setup), [
    "webhook deliveries were not sent: the gateway has stopped",
    "webhook deliveries were lost: the gateway has stopped",
  ]);
  assert.deepEqual(
    setup.lines.map((line) => at(JSON.parse(line), "events") ?? at(JSON.parse(line), "deliveries")),
    [2, 1],
  );
  assert.match(await setup.metrics(), /^sluice_webhook_deliveries_total\{[^}]*"dropped"\} 3$/m);
});

test("a thread that hangs does not delay shutdown", async (t) => {
  const setup = startDispatcher(t, idleThread);
  setup.dispatcher.configure([projectOf(webhookOf("https://siem.example.com"))], ALLOW);
  setup.dispatcher.notify(recordOf());
  const drained = setup.dispatcher.drain(5000);
  setup.clock.advance(6000);
  await drained;
  assert.deepEqual(messagesOf(setup), ["webhook deliveries were lost: the gateway has stopped"]);
});
