/**
 * Webhooks as the configuration has them: which of them subscribe to a record, and what is queued for each. Sends nothing.
 */
import { auditFields, GATEWAY_WIDE } from "../audit/audit.ts";
import { auditBytes } from "../base/audit-bytes.ts";
import type { AuditRecord } from "../plugin/store.ts";
import type { DeliveryRecord } from "./deliveries.ts";
import { createSigner, type Signer } from "./signature.ts";

export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  /** Event keys. */
  readonly events: readonly string[];
  readonly active: boolean;
  /** One, or two during rotation. */
  readonly secret: readonly string[];
}

/** What the dispatcher needs of a project. */
export interface WebhookProject {
  readonly id: number;
  readonly name: string;
  readonly uuid: string;
  readonly webhooks: readonly WebhookSettings[];
}

/** The active webhooks of one configuration, by name and by subscribed event. `T`: what the caller keeps for each. */
export class Subscriptions<T> {
  readonly #projects: readonly WebhookProject[];
  /** By project and name. */
  readonly #byName = new Map<string, T>();
  /** By project and event. */
  readonly #byEvent = new Map<string, T[]>();

  /** `entryOf` receives what `previous` has under that name. */
  constructor(
    projects: readonly WebhookProject[],
    previous: Subscriptions<T> | undefined,
    entryOf: (known: T | undefined, projectUuid: string, settings: WebhookSettings) => T,
  ) {
    this.#projects = projects;
    for (const { uuid, webhooks } of projects) {
      for (const settings of webhooks) {
        if (!settings.active) continue;
        const known = previous?.get(uuid, settings.name);
        const entry = entryOf(known, uuid, settings);
        this.#byName.set(`${uuid}/${settings.name}`, entry);
        for (const event of new Set(settings.events)) {
          // Events of the whole gateway go to every webhook that names them.
          for (const owner of [uuid, GATEWAY_WIDE.uuid]) this.#subscribe(`${owner}/${event}`, entry);
        }
      }
    }
  }

  get size(): number {
    return this.#byName.size;
  }

  get entries(): Iterable<T> {
    return this.#byName.values();
  }

  get(projectUuid: string, name: string): T | undefined {
    return this.#byName.get(`${projectUuid}/${name}`);
  }

  find(
    projectUuid: string,
    name: string,
  ): { readonly project: WebhookProject; readonly entry: T } | "unknown" | "inactive" {
    const project = this.#projects.find(({ uuid }) => uuid === projectUuid);
    if (!project?.webhooks.some((webhook) => webhook.name === name)) return "unknown";
    const entry = this.get(projectUuid, name);
    return entry === undefined ? "inactive" : { project, entry };
  }

  subscribersOf({ project, event }: AuditRecord): readonly T[] {
    return this.#byEvent.get(`${project.uuid}/${event}`) ?? [];
  }

  #subscribe(key: string, entry: T): void {
    const known = this.#byEvent.get(key);
    if (known === undefined) this.#byEvent.set(key, [entry]);
    else known.push(entry);
  }
}

/** An event to be sent to one or more webhooks. Its body is serialized once, for the first of them. */
export class Notice {
  readonly record: AuditRecord;
  /** Approximate memory while it is queued. */
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

export interface QueuedDelivery {
  readonly notice: Notice;
  /** Called once, with the record of this delivery. */
  readonly done: ((record: DeliveryRecord) => void) | undefined;
}

/** The deliveries queued for one webhook. */
export class DeliveryQueue {
  readonly waiting: QueuedDelivery[] = [];
  waitingBytes = 0;
  /** One delivery at a time keeps their order. */
  busy = false;
  /** In the dispatcher's list of queues that can send. */
  listed = false;
  /** The latest delivery failed; logged once, not each time. */
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

  /** What is queued is sent to the new address and signed with the new secrets. */
  change(settings: WebhookSettings): void {
    if (settings === this.#settings) return;
    this.#settings = settings;
    this.#sign = signerOf(settings);
  }
}

function signerOf({ secret: [first, ...rest] }: WebhookSettings): Signer {
  // The schema requires at least one.
  if (first === undefined) throw new Error("a webhook has no secret");
  return createSigner([first, ...rest]);
}
