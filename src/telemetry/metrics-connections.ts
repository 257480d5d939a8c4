/** What `/metrics` says of the connections to providers, read when it is asked for. Labels are hosts of the configuration. */
import type { GatewayMetrics } from "./metrics.ts";

/** The counts of one host. */
export interface ConnectionCounts {
  readonly host: string;
  readonly inUse: number;
  readonly idle: number;
  readonly exhausted: number;
}

export function registerConnectionMetrics(
  metrics: Pick<GatewayMetrics, "gauges">,
  source: { connections(): readonly ConnectionCounts[] },
): void {
  metrics.gauges(
    "sluice_provider_connections",
    "Connections to the hosts of providers, see providers.*.max_connections",
    ["host", "state"],
    () =>
      source.connections().flatMap(({ host, inUse, idle }): [number, string, string][] => [
        [inUse, host, "in_use"],
        [idle, host, "idle"],
      ]),
  );
  metrics.gauges(
    "sluice_provider_connections_exhausted",
    "Attempts refused since the start because all connections to the host were in use",
    ["host"],
    () => source.connections().map(({ host, exhausted }): [number, string] => [exhausted, host]),
  );
}
