/**
 * The audit events of a reload, once for all replicas: each applies the same change of git, so ids are derived from the
 * change, and the first replica to claim it in the store records it.
 */

import type { AuditTrail } from "../audit/audit.ts";
import { uuidV5 } from "../base/ids.ts";
import { Slices } from "../base/slices.ts";
import type { ConfigChange } from "../plan/audit-events.ts";
import type { MaybePromise, StateStore } from "../plugin/index.ts";
import { andThen } from "../plugin/index.ts";

/** How far replicas may be apart with the same change. Longer, and a change made again after a restart would be lost. */
export const CLAIM_SECONDS = 600;
/** Reloads remembered: more within ten minutes are taken for new ones. */
const RECENT_MAX = 1000;
/** Of ids derived from changes. */
const NAMESPACE = "5c0a1c5e-8a2b-5d43-9a3e-7d5f2b8e6c10";

/** What was loaded: texts of this hash, at this git revision ("": not known). */
export interface LoadedRef {
  readonly hash: string;
  readonly revision: string;
}

export interface ReloadEventsOptions {
  readonly store: Pick<StateStore, "slice">;
  readonly trail: AuditTrail;
  /** Milliseconds that never go back. */
  monotonicMs(): number;
}

export class ReloadEvents {
  readonly #options: ReloadEventsOptions;
  /** This replica's changes within the time of a claim, oldest first. */
  #recent: { readonly change: string; readonly atMs: number }[] = [];
  #recording: MaybePromise<void> = undefined;

  constructor(options: ReloadEventsOptions) {
    this.#options = options;
  }

  /** `from`: hash of the configuration before. */
  record(from: string, to: LoadedRef, changes: readonly ConfigChange[]): void {
    if (changes.length === 0) return;
    const change = this.#numbered(`${from} ${to.hash}`);
    const slice = this.#options.store.slice?.("gateway");
    const claimed = slice?.increment(`reload:${uuidV5(NAMESPACE, change)}`, 1, CLAIM_SECONDS);
    const before = this.#recording;
    this.#recording = andThen(claimed, (count) => {
      // A store that cannot say is lost: twice under one id is better than never.
      const recorded = count === undefined || count === 1 ? this.#recordAll(change, to, changes) : undefined;
      return andThen(before, () => recorded);
    });
  }

  /** Answers when what was claimed so far is recorded. */
  flush(): MaybePromise<void> {
    return this.#recording;
  }

  /** In slices: a reload may change ten thousand endpoints. */
  async #recordAll(change: string, to: LoadedRef, changes: readonly ConfigChange[]): Promise<void> {
    const slices = new Slices();
    const { hash: config_hash, revision } = to;
    const loaded: ConfigChange["metadata"] = revision === "" ? { config_hash } : { config_hash, revision };
    for (const one of changes) {
      if (slices.isUsedUp) await slices.yielded();
      const { project, event, target, metadata } = one;
      const id = uuidV5(NAMESPACE, JSON.stringify([change, project.uuid, event, target, metadata]));
      const recorded = { ...one, metadata: { ...metadata, ...loaded }, actor: "config", ipAddress: "" };
      void this.#options.trail.record(recorded, id);
    }
  }

  /** A change that is taken back and made again is another one: the replicas count alike how often they have seen it. */
  #numbered(change: string): string {
    const nowMs = this.#options.monotonicMs();
    const sinceMs = nowMs - CLAIM_SECONDS * 1000;
    this.#recent = this.#recent.filter(({ atMs }) => atMs > sinceMs).slice(-RECENT_MAX);
    const times = this.#recent.filter((recent) => recent.change === change).length;
    this.#recent.push({ change, atMs: nowMs });
    return `${change} ${times}`;
  }
}
