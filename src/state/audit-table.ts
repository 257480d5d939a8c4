/**
 * The audit log in memory. Each kind of event has bounds of its own, in records and bytes, and within them each project its
 * share: blocked calls push out no change and no sign-in, and one project's records none of another's.
 */
import { auditBytes } from "../base/audit-bytes.ts";
import { FairShares, type Share } from "../base/fair-shares.ts";
import type { AuditFilter, AuditKind, AuditRecord, AuditStore } from "../plugin/store.ts";
import { AUDIT_BYTES_MAX, AUDIT_RECORDS_MAX, auditKindOf } from "../plugin/store.ts";

/** Of one kind. */
export interface AuditLimits {
  readonly records: number;
  /** See `auditBytes`. */
  readonly bytes: number;
}

const LIMITS: AuditLimits = { records: AUDIT_RECORDS_MAX, bytes: AUDIT_BYTES_MAX };

interface Entry {
  /** Its place among all records of the log. */
  readonly number: number;
  readonly record: AuditRecord;
  readonly bytes: number;
  readonly share: Share<OldestFirst>;
}

export class AuditTable implements AuditStore {
  readonly #kinds: Readonly<Record<AuditKind, AuditRing>>;
  #lastNumber = 0;

  /** `limits`: see AUDIT_RECORDS_MAX and AUDIT_BYTES_MAX, the default. */
  constructor(limits: AuditLimits = LIMITS) {
    this.#kinds = {
      change: new AuditRing(limits),
      sign_in: new AuditRing(limits),
      traffic: new AuditRing(limits),
    };
  }

  get size(): number {
    return Object.values(this.#kinds).reduce((sum, ring) => sum + ring.entries.size, 0);
  }

  append(records: readonly AuditRecord[]): void {
    for (const record of records) {
      this.#lastNumber += 1;
      this.#kinds[auditKindOf(record.event)].add(this.#lastNumber, record);
    }
  }

  query(filter: AuditFilter): readonly AuditRecord[] {
    const found: AuditRecord[] = [];
    let reached = filter.before === undefined;
    for (const record of this.oldestFirst().reverse()) {
      if (found.length >= filter.limit) break;
      if (reached && matches(record, filter)) found.push(record);
      reached ||= record.id === filter.before;
    }
    return found;
  }

  /** A list of its own. */
  oldestFirst(): AuditRecord[] {
    const entries = Object.values(this.#kinds).flatMap((ring) => [...ring.entries.values()]);
    return entries.sort((a, b) => a.number - b.number).map(({ record }) => record);
  }
}

/** The records of one kind. */
class AuditRing {
  /** By number, oldest first. */
  readonly entries = new Map<number, Entry>();
  readonly #limits: AuditLimits;
  readonly #shares = new FairShares(() => new OldestFirst());

  constructor(limits: AuditLimits) {
    this.#limits = limits;
  }

  add(number: number, record: AuditRecord): void {
    const bytes = auditBytes(record);
    const share = this.#shares.add(record.project.uuid, bytes);
    share.items.push(number);
    this.entries.set(number, { number, record, bytes, share });
    while (this.#shares.count > this.#limits.records) this.#forget("count");
    while (this.#shares.bytes > this.#limits.bytes) this.#forget("bytes");
  }

  /** The oldest record of the project that has most. */
  #forget(measure: "count" | "bytes"): void {
    const number = this.#shares.largest(measure, ({ count }) => count > 0)?.items.shift();
    const entry = number === undefined ? undefined : this.entries.get(number);
    if (entry === undefined) return;
    this.entries.delete(entry.number);
    this.#shares.remove(entry.share, entry.bytes);
  }
}

/** Numbers in insertion order; taking the oldest costs the same however many there are. */
class OldestFirst {
  #numbers: number[] = [];
  #taken = 0;

  push(number: number): void {
    this.#numbers.push(number);
  }

  shift(): number | undefined {
    const number = this.#numbers[this.#taken];
    this.#taken += 1;
    if (this.#taken > 1024 && this.#taken * 2 > this.#numbers.length) {
      this.#numbers = this.#numbers.slice(this.#taken);
      this.#taken = 0;
    }
    return number;
  }
}

function matches(record: AuditRecord, { projectUuid, event }: AuditFilter): boolean {
  return (
    (projectUuid === undefined || record.project.uuid === projectUuid) &&
    (event === undefined || record.event === event)
  );
}
