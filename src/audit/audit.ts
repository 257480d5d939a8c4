/**
 * The only way into the audit log: turns events into records, stores them in order, and then notifies listeners
 * (webhooks). Does not know the sources of events and does not delay them.
 */
import { queueLimit } from "../base/audit-bytes.ts";
import type { VerdictRecord } from "../plugin/exchange.ts";
import type { Logger, Random } from "../plugin/host.ts";
import type { CallEnd, Clock, Exchange, Hooks, MaybePromise, StateStore } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import type { AuditRecord } from "../plugin/store.ts";
import { auditKindOf } from "../plugin/store.ts";

/** Something that happened, before it has an id and a time. */
export type AuditEvent = Omit<AuditRecord, "id" | "occurredAtMs">;

/** The project of events that concern the whole gateway: a failed sign-in, a backup of everything. */
export const GATEWAY_WIDE: AuditEvent["project"] = Object.freeze({ id: 0, name: "", uuid: "" });

export interface AuditTrail {
  /**
   * Resolves when it is stored. Records beyond RECORDS_WAITING_MAX are lost, which is logged. `id`: a UUID; default:
   * a random one.
   */
  record(event: AuditEvent, id?: string): MaybePromise<void>;
  /** Calls `listener` for each record that the store has, in their order. Returns the way to stop. */
  onRecord(listener: (record: AuditRecord) => void): () => void;
  /** Resolves when everything recorded so far is stored. */
  flush(): MaybePromise<void>;
}

/** Records that may wait for a slow store: as many as a reload of the largest configuration raises. */
export const RECORDS_WAITING_MAX = 100_000;

export interface AuditTrailOptions {
  readonly store: Pick<StateStore, "audit">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** False: the store has failed, which drivers do not but a third party's may; the records after these are not lost with them. */
function append(
  { audit }: Pick<StateStore, "audit">,
  log: Logger,
  records: readonly AuditRecord[],
): MaybePromise<boolean> {
  const lost = (thrown: unknown): boolean => {
    log.error(
      { records: records.length, err: thrown },
      "audit records were lost: the store failed to append them",
    );
    return false;
  };
  try {
    const kept = audit.append(records);
    return isPromise(kept) ? kept.then(() => true, lost) : true;
  } catch (thrown) {
    return lost(thrown);
  }
}

export function createAuditTrail({ store, clock, random, log }: AuditTrailOptions): AuditTrail {
  const listeners = new Set<(record: AuditRecord) => void>();
  let waiting: AuditRecord[] = [];
  /** The write under way, of a store that answers later. Meanwhile records wait, and go together: that keeps order. */
  let writing: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function tell(records: readonly AuditRecord[]): void {
    for (const record of records) {
      for (const listener of listeners) {
        try {
          listener(record);
        } catch (thrown) {
          log.error({ event: record.event, err: thrown }, "a listener of the audit log failed");
        }
      }
    }
  }

  /** Neither throws nor rejects. */
  function write(records: readonly AuditRecord[]): MaybePromise<void> {
    const over = (isKept: boolean): void => {
      if (waiting.length === 0) writing = undefined;
      if (isKept) tell(records);
    };
    const kept = append(store, log, records);
    if (isPromise(kept)) return (writing = kept.then(over));
    writing = undefined;
    over(kept);
  }

  function writeWaiting(): MaybePromise<void> {
    const batch = waiting;
    waiting = [];
    next = undefined;
    return write(batch);
  }

  return {
    record(event, id = random.uuid()) {
      const made: AuditRecord = { id, occurredAtMs: clock.nowMs(), ...event };
      if (writing === undefined) return write([made]);
      if (waiting.length >= queueLimit(auditKindOf(made.event), RECORDS_WAITING_MAX)) {
        return log.error({ event: made.event }, "an audit record was lost: too many wait for the store");
      }
      waiting.push(made);
      next ??= writing.then(writeWaiting);
      return next;
    },
    onRecord(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    flush: () => next ?? writing,
  };
}

/** A record in its public fields: the body of a webhook delivery, and the admin API's entry without the id. */
export function auditFields(record: AuditRecord): Readonly<Record<string, unknown>> {
  const { event, severity, actor, project, target, metadata, ipAddress, occurredAtMs } = record;
  const { id, name, uuid } = project;
  return {
    event,
    severity,
    actor,
    project: { id, name, uuid },
    target,
    metadata,
    ip_address: ipAddress,
    occurred_at: new Date(occurredAtMs).toISOString(),
  };
}

/** A finish hook that records each block of a guardrail as `guardrail.blocked`. Shadows only watch, so they raise none. */
export function auditBlocks(trail: AuditTrail): NonNullable<Hooks["finish"]> {
  return (x, end) => {
    if (x.verdicts.length === 0) return;
    const blocked = x.verdicts.filter((verdict) => hasBlocked(verdict, x, end));
    // Kept in their order, so the last one's answer is that of all.
    return blocked.map((verdict) => trail.record(blockOf(verdict, x))).at(-1);
  };
}

const FAILED_CLOSED: ReadonlySet<string | undefined> = new Set([
  "guardrail_failed",
  "answer_guardrail_failed",
]);

/** A guardrail that failed blocks too, when it ended the call; with `on_error: allow` the call went on. */
function hasBlocked({ shadow, verdict }: VerdictRecord, x: Exchange, { error }: CallEnd): boolean {
  if (shadow) return false;
  if (verdict !== "error") return verdict === "block";
  return FAILED_CLOSED.has(error?.code) && x.verdicts.at(-1)?.verdict === "error";
}

function blockOf({ guardrail, reason, side }: VerdictRecord, x: Exchange): AuditEvent {
  return {
    event: "guardrail.blocked",
    severity: "warn",
    actor: x.token.name,
    project: x.project,
    target: guardrail,
    metadata: { guardrail, reason, side, endpoint: x.endpoint.slug, request_id: x.requestId },
    ipAddress: x.clientAddress,
  };
}
