/**
 * What a loaded configuration changes against the one in use: computed where the configuration is loaded, in a thread of
 * its own, and sent to the calls' thread in pieces of bounded size.
 */
import type { LoadOutcome } from "../config/load.ts";
import { auditEvents, type ConfigChange } from "../plan/audit-events.ts";
import { type ChangeSummary, summaryOf } from "../plan/change-summary.ts";
import { changesBetween } from "../plan/changes.ts";
import { type KeptSide, keepSide, keptSide, type LoadedSide } from "../plan/kept-side.ts";
import { judge } from "../plan/plan.ts";
import type { Logger } from "../plugin/host.ts";
import type { Registry } from "../plugins-host/registry.ts";

/** The first answer; `events` follow. */
export interface Comparison {
  readonly summary: ChangeSummary;
  /** The configuration that was loaded, for the next comparison. */
  readonly kept: KeptSide;
  /** For the admin API; see packed-config.ts. undefined: nobody has asked for it. */
  readonly packed: Uint8Array | undefined;
  /** Why the changes have counts of objects alone; undefined: they were judged. */
  readonly fault: string | undefined;
}

/** Everything that a reload has changed. */
export interface ReloadChanges extends Comparison {
  readonly events: readonly ConfigChange[];
}

/** Computed while the configuration is compiled. undefined: they are not known, and the reload holds nevertheless. */
export async function knownChanges(
  changes: Promise<ReloadChanges> | undefined,
  log: Logger,
): Promise<ChangeSummary | undefined> {
  try {
    const known = await changes;
    if (known?.fault !== undefined)
      log.error({ reason: known.fault }, "the changes of a reload could not be judged");
    return known?.summary;
  } catch {
    // Logged where their audit events are missed.
    return undefined;
  }
}

/** Events of one message: taking it over blocks the calls' thread. */
const EVENTS_PER_PIECE = 500;

type Comparable = Pick<LoadOutcome, "config" | "shown" | "hash"> & { readonly revision?: string };

/** What the thread compares: see `Loaded`. undefined: there are errors, or nothing is shown. */
export function sideOf({ config, shown, hash, revision }: Comparable): LoadedSide | undefined {
  if (config === undefined || shown === undefined) return undefined;
  const known = revision === undefined || revision === "" ? null : revision;
  return { name: "files", hash, revision: known, shown, config };
}

export interface CompareOptions {
  /** undefined: nothing is known of the configuration in use. */
  readonly inUse: KeptSide | undefined;
  readonly registry: Registry;
  readonly nowMs: number;
  /** Makes what the admin API shows of the configuration. */
  readonly pack?: (() => Uint8Array) | undefined;
}

export class Comparer {
  readonly comparison: Comparison;
  readonly #events: readonly ConfigChange[];
  #sent = 0;

  constructor(to: LoadedSide, { inUse, registry, nowMs, pack }: CompareOptions) {
    const from = inUse === undefined ? to : keptSide(inUse);
    const changes = changesBetween(from, to);
    this.#events = auditEvents(changes, { from, to });
    // A fault of a rule costs the reload its summary and not its events.
    let summary = summaryOf(changes, []);
    let fault: string | undefined;
    try {
      const findPlugin = (kind: string, name: string) => registry.find(kind, name);
      summary = summaryOf(changes, judge(from, to, { findPlugin, nowMs, changes }));
    } catch (thrown) {
      fault = thrown instanceof Error ? thrown.message : String(thrown);
    }
    this.comparison = { summary, kept: keepSide(to), packed: pack?.(), fault };
  }

  /** undefined after the last ones. */
  next(): readonly ConfigChange[] | undefined {
    const piece = this.#events.slice(this.#sent, this.#sent + EVENTS_PER_PIECE);
    this.#sent += piece.length;
    return piece.length === 0 ? undefined : piece;
  }
}
