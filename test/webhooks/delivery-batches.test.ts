/** Delivery records kept unread: bounded, the oldest go first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DELIVERY_CHARACTERS_MAX } from "../../src/webhooks/deliveries.ts";
import { DeliveryBatches, readDeliveries } from "../../src/webhooks/delivery-batches.ts";

const ids = (batches: DeliveryBatches): unknown[] => readDeliveries(batches.all).map(({ id }) => id);

test("batches are read in their order, and the oldest go when there is no room", () => {
  const batches = new DeliveryBatches();
  batches.add(JSON.stringify([{ id: "a" }, { id: "b" }]));
  batches.add("");
  batches.add(JSON.stringify([{ id: "c" }]));
  assert.deepEqual(ids(batches), ["a", "b", "c"]);
  assert.equal(batches.all.length, 2);
  const room = DELIVERY_CHARACTERS_MAX - JSON.stringify([{ id: "c" }]).length;
  const frame = JSON.stringify([{ id: "d", request_body: "" }]).length;
  batches.add(JSON.stringify([{ id: "d", request_body: "x".repeat(room - frame) }]));
  assert.deepEqual(ids(batches), ["c", "d"]);
  batches.add(JSON.stringify([{ id: "e", request_body: "x".repeat(DELIVERY_CHARACTERS_MAX) }]));
  assert.deepEqual(ids(batches), [], "one that is too large alone is none");
});
