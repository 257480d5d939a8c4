/**
 * What the store says of itself and of budgets, asked when somebody scrapes `/metrics`. Series are bounded by what
 * budgets were kept for in this month, and by SUMS_MAX.
 */
import { monthOf } from "../base/month.ts";
import { andThen, type Clock, type StateStore } from "../plugin/index.ts";
import type { SpendSum } from "../plugin/store.ts";
import type { GatewayMetrics, Readings } from "./metrics.ts";

/** Sums shown in one scrape. */
const SUMS_MAX = 10_000;
/** As plugins/budget/index.ts names sums: whose, the project, and the endpoint's slug or the token's id. */
const SPEND_KEY = /^spend:(token:)?([^/]+)\/(.+)$/;

/** Once for the life of the store. */
export function registerStoreGauges(
  metrics: GatewayMetrics,
  store: Pick<StateStore, "driver" | "health" | "sums">,
  clock: Clock,
): void {
  metrics.gauges("sluice_state_healthy", "1 while the state store answers", ["driver"], () =>
    andThen(store.health(), ({ ok }): Readings => [[ok ? 1 : 0, store.driver]]),
  );
  metrics.gauges(
    "sluice_budget_usd",
    "Money of this month: settled, or reserved for open calls",
    ["of", "project", "name", "sum"],
    () => andThen(store.sums(), (sums) => readingsOf(sums, monthOf(clock.nowMs()))),
  );
}

function readingsOf(sums: readonly SpendSum[], now: string): Readings {
  return sums
    .filter(({ month }) => month === now)
    .slice(0, SUMS_MAX)
    .flatMap(({ key, settledNanoUsd, reservedNanoUsd }): Readings => {
      const [, token, project = "", name = ""] = SPEND_KEY.exec(key) ?? [];
      if (name === "") return [];
      const whose = [token === undefined ? "endpoint" : "token", project, name] as const;
      return [
        [settledNanoUsd / 1e9, ...whose, "settled"],
        [reservedNanoUsd / 1e9, ...whose, "reserved"],
      ];
    });
}
