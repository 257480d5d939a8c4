/**
 * The dispatcher's thread: runs a WebhookDispatcher by the system clock and reports to the gateway's thread in batches.
 * The other end is dispatcher-thread.ts.
 */
import { randomUUID } from "node:crypto";
import { constants, setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import { systemClock } from "../base/clock.ts";
import type { Logger } from "../plugin/host.ts";
import type { AuditRecord } from "../plugin/index.ts";
import { type CountDeliveries, type DeliveryRecord, readDeliveries } from "./deliveries.ts";
import { type DispatcherOptions, WebhookDispatcher } from "./dispatcher.ts";
import type { FromDispatcher, Question, ToDispatcher } from "./dispatcher-thread.ts";

/** Maximum delay of the gateway's counts. */
const REPORT_MS = 50;
/** Delivery records of one report: the latest of a flood, since copying all would cost CPU in the calls' thread. */
const REPORTED_MAX = 64;

/** Since the latest report; one entry per webhook and outcome. */
const counts = new Map<string, Parameters<CountDeliveries>>();
/** Since the latest report, for the case that this thread dies. */
let delivered: DeliveryRecord[] = [];
let taken = 0;
let isReportDue = false;

const logger = (log: keyof Logger): Logger["info"] => {
  return (fields, message) => post({ log, fields, message });
};

const options: DispatcherOptions = {
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
const dispatcher = new WebhookDispatcher(options, (record) => {
  if (delivered.length === REPORTED_MAX) delivered.shift();
  delivered.push(record);
  reportSoon();
});

// Calls come first when CPU is scarce. Only Linux has a priority per thread.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on("message", (message: ToDispatcher) => {
  if ("records" in message) {
    // As threaded-dispatcher.ts has written them.
    const records = JSON.parse(message.records) as readonly AuditRecord[];
    for (const record of records) dispatcher.notify(record);
    taken += records.length;
    reportSoon();
  } else if ("configure" in message) dispatcher.configure(message.configure, message.allow);
  else if ("restore" in message) dispatcher.restore(readDeliveries(message.restore));
  else
    void answer(message.question).then((records) => {
      // Report first, so that a delivery that is visible is also counted.
      report();
      post({ answer: message.ask, records });
    });
});

async function answer(question: Question): Promise<readonly DeliveryRecord[]> {
  if ("query" in question) return dispatcher.query(question.query);
  if ("drain" in question) {
    await dispatcher.drain(question.drain);
    return [];
  }
  const sent = dispatcher.sendTest(question.projectUuid, question.test, question.requester);
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
  post({ report: { taken, waiting: dispatcher.waiting, counts: [...counts.values()], deliveries: records } });
  taken = 0;
  counts.clear();
  delivered = [];
}

function post(message: FromDispatcher): void {
  parentPort?.postMessage(message);
}
