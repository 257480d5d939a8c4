/**
 * What happened lately: recent calls and time series, fed by each call at its end. Lives as long as the gateway, across
 * configurations. The hours of the series are kept in the state store where it outlives the process.
 */
import type { Call } from "../pipeline/call.ts";
import type { CallEnd, Clock, Exchange } from "../plugin/index.ts";
import { type CallRecord, recordOf } from "./call-record.ts";
import { bucketOf, REASONS, reasonOf } from "./cells.ts";
import { CALLS_MAX, RecentCalls } from "./recent-calls.ts";
import { type Series, SeriesStore } from "./series.ts";

export interface HistoryOptions {
  readonly clock: Pick<Clock, "nowMs">;
}

export class CallHistory {
  readonly recent = new RecentCalls<CallRecord>({ keep: 0, max: CALLS_MAX });
  readonly series = new SeriesStore();
  readonly #options: HistoryOptions;
  #sequence = 0;
  // References of a configuration's objects: a reload brings new ones, and these go with the old.
  readonly #ofEndpoint = new WeakMap<Exchange["endpoint"], Series | undefined>();
  readonly #ofToken = new WeakMap<Exchange["token"], Series | undefined>();
  readonly #ofProject = new WeakMap<Exchange["project"], Series | undefined>();
  readonly #ofTarget = new Map<string, Map<string, Series | undefined>>();
  readonly #all = this.series.of("all");
  /** Filled anew for each call. */
  readonly #into: (Series | undefined)[] = [undefined, undefined, undefined, undefined, undefined];

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** A finish hook of a configuration's calls. `shown`: how their texts are kept; undefined: not at all. */
  finish(shown: ((text: string) => string) | undefined): (x: Exchange, end: CallEnd) => void {
    return (x, end) => {
      this.#count(x, end);
      // The gateway makes every Exchange, and makes it as a Call.
      this.recent.add(recordOf(x as Call, end, ++this.#sequence, shown));
    };
  }

  #count(x: Exchange, end: CallEnd): void {
    const into = this.#into;
    const isKnown = x.endpoint.slug !== "";
    into[0] = this.#all;
    into[1] = x.project.name === "" ? undefined : this.#project(x);
    into[2] = isKnown ? this.#endpoint(x) : undefined;
    into[3] = x.token.id === "" ? undefined : this.#token(x);
    // The model as configured: what a provider answers for it may be any text.
    const last = x.attempts.length === 0 ? undefined : x.attempts[x.attempts.length - 1];
    into[4] = last === undefined ? undefined : this.#target(last.provider, last.model);
    const { error, firstByteMs } = end;
    const isJudged =
      error !== undefined && x.verdicts.some(({ verdict, shadow }) => verdict === "block" && !shadow);
    this.series.count(into, end, {
      nowMs: this.#options.clock.nowMs(),
      reason: error === undefined ? -1 : REASONS.indexOf(reasonOf(error, isJudged)),
      duration: bucketOf(end.durationMs),
      firstByte: firstByteMs === undefined ? -1 : bucketOf(firstByteMs),
    });
  }

  #project({ project }: Exchange): Series | undefined {
    const known = this.#ofProject.get(project);
    if (known !== undefined) return known;
    const series = this.series.of("project", project.uuid);
    this.#ofProject.set(project, series);
    return series;
  }

  #endpoint({ project, endpoint }: Exchange): Series | undefined {
    const known = this.#ofEndpoint.get(endpoint);
    if (known !== undefined) return known;
    const series = this.series.of("endpoint", project.uuid, endpoint.slug);
    this.#ofEndpoint.set(endpoint, series);
    return series;
  }

  #token({ token }: Exchange): Series | undefined {
    const known = this.#ofToken.get(token);
    if (known !== undefined) return known;
    const series = this.series.of("token", token.projectUuid, token.id);
    this.#ofToken.set(token, series);
    return series;
  }

  #target(provider: string, model: string): Series | undefined {
    let models = this.#ofTarget.get(provider);
    if (models === undefined) this.#ofTarget.set(provider, (models = new Map()));
    let series = models.get(model);
    if (series === undefined) models.set(model, (series = this.series.of("target", provider, model)));
    return series;
  }
}
