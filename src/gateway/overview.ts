/** Puts together what `GET /admin/v1/overview` shows, from what the gateway knows already. Reads, and changes nothing. */
import { NANO_PER_USD } from "../base/money.ts";
import { monthOf } from "../base/month.ts";
import { VERSION } from "../base/version.ts";
import type { ProjectConfig, ResolvedConfig } from "../config/model.ts";
import { partsOf } from "../config/overrides.ts";
import type { Diagnostic } from "../config/report/diagnostic.ts";
import type { Override, SpendSum } from "../plugin/store.ts";
import { type Overview, overview } from "../surfaces/admin/v1/overview-schema.ts";
import {
  applied,
  conflict,
  type ReloadConflictBody,
  type Reloaded,
  rejected,
  shown,
} from "../surfaces/admin/v1/reload.ts";
import { type Usage as UsageAnswer, usage as usageSchema } from "../surfaces/admin/v1/usage-schema.ts";
import type { Readiness } from "../surfaces/shared-routes.ts";
import type { TrafficTotals, TrafficView } from "../telemetry/traffic.ts";
import type { GatewayPlatform } from "./platform.ts";
import type { LastFindings } from "./reload-outcome.ts";

/** For clients of the API. */
export {
  type Overview,
  overview as overviewSchema,
  type ReloadConflictBody,
  type Reloaded,
  type UsageAnswer,
  usageSchema,
};
export const reloadSchemas = { 200: applied, 409: conflict, 422: rejected } as const;

export const DIAGNOSTICS_MAX = 20;
export const LISTED_MAX = 100;
/** Of a budget, above which it is shown. */
export const BUDGET_SHARE = 0.8;

export interface OverviewSources {
  readonly platform: Pick<GatewayPlatform, "clock" | "metrics" | "store">;
  readonly startedAtMs: number;
  readonly startedMonotonicMs: number;
  readonly readiness: Readiness;
  readonly findings: LastFindings;
  readonly traffic: TrafficView;
  /** In effect: git's with the overrides applied. */
  readonly config: ResolvedConfig;
  readonly draining: boolean;
  readonly calls: Overview["calls"];
}

export async function overviewOf(sources: OverviewSources): Promise<Overview> {
  const { platform, readiness, findings, traffic, config } = sources;
  const { clock, metrics, store } = platform;
  const nowMs = clock.nowMs();
  const month = monthOf(nowMs);
  const [sums, overrides] = await Promise.all([store.sums(), store.overrides.list()]);
  const ofMonth = sums.filter((sum) => sum.month === month);
  const standing = overrides === "unavailable" ? [] : overrides;
  const budgets = fullBudgets(config, ofMonth);
  return {
    ...{ ok: true, version: VERSION, node: process.versions.node },
    ...{ at: iso(nowMs), started_at: iso(sources.startedAtMs) },
    uptime_seconds: Math.floor((clock.monotonicMs() - sources.startedMonotonicMs) / 1000),
    ...{ ready: readiness.ready, draining: sources.draining },
    config: {
      ...{ generation: readiness.generation, hash: readiness.config_hash, revision: readiness.revision },
      needs_restart: findings.needsRestart,
    },
    last_reload: lastReload(readiness, findings),
    ...{ store: readiness.store, calls: sources.calls },
    event_loop_delay_ms: rounded(traffic.loopDelayP99Ms),
    resident_memory_bytes: process.memoryUsage.rss(),
    traffic: {
      window_seconds: traffic.windowSeconds,
      calls_per_second: rounded(traffic.callsPerSecond),
      errors_per_second: rounded(traffic.errorsPerSecond),
      refusals_per_second: rounded(traffic.refusalsPerSecond),
    },
    today: totals(traffic.today),
    month: { ...totals(traffic.month), name: month, ...spent(ofMonth) },
    overrides: standing.slice(0, LISTED_MAX).map((override) => shownOverride(override, config)),
    overrides_total: standing.length,
    overrides_known: overrides !== "unavailable",
    budgets: budgets.slice(0, LISTED_MAX),
    budgets_total: budgets.length,
    circuits: openCircuits(metrics),
  };
}

function lastReload({ last_reload: { at, ok } }: Readiness, findings: LastFindings): Overview["last_reload"] {
  const first = (list: readonly Diagnostic[]) => list.slice(0, DIAGNOSTICS_MAX).map(shown);
  const more = (list: readonly Diagnostic[]) => Math.max(0, list.length - DIAGNOSTICS_MAX);
  const { errors, warnings } = findings;
  return {
    ...{ at, ok, errors: first(errors), warnings: first(warnings) },
    omitted: { errors: more(errors), warnings: more(warnings) },
  };
}

