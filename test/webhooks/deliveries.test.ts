/** The delivery log: what it keeps, what it lets go of first, and how it is read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DELIVERIES_PER_WEBHOOK_MAX,
  DELIVERY_CHARACTERS_MAX,
  DeliveryBatches,
  DeliveryLog,
  type DeliveryRecord,
  readDeliveries,
} from "../../src/webhooks/deliveries.ts";

function recordOf(id: string, fields: Partial<DeliveryRecord> = {}): DeliveryRecord {
  return {
    id,
    event: "token.revoked",
    webhook: "siem",
    project_uuid: "p1",
    message_id: `m-${id}`,
    attempted_at: "2026-03-04T05:06:07.000Z",
    duration_ms: 3,
    request_body: "{}",
    response_status: 204,
    response_body: "",
    success: true,
    error: null,
    ...fields,
  };
}

const idsOf = (records: readonly DeliveryRecord[]): string[] => records.map(({ id }) => id);

test("records are read newest first, by any of their marks, page by page", () => {
  const log = new DeliveryLog();
  log.add(recordOf("1"));
  log.add(recordOf("2", { webhook: "chat" }));
  log.add(recordOf("3", { project_uuid: "p2" }));
  log.add(recordOf("4", { event: "token.created" }));
  log.add(recordOf("5", { success: false }));
  assert.deepEqual(idsOf(log.query({ limit: 10 })), ["5", "4", "3", "2", "1"]);
  assert.deepEqual(idsOf(log.query({ limit: 2, webhook: "siem" })), ["5", "4"]);
  assert.deepEqual(idsOf(log.query({ limit: 2, webhook: "siem", before: "4" })), ["3", "1"]);
  assert.deepEqual(idsOf(log.query({ limit: 10, projectUuid: "p2" })), ["3"]);
  assert.deepEqual(idsOf(log.query({ limit: 10, event: "token.created" })), ["4"]);
  assert.deepEqual(idsOf(log.query({ limit: 10, success: false })), ["5"]);
  assert.deepEqual(idsOf(log.query({ limit: 10, success: true, projectUuid: "p1" })), ["4", "2", "1"]);
  assert.deepEqual(idsOf(log.query({ limit: 10, before: "gone" })), []);
  assert.deepEqual(idsOf(log.query({ limit: 10, before: "1" })), []);
});

test("a noisy webhook pushes out its own oldest records, not another's", () => {
  const log = new DeliveryLog();
  log.add(recordOf("quiet", { webhook: "quiet" }));
  for (let n = 0; n < DELIVERIES_PER_WEBHOOK_MAX + 5; n++) log.add(recordOf(`n${n}`));
  assert.equal(log.query({ limit: 10_000, webhook: "quiet" }).length, 1);
  const kept = log.query({ limit: 10_000, webhook: "siem" });
  assert.equal(kept.length, DELIVERIES_PER_WEBHOOK_MAX);
  assert.equal(kept.at(-1)?.id, "n5");
});

test("bodies are bounded all together: the oldest of all go first", () => {
  const log = new DeliveryLog();
  const half = "x".repeat(DELIVERY_CHARACTERS_MAX / 2 - 2);
  log.add(recordOf("1", { webhook: "a", response_body: half }));
  log.add(recordOf("2", { webhook: "b", response_body: half }));
  assert.equal(log.query({ limit: 10 }).length, 2);
  log.add(recordOf("3", { webhook: "a", response_body: null }));
  assert.deepEqual(idsOf(log.query({ limit: 10 })), ["3", "2"]);
  log.add(recordOf("4", { webhook: "a", response_body: half }));
  assert.deepEqual(idsOf(log.query({ limit: 10 })), ["4", "3"]);
});

test("of all bodies together the project with most gives way first", () => {
  const log = new DeliveryLog();
  log.add(recordOf("quiet", { project_uuid: "p2", request_body: "x".repeat(1000) }));
  const body = "x".repeat(DELIVERY_CHARACTERS_MAX / 50);
  for (let n = 0; n < 200; n++) log.add(recordOf(`n${n}`, { webhook: `w${n % 5}`, request_body: body }));
  assert.deepEqual(idsOf(log.query({ limit: 9, projectUuid: "p2" })), ["quiet"]);
  const kept = log.query({ limit: 1000, projectUuid: "p1" });
  assert.equal(kept.length, 49);
  assert.equal(kept[0]?.id, "n199");
});

const batchIds = (batches: DeliveryBatches): unknown[] => readDeliveries(batches.all).map(({ id }) => id);

test("batches are read in order, and the oldest are dropped at the limit", () => {
  const batches = new DeliveryBatches();
  batches.add(JSON.stringify([{ id: "a" }, { id: "b" }]));
  batches.add("");
  batches.add(JSON.stringify([{ id: "c" }]));
  assert.deepEqual(batchIds(batches), ["a", "b", "c"]);
  assert.equal(batches.all.length, 2);
  const room = DELIVERY_CHARACTERS_MAX - JSON.stringify([{ id: "c" }]).length;
  const frame = JSON.stringify([{ id: "d", request_body: "" }]).length;
  batches.add(JSON.stringify([{ id: "d", request_body: "x".repeat(room - frame) }]));
  assert.deepEqual(batchIds(batches), ["c", "d"]);
  batches.add(JSON.stringify([{ id: "e", request_body: "x".repeat(DELIVERY_CHARACTERS_MAX) }]));
  assert.deepEqual(batchIds(batches), [], "one that is too large alone is none");
});
