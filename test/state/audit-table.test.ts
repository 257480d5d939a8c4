/** The bounds of the audit log: a flood pushes out only records of its own kind and project. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditRecord } from "../../src/plugin/store.ts";
import { AUDIT_BYTES_MAX } from "../../src/plugin/store.ts";
import { AuditTable } from "../../src/state/audit-table.ts";
import { verifies } from "../spec/verifies.ts";
import { auditRecordOf } from "./life.ts";

function recordOf(n: number, about: Partial<AuditRecord>): AuditRecord {
  return { ...auditRecordOf(n), ...about };
}

function projectOf(uuid: string): Pick<AuditRecord, "project"> {
  return { project: { id: 1, name: uuid, uuid } };
}

verifies(
  "audit.kinds",
  "101,000 blocked calls push out no change and no sign-in, and the newest of them are kept",
  () => {
    const table = new AuditTable();
    table.append([
      recordOf(1, { event: "token.created" }),
      recordOf(2, { event: "auth.login_failed" }),
      recordOf(3, { event: "token.revoked" }),
    ]);
    for (let n = 10; n < 101_010; n += 1) table.append([recordOf(n, { event: "guardrail.blocked" })]);
    for (const event of ["token.created", "auth.login_failed", "token.revoked"]) {
      assert.equal(table.query({ limit: 9, event }).length, 1, event);
    }
    assert.equal(table.size, 100_003);
    assert.equal(table.query({ limit: 1 })[0]?.target, "token 101009");
    assert.equal(table.oldestFirst()[0]?.target, "token 1");
  },
);

test("a flood of sign-in failures pushes out no change", () => {
  const table = new AuditTable({ records: 10, bytes: AUDIT_BYTES_MAX });
  table.append([recordOf(1, { event: "token.revoked" })]);
  for (let n = 2; n < 50; n += 1) table.append([recordOf(n, { event: "auth.login_failed" })]);
  assert.equal(table.query({ limit: 99, event: "token.revoked" }).length, 1);
  assert.equal(table.query({ limit: 99, event: "auth.login_failed" }).length, 10);
});

test("of one kind the project with most records gives way, in number and in bytes", () => {
  for (const limits of [
    { records: 10, bytes: AUDIT_BYTES_MAX },
    { records: 1000, bytes: 10_000 },
  ]) {
    const table = new AuditTable(limits);
    for (let n = 0; n < 4; n += 1) table.append([recordOf(n, projectOf("quiet"))]);
    for (let n = 4; n < 500; n += 1) table.append([recordOf(n, projectOf("loud"))]);
    assert.equal(table.query({ limit: 99, projectUuid: "quiet" }).length, 4, JSON.stringify(limits));
    const loud = table.query({ limit: 99, projectUuid: "loud" });
    assert.equal(loud[0]?.target, "token 499");
    assert.ok(loud.length > 2 && loud.length <= 40, `${loud.length}`);
  }
});

test("pages follow one another over all kinds, newest first", () => {
  const table = new AuditTable();
  const events = ["token.created", "guardrail.blocked", "auth.login_failed"];
  for (let n = 0; n < 9; n += 1) table.append([recordOf(n, { event: events[n % 3] ?? "" })]);
  const [first, second] = table.query({ limit: 2 });
  assert.deepEqual([first?.target, second?.target], ["token 8", "token 7"]);
  const [third] = table.query({ limit: 1, before: second?.id ?? "" });
  assert.equal(third?.target, "token 6");
  assert.deepEqual(table.query({ limit: 9, before: "gone" }), []);
});
