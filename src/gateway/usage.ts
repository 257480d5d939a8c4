/** Puts together what `GET /admin/v1/usage` shows: who called what lately, what it cost, and what was changed at run time. */
import { NANO_PER_USD } from "../base/money.ts";
import { monthOf } from "../base/month.ts";
import { partsOf } from "../config/overrides.ts";
import { noTotals, type Totals } from "../history/cells.ts";
import type { CallHistory } from "../history/history.ts";
import { HOUR_MS } from "../history/series.ts";
import type { Clock, StateStore } from "../plugin/index.ts";
import type { SpendSum } from "../plugin/store.ts";
import type { Usage } from "../surfaces/admin/v1/usage-schema.ts";

export const USAGE_DAYS = 30;
const DAY_MS = 24 * HOUR_MS;

export interface UsageSources {
  readonly clock: Pick<Clock, "nowMs">;
  readonly store: Pick<StateStore, "sums" | "overrides">;
  readonly history: Pick<CallHistory, "series">;
  readonly hash: string;
}

type ObjectUsage = Usage["objects"][number];

export async function usageOf({ clock, store, history, hash }: UsageSources): Promise<Usage> {
  const nowMs = clock.nowMs();
  const month = monthOf(nowMs);
  const [sums, overrides] = await Promise.all([store.sums(), store.overrides.list()]);
  const standing = overrides === "unavailable" ? [] : overrides;
  const range = { fromMs: nowMs - USAGE_DAYS * DAY_MS, toMs: nowMs + 1, stepMs: DAY_MS };
  const objects = new Map<string, ObjectUsage>();
  let sinceMs = nowMs;
  for (const dimension of ["endpoint", "token"] as const) {
    for (const series of history.series.list(dimension)) {
      const points = history.series.points(series, range, nowMs);
      const [project = "", name = ""] = series.names;
      const [first] = points;
      if (first === undefined) continue;
      sinceMs = Math.min(sinceMs, Math.max(first.atMs, range.fromMs));
      objects.set(keyOf({ kind: dimension, project, name }), {
        ...{ kind: dimension, project, name },
        ...summed(points.map(({ totals }) => totals)),
        spend_usd: 0,
      });
    }
  }
  for (const sum of sums) if (sum.month === month) addSpend(objects, sum);
  return {
    ...{ ok: true, hash, month, since: new Date(sinceMs).toISOString() },
    objects: [...objects.values()],
    overrides: standing.map(({ key, value, replaced, actor, setAtMs }) => {
      const { kind, projectUuid: project, name } = partsOf(key);
      return { key, kind, project, name, value, replaced, actor, set_at: new Date(setAtMs).toISOString() };
    }),
    overrides_known: overrides !== "unavailable",
  };
}

type Named = Pick<ObjectUsage, "kind" | "project" | "name">;
const keyOf = ({ kind, project, name }: Named): string => `${kind}\0${project}\0${name}`;

function summed(
  totals: readonly Totals[],
): Pick<ObjectUsage, "calls" | "prompt_tokens" | "completion_tokens"> {
  const all = noTotals();
  for (const { calls, prompt_tokens: prompt, completion_tokens: completion } of totals) {
    all.calls += calls;
    all.prompt_tokens += prompt;
    all.completion_tokens += completion;
  }
  const { calls, prompt_tokens, completion_tokens } = all;
  return { calls, prompt_tokens, completion_tokens };
}

/** By the keys of stage budget. Reservations count: their calls are under way. */
function addSpend(
  objects: Map<string, ObjectUsage>,
  { key, settledNanoUsd, reservedNanoUsd }: SpendSum,
): void {
  const isToken = key.startsWith("spend:token:");
  const rest = key.slice(isToken ? "spend:token:".length : "spend:".length);
  const slash = rest.indexOf("/");
  if (slash < 0) return;
  const kind = isToken ? ("token" as const) : ("endpoint" as const);
  const named = { kind, project: rest.slice(0, slash), name: rest.slice(slash + 1) };
  const known = objects.get(keyOf(named)) ?? { ...named, calls: 0, prompt_tokens: 0, completion_tokens: 0 };
  objects.set(keyOf(named), { ...known, spend_usd: (settledNanoUsd + reservedNanoUsd) / NANO_PER_USD });
}
