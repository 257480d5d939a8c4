/**
 * The thread that delivers webhooks: signs, posts and keeps delivery records by the machine's clock, and reports to the
 * gateway's thread in batches. Its other side is courier-thread.ts.
 */
import { randomUUID } from "node:crypto";
import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { systemClock } from "../base/clock.ts";
import type { Logger } from "../plugin/index.ts";
import type { AuditRecord } from "../plugin/store.ts";
import { type CourierOptions, LocalCourier } from "./courier.ts";
import type { FromCourier, Question, ToCourier } from "./courier-messages.ts";
import { DeliveryLog, type DeliveryRecord } from "./deliveries.ts";
import { readDeliveries } from "./delivery-batches.ts";
import type { CountDeliveries } from "./metrics.ts";

/** How late the gateway's counts may be. */
const REPORT_MS = 50;
/** Delivery records that a report carries: of a flood the latest, since carrying all would cost the calls' thread. */
const REPORTED_MAX = 64;

/** Since the latest report; one entry a webhook and outcome. */
const counts = new Map<string, Parameters<CountDeliveries>>();
/** Likewise, for when this thread is gone. */
let delivered: DeliveryRecord[] = [];
let taken = 0;
let isReportDue = false;

const logger = (log: keyof Logger): Logger["info"] => {
  return (fields, message) => post({ log, fields, message });
};

const kept = new DeliveryLog();
const deliveries = {
  query: kept.query.bind(kept),
  add(record: DeliveryRecord): void {
    kept.add(record);
    if (delivered.length === REPORTED_MAX) delivered.shift();
    delivered.push(record);
    reportSoon();
  },
};

const settings: CourierOptions = {
  clock: systemClock(),
  random: { uuid: () => randomUUID(), fraction: () => Math.random() },
  log: { debug: logger("debug"), info: logger("info"), warn: logger("warn"), error: logger("error") },
  count(projectUuid, webhook, outcome, deliveries) {
    const key = `${outcome} ${projectUuid}/${webhook}`;
    const before = counts.get(key)?.[3] ?? 0;
    counts.set(key, [projectUuid, webhook, outcome, before + deliveries]);
    reportSoon();
  },
};
const courier = new LocalCourier(settings, deliveries);

// Where cores are scarce calls come first. Only Linux gives a thread a priority of its own.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on("message", (message: ToCourier) => {
  if ("records" in message) {
    // As threaded-courier.ts has written them.
    const records = JSON.parse(message.records) as readonly AuditRecord[];
    for (const record of records) courier.notify(record);
    taken += records.length;
    reportSoon();
  } else if ("configure" in message) courier.configure(message.configure, message.allow);
  else if ("restore" in message) for (const record of readDeliveries(message.restore)) kept.add(record);
  else
    void answer(message.question).then((records) => {
      // First, so that who has seen a delivery sees it counted.
      report();
      post({ answer: message.ask, records });
    });
});

async function answer(question: Question): Promise<readonly DeliveryRecord[]> {
  if ("query" in question) return courier.query(question.query);
  if ("drain" in question) {
    await courier.drain(question.drain);
    return [];
  }
  const sent = courier.sendTest(question.projectUuid, question.test, question.asker);
  return typeof sent === "string" ? [] : [await sent];
}

function reportSoon(): void {
  if (isReportDue) return;
  isReportDue = true;
  setTimeout(report, REPORT_MS);
}

function report(): void {
  isReportDue = false;
  if (taken === 0 && counts.size === 0) return;
  const records = delivered.length === 0 ? "" : JSON.stringify(delivered);
  post({ report: { taken, waiting: courier.waiting, counts: [...counts.values()], deliveries: records } });
  taken = 0;
  counts.clear();
  delivered = [];
}

function post(message: FromCourier): void {
  parentPort?.postMessage(message);
}
