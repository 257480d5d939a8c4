/**
 * Delivery records as they come from the thread that delivers: batches of JSON, kept unread and bounded, since they are
 * needed only when that thread is gone. Here the oldest go first, whosever they are.
 */
import { DELIVERY_CHARACTERS_MAX, type DeliveryRecord } from "./deliveries.ts";

export class DeliveryBatches {
  /** Oldest first. */
  #batches: string[] = [];
  #characters = 0;

  get all(): readonly string[] {
    return this.#batches;
  }

  add(batch: string): void {
    if (batch === "") return;
    this.#batches.push(batch);
    this.#characters += batch.length;
    while (this.#characters > DELIVERY_CHARACTERS_MAX)
      this.#characters -= this.#batches.shift()?.length ?? this.#characters;
  }
}

/** Oldest first. */
export function readDeliveries(batches: readonly string[]): readonly DeliveryRecord[] {
  // As courier-worker.ts has written them.
  return batches.flatMap((batch) => JSON.parse(batch) as readonly DeliveryRecord[]);
}
