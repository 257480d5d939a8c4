/** The audit trail: what a record is, that order is kept whatever the store's pace, which verdicts are blocks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type AuditEvent,
  type AuditTrail,
  auditBlocks,
  auditFields,
  createAuditTrail,
  RECORDS_WAITING_MAX,
} from "../../src/audit/audit.ts";
import type { VerdictRecord } from "../../src/plugin/exchange.ts";
import type { CallEnd, Exchange } from "../../src/plugin/index.ts";
import { reject } from "../../src/plugin/index.ts";
import type { AuditRecord } from "../../src/plugin/store.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { countingRandom } from "../state/counting-random.ts";
import { eventOf, PROJECT_UUID, startDispatcher } from "../webhooks/kit.ts";

test("a record has an id and a time, is in the store at once, and listeners hear of it", async (t) => {
  const setup = startDispatcher(t);
  const heard: AuditRecord[] = [];
  const stop = setup.trail.onRecord((record) => heard.push(record));
  setup.trail.record(eventOf());
  const [stored] = await setup.store.audit.query({ limit: 10 });
  assert.deepEqual(heard, [stored]);
  assert.match(stored?.id ?? "", /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.equal(stored?.occurredAtMs, setup.clock.nowMs());
  stop();
  setup.trail.record(eventOf());
  assert.equal(heard.length, 1);
});

test("a record is shown in the specification's fields, in its order", () => {
  const occurredAtMs = Date.UTC(2026, 1, 3, 4, 5, 6, 78);
  const shown = JSON.stringify(auditFields({ ...eventOf(), id: "x", occurredAtMs }));
  assert.equal(
    shown,
    `{"event":"token.revoked","severity":"warn","actor":"platform-team","project":{"id":7,"name":"Support","uuid":"${PROJECT_UUID}"},"target":"web","metadata":{"token_id":12},"ip_address":"203.0.113.9","occurred_at":"2026-02-03T04:05:06.078Z"}`,
  );
});

/** A store that keeps what it is given when it is told to. */
function slowTrail(): {
  trail: AuditTrail;
  told: string[];
  batches: string[][];
  keep(): void;
  lines: string[];
} {
  const pending: (() => void)[] = [];
  const batches: string[][] = [];
  const lines: string[] = [];
  const say = (_: object, message: string): void => void lines.push(message);
  const audit = {
    append(records: readonly AuditRecord[]) {
      batches.push(records.map(({ target }) => target));
      return new Promise<void>((resolve) => pending.push(resolve));
    },
    query: () => [],
  };
  const trail = createAuditTrail({
    store: { audit },
    clock: virtualClock(),
    random: countingRandom(),
    log: { debug: say, info: say, warn: say, error: say },
  });
  const told: string[] = [];
  trail.onRecord(({ target }) => told.push(target));
  return { trail, told, batches, lines, keep: () => pending.shift()?.() };
}

test("with a slow store records go together, in order, and are told and answered when they are kept", async () => {
  const { trail, told, batches, keep } = slowTrail();
  const answered: string[] = [];
  const record = async (target: string): Promise<void> => {
    await trail.record(eventOf({ target }));
    answered.push(target);
  };
  const all = ["a", "b", "c"].map(record);
  assert.deepEqual(batches, [["a"]]);
  assert.deepEqual(told, []);
  keep();
  await all[0];
  assert.deepEqual(told, ["a"]);
  assert.deepEqual(batches, [["a"], ["b", "c"]]);
  assert.deepEqual(answered, ["a"]);
  const flushed = trail.flush();
  all.push(record("d"));
  keep();
  await flushed;
  await all[2];
  assert.deepEqual(told, ["a", "b", "c"]);
  keep();
  await Promise.all(all);
  assert.deepEqual(told, ["a", "b", "c", "d"]);
  assert.deepEqual(answered, told);
  assert.equal(trail.flush(), undefined);
});

test("records beyond the bound are lost with a line in the log, and those before it are kept", async () => {
  const { trail, told, batches, lines, keep } = slowTrail();
  const event = eventOf();
  for (let n = 0; n < RECORDS_WAITING_MAX + 3; n++) trail.record(event);
  assert.equal(lines.length, 2);
  keep();
  await new Promise(setImmediate);
  assert.equal(batches[1]?.length, RECORDS_WAITING_MAX);
  keep();
  await trail.flush();
  assert.equal(told.length, RECORDS_WAITING_MAX + 1);
});

const BLOCK: VerdictRecord = {
  guardrail: "pii",
  side: "input",
  verdict: "block",
  shadow: false,
  reason: "email",
};

/** What is recorded of a call with these verdicts. */
function recordedOf(verdicts: readonly VerdictRecord[], error: CallEnd["error"]): readonly AuditEvent[] {
  const recorded: AuditEvent[] = [];
  const trail: AuditTrail = {
    record: (event) => void recorded.push(event),
    onRecord: () => () => {},
    flush: () => {},
  };
  const call = {
    verdicts,
    token: { name: "web" },
    project: { uuid: PROJECT_UUID, id: 7, name: "Support" },
    endpoint: { slug: "ask" },
    requestId: "r-1",
    clientAddress: "198.51.100.4",
  };
  // The hook reads these fields and no others.
  auditBlocks(trail)(call as unknown as Exchange, { error } as CallEnd);
  return recorded;
}

test("a guardrail's block is recorded with who, where and why, and nothing of the text", () => {
  assert.deepEqual(recordedOf([BLOCK], reject("pii_blocked", { kind: "email" })), [
    {
      event: "guardrail.blocked",
      severity: "warn",
      actor: "web",
      project: { uuid: PROJECT_UUID, id: 7, name: "Support" },
      target: "pii",
      metadata: { guardrail: "pii", reason: "email", side: "input", endpoint: "ask", request_id: "r-1" },
      ipAddress: "198.51.100.4",
    },
  ]);
});

test("masks, shadows, passes and guardrails allowed to fail raise nothing", () => {
  const failed: VerdictRecord = { ...BLOCK, verdict: "error", reason: "timeout" };
  const later = reject("provider_failed", { reason: "OpenAI unreachable" });
  assert.deepEqual(recordedOf([], later), []);
  assert.deepEqual(recordedOf([{ ...BLOCK, shadow: true }], undefined), []);
  assert.deepEqual(recordedOf([{ ...BLOCK, verdict: "replace" }], undefined), []);
  assert.deepEqual(recordedOf([failed], undefined), []);
  assert.deepEqual(recordedOf([failed], later), []);
  assert.deepEqual(recordedOf([{ ...failed, shadow: true }], reject("guardrail_failed", { name: "x" })), []);
});

test("a guardrail that failed closed has blocked", () => {
  const failed: VerdictRecord = { ...BLOCK, verdict: "error", reason: "timeout" };
  const [event] = recordedOf([failed], reject("answer_guardrail_failed", { name: "pii" }));
  assert.equal(event?.event, "guardrail.blocked");
  assert.equal(event?.metadata["reason"], "timeout");
});
