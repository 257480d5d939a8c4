/** How much memory audit records take, and how much of a queue each kind of them may fill. */
import type { AuditKind, AuditRecord } from "../plugin/store.ts";

/** Size of a record without its texts, approximately. */
const RECORD_BYTES = 400;

/** Size of a record in memory, approximately: two bytes per UTF-16 unit. */
export function auditBytes({ actor, target, ipAddress, project, metadata }: AuditRecord): number {
  const texts = actor.length + target.length + ipAddress.length + project.name.length;
  return RECORD_BYTES + 2 * (texts + JSON.stringify(metadata).length);
}

/** Of a queue's places: what a flood of traffic, or of sign-ins, leaves is for changes. */
const QUEUE_PART: Readonly<Record<AuditKind, number>> = { change: 1, sign_in: 0.75, traffic: 0.5 };

/** How full a queue may be, of `most`, for a record of this kind to be added. */
export function queueLimit(kind: AuditKind, most: number): number {
  return Math.floor(most * QUEUE_PART[kind]);
}
