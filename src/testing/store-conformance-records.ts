/** What every store promises of overrides and the audit log. */
import assert from "node:assert/strict";
import type { JsonValue } from "../plugin/chat.ts";
import type { AuditRecord, Override } from "../plugin/store.ts";
import { NOVEMBER_MS, type On } from "./store-conformance-kit.ts";

function override(key: string, value: JsonValue): Override {
  return { key, value, replaced: null, actor: "ops", setAtMs: NOVEMBER_MS };
}

/** Registers them. */
export function overridePromises(on: On): void {
  on(
    "an override is listed until it is dropped, and the last value put under a key counts",
    async (store) => {
      assert.deepEqual(await store.overrides.list(), []);
      assert.equal(await store.overrides.set(override("token:p/1", { is_active: false })), true);
      assert.equal(await store.overrides.set(override("endpoint:p/s", true)), true);
      assert.equal(await store.overrides.set(override("endpoint:p/s", false)), true);
      const byKey = (a: Override, b: Override): number => a.key.localeCompare(b.key);
      const listed = await store.overrides.list();
      assert.ok(listed !== "unavailable");
      assert.deepEqual([...listed].sort(byKey), [
        override("endpoint:p/s", false),
        override("token:p/1", { is_active: false }),
      ]);
      assert.equal(await store.overrides.delete("endpoint:p/s"), true);
      assert.equal(await store.overrides.delete("endpoint:p/s"), false);
      assert.deepEqual(await store.overrides.list(), [override("token:p/1", { is_active: false })]);
    },
  );

  on("a watcher of overrides is told of each change until it stops", async (store) => {
    let heard = 0;
    let hear = (): void => {};
    const stop = store.overrides.watch(() => {
      heard += 1;
      hear();
    });
    const change = async (run: () => Promise<unknown>): Promise<void> => {
      const told = new Promise<void>((resolve) => (hear = resolve));
      await run();
      await told;
    };
    await change(async () => store.overrides.set(override("k", 1)));
    await change(async () => store.overrides.delete("k"));
    assert.equal(heard, 2);
    stop();
    await store.overrides.set(override("k", 2));
    assert.equal(heard, 2);
  });
}

function audited(n: number, about: Partial<AuditRecord> = {}): AuditRecord {
  return {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
    event: "token.revoked",
    severity: "warn",
    actor: "ops",
    project: { id: 1, name: "Ferry", uuid: "p-1" },
    target: `token ${n}`,
    metadata: { token_id: n },
    ipAddress: "127.0.0.1",
    occurredAtMs: NOVEMBER_MS + n,
    ...about,
  };
}

/** Registers them. */
export function auditPromises(on: On): void {
  on("audit records come back newest first, page by page, each as it was written", async (store) => {
    await store.audit.append([audited(1), audited(2)]);
    await store.audit.append([audited(3)]);
    assert.deepEqual(await store.audit.query({ limit: 2 }), [audited(3), audited(2)]);
    assert.deepEqual(await store.audit.query({ limit: 2, before: audited(2).id }), [audited(1)]);
  });

  on("audit records are found by project and by event", async (store) => {
    const other = { id: 2, name: "Harbour", uuid: "p-2" };
    const records = [audited(1), audited(2, { project: other }), audited(3, { event: "token.created" })];
    await store.audit.append(records);
    assert.deepEqual(await store.audit.query({ limit: 9, projectUuid: "p-2" }), [records[1]]);
    assert.deepEqual(await store.audit.query({ limit: 9, event: "token.created" }), [records[2]]);
    assert.deepEqual(await store.audit.query({ limit: 9, projectUuid: "p-9" }), []);
  });
}
