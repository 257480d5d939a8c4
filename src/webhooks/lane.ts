/** One webhook's line of deliveries: who receives, what waits for its turn, and how it has gone. Sends nothing itself. */

import { auditFields } from "../audit/audit.ts";
import { auditBytes } from "../base/audit-bytes.ts";
import type { AuditRecord } from "../plugin/store.ts";
import type { DeliveryRecord } from "./deliveries.ts";
import { createSigner, type Signer } from "./signature.ts";

/** A webhook as the configuration has it. */
export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  /** Event keys. */
  readonly events: readonly string[];
  readonly active: boolean;
  /** One, or two during rotation. */
  readonly secret: readonly string[];
}

/** What the deliveries need of a project. */
export interface WebhookProject {
  readonly id: number;
  readonly name: string;
  readonly uuid: string;
  readonly webhooks: readonly WebhookSettings[];
}

/** An event on its way to one webhook or more; its body is written once, when the first of them sends it. */
export class Notice {
  readonly record: AuditRecord;
  /** What it takes while it waits, about. */
  readonly bytes: number;
  #body: string | undefined;

  constructor(record: AuditRecord) {
    this.record = record;
    this.bytes = auditBytes(record);
  }

  /** The request's body. */
  get body(): string {
    this.#body ??= JSON.stringify(auditFields(this.record));
    return this.#body;
  }
}

export interface Waiting {
  readonly notice: Notice;
  /** Runs once, when this delivery has its record. */
  readonly done: ((record: DeliveryRecord) => void) | undefined;
}

export class Lane {
  readonly waiting: Waiting[] = [];
  waitingBytes = 0;
  /** One delivery at a time: that is what keeps their order. */
  busy = false;
  /** In the list of those that may go on. */
  listed = false;
  /** The latest delivery failed: said in the log once, not each time. */
  failing = false;
  readonly projectUuid: string;
  #settings: WebhookSettings;
  #sign: Signer;

  constructor(projectUuid: string, settings: WebhookSettings) {
    this.projectUuid = projectUuid;
    this.#settings = settings;
    this.#sign = signerOf(settings);
  }

  get settings(): WebhookSettings {
    return this.#settings;
  }

  get sign(): Signer {
    return this.#sign;
  }

  /** What waits is sent to the new address and signed with the new secrets. */
  change(settings: WebhookSettings): void {
    this.#settings = settings;
    this.#sign = signerOf(settings);
  }
}

function signerOf({ secret: [first, ...rest] }: WebhookSettings): Signer {
  // The schema asks for one at least.
  if (first === undefined) throw new Error("a webhook has no secret");
  return createSigner([first, ...rest]);
}
