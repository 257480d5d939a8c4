/** What the store in Redis shows in `/metrics` of its own queues. */
import type { MetricFamily } from "../../plugin/host.ts";
import type { PendingEnds } from "./ends.ts";

export interface LedgerMetrics {
  gauge(name: string, help: string, read: () => number): void;
  counter(name: string, help: string, labels: readonly string[]): MetricFamily;
}

/** `admitting`: calls that wait for Redis to admit them. */
export function showQueues(metrics: LedgerMetrics, ends: PendingEnds, admitting: () => number): void {
  metrics.gauge(
    "sluice_state_ends_waiting",
    "Ends of calls that Redis has not acknowledged",
    () => ends.size,
  );
  metrics.gauge("sluice_state_ends_waiting_bytes", "Memory of these ends; at most 16 MiB", () => ends.bytes);
  metrics.gauge(
    "sluice_state_admissions_waiting",
    "Calls that wait for Redis to admit them; at most 10,000",
    admitting,
  );
}
