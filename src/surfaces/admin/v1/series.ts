/** `/admin/v1/series`: numbers of calls over time. */
import { nanoUsdText } from "../../../base/money.ts";
import { quantileMs, REASONS, type Totals } from "../../../history/cells.ts";
import { type Dimension, HOUR_MS, HOURS_KEPT, MINUTE_MS, type Point } from "../../../history/series.ts";
import { reject } from "../../../plugin/index.ts";
import type { ApiRoute } from "./api-route.ts";
import { projectUuid, type QueryOf } from "./query.ts";
import { choice, count, list, moment, object, text } from "./schema.ts";

const MEASURES = ["calls", "errors", "refusals", "tokens", "cost", "latency", "first_byte"] as const;
type Measure = (typeof MEASURES)[number];

/** What the series are of, and what they are named by. */
const DIMENSIONS: Readonly<Record<string, Dimension>> = {
  all: "all",
  project: "project",
  endpoint: "endpoint",
  token: "token",
  model: "target",
};

const POINTS_MAX = 1_500;
const SERIES_MAX = 100;

const parameters = {
  measure: { type: "string", description: "What is counted.", enum: MEASURES },
  by: { type: "string", description: "One series for each; default `all`.", enum: Object.keys(DIMENSIONS) },
  project: projectUuid,
  endpoint: { type: "string", description: "Only of this slug or alias." },
  token: { type: "string", description: "Only of this token." },
  from: { type: "string", description: "Default: an hour before `to`.", format: "date-time" },
  to: { type: "string", description: "Default: now.", format: "date-time" },
  step: {
    type: "integer",
    description:
      "Seconds of a point: 60 or a multiple; beyond 24 hours back 3,600 or a multiple. Default: about 60 points.",
    ...{ minimum: 60, maximum: 86_400 },
  },
} as const;

const series = object("Numbers over time. Points in which nothing happened are left out.", {
  measure: choice("What is counted.", MEASURES),
  from: moment("Start of the first point that was asked for."),
  to: moment("End of the last one."),
  step: count("Seconds of a point."),
  series: list(
    "The largest first, at most 100.",
    object("One of them.", {
      names: list(
        "What it is of: project and slug or token id, or provider and model. Empty: everything.",
        text("A name."),
      ),
      points: list(
        "In the order of time.",
        object("One point.", {
          at: moment("Its start."),
          values: {
            type: "object",
            description:
              "By name: `calls`; `done`, `refused`, `failed`, `client_gone`; reasons; `prompt`, `completion`, `cached`; `usd`; `p50`, `p90`, `p99`.",
            additionalProperties: { type: "number" },
          },
        }),
      ),
    }),
  ),
});

/** The numbers of one point. Money as a number loses nothing below a million dollars. */
const VALUES: Readonly<Record<Measure, (totals: Totals) => Readonly<Record<string, number>>>> = {
  calls: ({ calls, done, refused, failed, client_gone }) => ({ calls, done, refused, failed, client_gone }),
  errors: ({ calls, failed, reasons }) => ({
    ...{ calls, failed },
    ...{ provider: reasons.provider, overload: reasons.overload, internal: reasons.internal },
  }),
  refusals: ({ calls, refused, reasons }) => ({
    ...{ calls, refused },
    ...Object.fromEntries(
      REASONS.filter((reason) => reasons[reason] > 0).map((reason) => [reason, reasons[reason]]),
    ),
  }),
  tokens: (totals) => ({
    ...{ prompt: totals.prompt_tokens, completion: totals.completion_tokens, cached: totals.cached_tokens },
  }),
  cost: ({ cost_nano_usd }) => ({ usd: Number(nanoUsdText(cost_nano_usd)) }),
  latency: ({ duration }) => quantilesOf(duration),
  first_byte: ({ first_byte }) => quantilesOf(first_byte),
};

function quantilesOf(buckets: readonly number[]): Readonly<Record<string, number>> {
  const shares = { p50: 0.5, p90: 0.9, p99: 0.99 };
  const known = Object.entries(shares).flatMap(([name, share]) => {
    const ms = quantileMs(buckets, share);
    return ms === undefined ? [] : [[name, Math.round(ms * 10) / 10] as const];
  });
  return Object.fromEntries(known);
}

export const getSeries: ApiRoute = {
  ...{ method: "GET", path: "/admin/v1/series" },
  summary:
    "Calls, errors, refusals, tokens, cost and times over time: by minute for 24 hours, by hour for 32 days.",
  query: parameters,
  responses: { 200: { description: "The series.", schema: series } },
  handler({ history, records: { clock } }, { query }) {
    const {
      measure = "calls",
      by = "all",
      project,
      endpoint,
      token,
      from,
      to,
      step,
    } = query as QueryOf<typeof parameters>; // Checked by `query`.
    const nowMs = clock.nowMs();
    // The running minute counts.
    const toMs = to === undefined ? nowMs + 1 : Date.parse(to);
    const askedMs = from === undefined ? toMs - HOUR_MS : Date.parse(from);
    // Before that nothing is kept.
    const fromMs = Math.max(askedMs, nowMs - HOURS_KEPT * HOUR_MS);
    if (fromMs >= toMs) return reject("invalid_field", { field: "from", expected: "a time before `to`" });
    const stepMs = stepOf(step, { fromMs, toMs, nowMs });
    if ((toMs - fromMs) / stepMs > POINTS_MAX)
      return reject("invalid_field", { field: "step", expected: `at most ${POINTS_MAX} points` });
    const range = { fromMs: Math.floor(fromMs / stepMs) * stepMs, toMs, stepMs };
    const names = [project?.toLowerCase(), endpoint ?? token].filter((name) => name !== undefined);
    const found = history.series
      .list(DIMENSIONS[by] ?? "all", ...(by === "all" ? [] : names))
      .map((one) => ({ names: one.names, points: history.series.points(one, range, nowMs) }))
      .filter(({ points }) => points.length > 0)
      .map((one) => ({ ...one, calls: one.points.reduce((sum, { totals }) => sum + totals.calls, 0) }))
      .sort((a, b) => b.calls - a.calls)
      .slice(0, SERIES_MAX);
    // One of `enum`.
    const values = VALUES[measure as Measure];
    const shown = ({ atMs, totals }: Point) => ({ at: new Date(atMs).toISOString(), values: values(totals) });
    return {
      status: 200,
      content: {
        ...{ measure, from: new Date(range.fromMs).toISOString(), to: new Date(toMs).toISOString() },
        step: stepMs / 1000,
        series: found.map((one) => ({ names: one.names, points: one.points.map(shown) })),
      },
    };
  },
};

/** Whole minutes; whole hours where the range reaches further back than minutes are kept. */
function stepOf(
  seconds: number | undefined,
  { fromMs, toMs, nowMs }: { readonly fromMs: number; readonly toMs: number; readonly nowMs: number },
): number {
  const unit = fromMs < nowMs - 23 * HOUR_MS ? HOUR_MS : MINUTE_MS;
  const wantedMs = seconds === undefined ? (toMs - fromMs) / 60 : seconds * 1000;
  return Math.max(unit, Math.ceil(wantedMs / unit) * unit);
}
