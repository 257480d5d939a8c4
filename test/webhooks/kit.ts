/** A dispatcher in process, on a virtual clock, with real receivers. Shared by tests of webhooks and audit events. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { Webhook } from "standardwebhooks";
import type { AuditEvent, AuditTrail } from "../../src/audit/audit.ts";
import { createAuditTrail } from "../../src/audit/audit.ts";
import type { StateStore } from "../../src/plugin/index.ts";
import { memoryStore } from "../../src/state/memory/memory.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createMetrics, type GatewayMetrics } from "../../src/telemetry/metrics.ts";
import {
  type FakeUpstream,
  fakeUpstream,
  type ScriptedAnswer,
  type UpstreamRequest,
} from "../../src/testing/fake-upstream.ts";
import { type VirtualClock, virtualClock } from "../../src/testing/virtual-clock.ts";
import { type DeliveryRecord, deliveryMetrics } from "../../src/webhooks/deliveries.ts";
import type { WebhookProject, WebhookSettings } from "../../src/webhooks/delivery-queue.ts";
import { WebhookDispatcher } from "../../src/webhooks/dispatcher.ts";
import type { Closer } from "../spec/kit/gateway.ts";
import { countingRandom } from "../state/counting-random.ts";

export const PROJECT_UUID = "0b5a3f52-7c1e-4d07-9a6e-2f4f0c9d1e01";
/** `network.allow` for receivers on loopback. */
export const ALLOW = ["127.0.0.0/8"];
export const SECRET = "whsec_c2x1aWNlLXRlc3Qtc2VjcmV0LW9uZQ==";

/** By default an event of the project. */
export function eventOf(fields: Partial<AuditEvent> = {}): AuditEvent {
  return {
    event: "token.revoked",
    severity: "warn",
    actor: "platform-team",
    project: { id: 7, name: "Support", uuid: PROJECT_UUID },
    target: "web",
    metadata: { token_id: 12 },
    ipAddress: "203.0.113.9",
    ...fields,
  };
}

/** A webhook at `url`, by default subscribed to `token.revoked`. */
export function webhookOf(url: string, fields: Partial<WebhookSettings> = {}): WebhookSettings {
  return { name: "siem", url, events: ["token.revoked"], active: true, secret: [SECRET], ...fields };
}

export function projectOf(...webhooks: readonly WebhookSettings[]): WebhookProject {
  return { id: 7, name: "Support", uuid: PROJECT_UUID, webhooks };
}

export interface DispatcherSetup {
  readonly clock: VirtualClock;
  readonly store: StateStore;
  readonly trail: AuditTrail;
  readonly webhooks: WebhookDispatcher;
  readonly metrics: GatewayMetrics;
  /** Logged lines. */
  readonly lines: string[];
}

/** Everything from an event to its delivery, assembled as the gateway does it. */
export function startDispatcher(closer: Closer): DispatcherSetup {
  // The current time, since a receiver of Standard Webhooks compares it with its own clock.
  const clock = virtualClock(Date.now());
  const random = countingRandom();
  const lines: string[] = [];
  const log = createLog("info", (line) => lines.push(line));
  const metrics = createMetrics();
  const store = memoryStore({ clock, random, maxSessions: 10 });
  const trail = createAuditTrail({ store, clock, random, log });
  const count = deliveryMetrics(metrics, () => webhooks.waiting);
  const webhooks = new WebhookDispatcher({ clock, random, log, count });
  trail.onRecord((record) => webhooks.notify(record));
  closer.after(async () => {
    await webhooks.drain(0);
    metrics.close();
  });
  return { clock, store, trail, webhooks, metrics, lines };
}

/** Plays `204`. */
export const accept: ScriptedAnswer = (response) => response.writeHead(204).end();
/** Never answers. */
export const hang: ScriptedAnswer = () => {};

/** A receiver that plays these answers, the last one from then on. */
export async function receiver(closer: Closer, ...answers: readonly ScriptedAnswer[]): Promise<FakeUpstream> {
  const upstream = await fakeUpstream();
  upstream.answer(...(answers.length === 0 ? [accept] : answers));
  closer.after(() => upstream.close());
  return upstream;
}

/** Oldest first. */
export function deliveriesOf({ webhooks }: DispatcherSetup, webhook = "siem"): readonly DeliveryRecord[] {
  return [...webhooks.query({ webhook, limit: 20_000 })].reverse();
}

export const HAS_OPENSSL = spawnSync("openssl", ["version"]).status === 0;

/** Checks the specification's signature as a shell script would: `openssl dgst` over the raw body. */
export function verifyWithOpenssl({ headers, body }: UpstreamRequest, secret: string): void {
  const printed = execFileSync("openssl", ["dgst", "-sha256", "-hmac", secret], { input: body });
  const digest = /([0-9a-f]{64})\s*$/.exec(printed.toString("utf8"))?.[1];
  assert.equal(headers["x-gateway-signature"], `sha256=${digest}`);
}

/** Checks a delivery as an off-the-shelf receiver would. Throws when it does not verify. */
export function verifyWithStandard({ headers, body }: UpstreamRequest, secret: string): void {
  const webhook = secret.startsWith("whsec_") ? new Webhook(secret) : new Webhook(secret, { format: "raw" });
  const text = (name: string): string => String(headers[name]);
  webhook.verify(body, {
    "webhook-id": text("webhook-id"),
    "webhook-timestamp": text("webhook-timestamp"),
    "webhook-signature": text("webhook-signature"),
  });
}