function totals({ sinceMs, calls, errors, refusals, tokens, costUsd }: TrafficTotals): Overview["today"] {
  return { since: iso(sinceMs), calls, errors, refusals, tokens, cost_usd: nanoRounded(costUsd) };
}

/** A call is charged to its endpoint and to its token: the endpoints' sums are all of it. */
function spent(sums: readonly SpendSum[]): { readonly settled_usd: number; readonly reserved_usd: number } {
  let [settled, reserved] = [0, 0];
  for (const { key, settledNanoUsd, reservedNanoUsd } of sums) {
    if (key.startsWith("spend:token:")) continue;
    settled += settledNanoUsd;
    reserved += reservedNanoUsd;
  }
  return { settled_usd: settled / NANO_PER_USD, reserved_usd: reserved / NANO_PER_USD };
}

type Budget = Overview["budgets"][number];

/** By the keys of stage budget. The fullest first. */
function fullBudgets(config: ResolvedConfig, sums: readonly SpendSum[]): readonly Budget[] {
  const byKey = new Map(sums.map((sum) => [sum.key, sum]));
  const found: Budget[] = [];
  const look = (of: string, project: ProjectConfig, one: Capped): void => {
    if (one.capNanoUsd === undefined) return;
    const { settledNanoUsd = 0, reservedNanoUsd = 0 } = byKey.get(one.key) ?? {};
    const used = settledNanoUsd + reservedNanoUsd;
    if (used <= one.capNanoUsd * BUDGET_SHARE) return;
    found.push({
      ...{ of, project: { uuid: project.uuid, name: project.name }, name: one.name },
      cap_usd: one.capNanoUsd / NANO_PER_USD,
      ...{ settled_usd: settledNanoUsd / NANO_PER_USD, reserved_usd: reservedNanoUsd / NANO_PER_USD },
      used_percent: one.capNanoUsd === 0 ? 100 : rounded((used / one.capNanoUsd) * 100),
    });
  };
  for (const project of config.projects) {
    const { uuid } = project;
    for (const { slug: name, monthly_budget_usd: cap } of project.endpoints)
      look("endpoint", project, { name, key: `spend:${uuid}/${name}`, capNanoUsd: cap?.nanoUsd });
    for (const { alias: name, monthly_budget_usd: cap } of project.aliases)
      look("endpoint", project, { name, key: `spend:${uuid}/${name}`, capNanoUsd: cap?.nanoUsd });
    for (const { id, name, monthly_budget_usd_cap: cap } of project.tokens)
      look("token", project, { name, key: `spend:token:${uuid}/${id}`, capNanoUsd: cap?.nanoUsd });
  }
  return found.sort((a, b) => b.used_percent - a.used_percent);
}

interface Capped {
  readonly name: string;
  readonly key: string;
  readonly capNanoUsd: number | undefined;
}

function shownOverride(
  { key, value, replaced, actor, setAtMs }: Override,
  { projects }: ResolvedConfig,
): Overview["overrides"][number] {
  const { kind, projectUuid: uuid, name: id } = partsOf(key);
  const project = projects.find((one) => one.uuid === uuid);
  const token = kind === "endpoint" ? undefined : project?.tokens.find((one) => one.id === id);
  return {
    ...{ kind, project: { uuid, name: project?.name ?? "" }, id, name: token?.name ?? id },
    ...{ change: changeOf(kind, value, replaced), actor, set_at: iso(setAtMs) },
  };
}

function changeOf(kind: string, value: Override["value"], replaced: Override["replaced"]): string {
  if (kind === "revoked") return "revoked";
  if (kind === "token") return replaced === null ? "created" : "rotated";
  const isActive = typeof value === "object" && value !== null && Reflect.get(value, "is_active") === true;
  return isActive ? "switched on" : "switched off";
}

function openCircuits(metrics: OverviewSources["platform"]["metrics"]): Overview["circuits"] {
  const open: Overview["circuits"][number][] = [];
  metrics.each("sluice_circuit_open", ({ provider = "", model = "", credential = "" }, value) => {
    if (value > 0 && open.length < LISTED_MAX) open.push({ provider, model, credential });
  });
  return open;
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString();
}

/** To three digits behind the point. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function nanoRounded(usd: number): number {
  return Math.round(usd * NANO_PER_USD) / NANO_PER_USD;
}
