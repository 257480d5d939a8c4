/**
 * What `/metrics` has of calls: how many, how long, what they used and cost, what refused them. Labels are configured
 * names and words of the gateway, never what a client wrote.
 */
import { type CallEnd, type Exchange, type Host, type MetricFamily, STAGES } from "sluice/plugin";
import type { Usage } from "sluice/provider";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const STAGE_SECONDS = [0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10, 60];

type Add = (value: number) => void;

/** Returns what counts a call, at its end. */
export function callCounters(metrics: Host["metrics"]): (x: Exchange, end: CallEnd) => void {
  const families = familiesOf(metrics);
  const ofStage = STAGES.map((name) => families.stage.series(name));
  // Series are kept per endpoint: finding one costs more than counting.
  const ofEndpoint = new WeakMap<Exchange["endpoint"], EndpointSeries>();

  return (x, end) => {
    let series = ofEndpoint.get(x.endpoint);
    if (series === undefined) ofEndpoint.set(x.endpoint, (series = new EndpointSeries(families, x)));
    series.count(end);
    for (let i = 0; i < ofStage.length; i++) {
      const spent = end.stageMs[i] ?? -1;
      if (spent >= 0) ofStage[i]?.(spent / 1000);
    }
    for (const attempt of x.attempts) {
      families.attempts.series(attempt.provider, attempt.model, becameOf(attempt))(1);
    }
    for (const { guardrail, side, verdict } of x.verdicts) {
      families.verdicts.series(guardrail, side, verdict)(1);
    }
  };
}

// Names, helps and labels stand here as they are: docs/metrics.md is written from this text.
function familiesOf(metrics: Host["metrics"]): Readonly<Record<Family, MetricFamily>> {
  return {
    calls: metrics.counter("sluice_calls_total", "Calls by status", ["project", "endpoint", "status"]),
    duration: metrics.histogram(
      "sluice_call_duration_seconds",
      "From a call's arrival to its end",
      ["project", "endpoint"],
      SECONDS,
    ),
    stage: metrics.histogram(
      "sluice_stage_duration_seconds",
      "Time that calls spend in a stage",
      ["stage"],
      STAGE_SECONDS,
    ),
    tokens: metrics.counter(
      "sluice_tokens_total",
      "Tokens: prompt (cached and cache_write are parts of it) and completion (reasoning is a part of it)",
      ["project", "endpoint", "kind"],
    ),
    estimated: metrics.counter(
      "sluice_usage_estimated_total",
      "Calls whose tokens are estimated, since the provider reported none",
      ["project", "endpoint"],
    ),
    cost: metrics.counter("sluice_cost_usd_total", "Settled cost in USD", ["project", "endpoint"]),
    refusals: metrics.counter(
      "sluice_refusals_total",
      "Calls that were refused or failed, by error code; scope is minute or hour for a rate limit",
      ["project", "endpoint", "code", "scope"],
    ),
    attempts: metrics.counter(
      "sluice_provider_attempts_total",
      "Attempts to call targets: ok, failed, cancelled by the client, or skipped while their circuit is open",
      ["provider", "model", "outcome"],
    ),
    verdicts: metrics.counter("sluice_guardrail_verdicts_total", "Guardrail verdicts", [
      "guardrail",
      "side",
      "verdict",
    ]),
  };
}

type Family =
  | "calls"
  | "duration"
  | "stage"
  | "tokens"
  | "estimated"
  | "cost"
  | "refusals"
  | "attempts"
  | "verdicts";

/** The series of one endpoint; those of calls that reached none have no name, since paths come from clients. */
class EndpointSeries {
  readonly #families: ReturnType<typeof familiesOf>;
  readonly #names: readonly string[];
  readonly #ofStatus = new Map<number, Add>();
  readonly #duration: Add;
  readonly #prompt: Add;
  readonly #completion: Add;
  readonly #cost: Add;

  constructor(families: ReturnType<typeof familiesOf>, { project, endpoint }: Exchange) {
    const names = endpoint.slug === "" ? ["", ""] : [project.uuid, endpoint.slug];
    this.#families = families;
    this.#names = names;
    this.#duration = families.duration.series(...names);
    this.#prompt = families.tokens.series(...names, "prompt");
    this.#completion = families.tokens.series(...names, "completion");
    this.#cost = families.cost.series(...names);
  }

  count({ status, durationMs, usage, error, costNanoUsd }: CallEnd): void {
    let ofStatus = this.#ofStatus.get(status);
    if (ofStatus === undefined) {
      ofStatus = this.#families.calls.series(...this.#names, String(status));
      this.#ofStatus.set(status, ofStatus);
    }
    ofStatus(1);
    this.#duration(durationMs / 1000);
    this.#cost(costNanoUsd / 1e9);
    if (usage !== undefined) this.#countTokens(usage);
    if (error !== undefined) {
      this.#families.refusals.series(...this.#names, error.code, error.extras.scope ?? "")(1);
    }
  }

  #countTokens(usage: Usage): void {
    this.#prompt(usage.promptTokens);
    this.#completion(usage.completionTokens);
    this.#countPart("cached", usage.cachedPromptTokens);
    this.#countPart("cache_write", usage.cacheWriteTokens);
    this.#countPart("reasoning", usage.reasoningTokens);
    if (usage.estimated === true) this.#families.estimated.series(...this.#names)(1);
  }

  /** Most calls have none of it, and then there is no series. */
  #countPart(kind: string, tokens = 0): void {
    if (tokens > 0) this.#families.tokens.series(...this.#names, kind)(tokens);
  }
}

function becameOf({ outcome }: Exchange["attempts"][number]): string {
  if (outcome === "ok" || outcome === "cancelled") return outcome;
  return outcome.startsWith("skipped") ? "skipped" : "failed";
}
