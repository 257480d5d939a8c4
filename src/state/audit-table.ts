/** The audit log in memory: the newest AUDIT_RECORDS_MAX records, in a ring. */
import type { AuditFilter, AuditRecord, AuditStore } from "../plugin/index.ts";
import { AUDIT_RECORDS_MAX } from "../plugin/index.ts";

export class AuditTable implements AuditStore {
  readonly #recordsMax: number;
  readonly #ring: AuditRecord[] = [];
  /** Where the next record goes once the ring is full: the place of the oldest. */
  #oldest = 0;

  /** `recordsMax`: see AUDIT_RECORDS_MAX, its default. */
  constructor(recordsMax: number = AUDIT_RECORDS_MAX) {
    this.#recordsMax = recordsMax;
  }

  get size(): number {
    return this.#ring.length;
  }

  append(records: readonly AuditRecord[]): void {
    for (const record of records) {
      if (this.#ring.length < this.#recordsMax) {
        this.#ring.push(record);
      } else {
        this.#ring[this.#oldest] = record;
        this.#oldest = (this.#oldest + 1) % this.#recordsMax;
      }
    }
  }

  query(filter: AuditFilter): readonly AuditRecord[] {
    const found: AuditRecord[] = [];
    let reached = filter.before === undefined;
    for (const record of this.newestFirst()) {
      if (found.length >= filter.limit) break;
      if (reached && matches(record, filter)) found.push(record);
      reached ||= record.id === filter.before;
    }
    return found;
  }

  /** A list of its own. */
  oldestFirst(): AuditRecord[] {
    return [...this.#ring.slice(this.#oldest), ...this.#ring.slice(0, this.#oldest)];
  }

  *newestFirst(): Generator<AuditRecord> {
    for (let back = 1; back <= this.#ring.length; back++) {
      const record = this.#ring[(this.#oldest + this.#ring.length - back) % this.#ring.length];
      if (record !== undefined) yield record;
    }
  }
}

function matches(record: AuditRecord, { projectUuid, event }: AuditFilter): boolean {
  return (
    (projectUuid === undefined || record.project.uuid === projectUuid) &&
    (event === undefined || record.event === event)
  );
}
