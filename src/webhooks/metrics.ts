/** What is counted of webhook deliveries, whichever thread makes them. Once for the life of the metrics. */
import type { GatewayMetrics } from "../telemetry/metrics.ts";

/** What became of a delivery: the receiver answered 2xx, it did not, or nothing was sent. */
export type DeliveryOutcome = "delivered" | "failed" | "dropped";

/** So many more deliveries of a webhook have come to this. */
export type CountDeliveries = (
  projectUuid: string,
  webhook: string,
  outcome: DeliveryOutcome,
  deliveries: number,
) => void;

/** `waiting`: deliveries that wait, read when somebody scrapes. */
export function deliveryMetrics(
  metrics: Pick<GatewayMetrics, "counter" | "gauge">,
  waiting: () => number,
): CountDeliveries {
  const total = metrics.counter("sluice_webhook_deliveries_total", "Webhook deliveries by outcome", [
    "project",
    "webhook",
    "outcome",
  ]);
  metrics.gauge("sluice_webhook_queue", "Webhook deliveries that wait", waiting);
  return (projectUuid, webhook, outcome, deliveries) =>
    total.series(projectUuid, webhook, outcome)(deliveries);
}
