/** The contract that drivers fulfil; it stands in the public door, so that third parties can write one. */
export type {
  Admission,
  AuditFilter,
  AuditRecord,
  AuditStore,
  Message,
  OpenSession,
  Override,
  OverrideStore,
  Reservation,
  SessionStore,
  Spending,
  SpendSum,
  StateStore,
  StoreClaim,
  StoreHealth,
} from "../plugin/index.ts";
export {
  AUDIT_RECORDS_MAX,
  LEASE_MS,
  OVERRIDE_BYTES_MAX,
  OVERRIDES_MAX,
  SESSION_WAITERS_MAX,
} from "../plugin/index.ts";

/** Conversations of the built-in stages are kept apart from those of third-party plugins under this name. */
export const OWN_SESSIONS = "chat/";
