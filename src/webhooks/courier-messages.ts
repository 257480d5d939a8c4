/** What the gateway's thread and the one that delivers webhooks say to each other. Secrets go one way only. */
import type { Logger } from "../plugin/index.ts";
import type { DeliveryFilter, DeliveryRecord } from "./deliveries.ts";
import type { WebhookProject } from "./lane.ts";
import type { CountDeliveries } from "./metrics.ts";
import type { Asker } from "./webhooks.ts";

export type ToCourier =
  | { readonly configure: readonly WebhookProject[]; readonly allow: readonly string[] }
  /** A list of audit records as JSON: one text is handed over far faster than the objects that it stands for. */
  | { readonly records: string }
  /** Delivery records that a thread before this one has reported, as it did. */
  | { readonly restore: readonly string[] }
  | { readonly ask: number; readonly question: Question };

export type Question =
  | { readonly query: DeliveryFilter }
  | { readonly test: string; readonly projectUuid: string; readonly asker: Asker }
  /** Milliseconds. */
  | { readonly drain: number };

export type FromCourier =
  | { readonly report: Report }
  | {
      readonly log: keyof Logger;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string;
    }
  /** In reply to a test its one record, in reply to a drain none. */
  | { readonly answer: number; readonly records: readonly DeliveryRecord[] };

/** What has happened since the report before. */
export interface Report {
  /** Audit records taken up. */
  readonly taken: number;
  /** Deliveries that wait now. */
  readonly waiting: number;
  readonly counts: readonly Parameters<CountDeliveries>[];
  /** Delivery records as JSON, which is read when a thread has died; "": none. */
  readonly deliveries: string;
}
