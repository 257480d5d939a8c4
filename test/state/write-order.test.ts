/** What is in the journal before anything of the same turn of the event loop goes out. */
import assert from "node:assert/strict";
import { batchEnded, flushInBatch, processInBatch } from "../../src/base/batching.ts";
import { rate, spend } from "../../src/testing/store-claims.ts";
import { verifies } from "../spec/verifies.ts";
import { openFileStore } from "./file-kit.ts";
import { auditRecordOf } from "./life.ts";
import { memoryDisk } from "./memory-files.ts";

verifies(
  "state.file.write-ahead",
  "a reservation, and an audit record of what a client is told, is in the journal before a byte of its turn goes out",
  async () => {
    const disk = memoryDisk();
    const store = await openFileStore({ files: disk, directory: "state" });
    const journal = (): string => [...disk.contents.values()].join("");
    let sent = "";
    processInBatch(() => {
      void store.admit("call-1", [rate("minute", 9), spend("budget", 40)]);
      void store.audit.append([auditRecordOf(1)]);
      flushInBatch(() => (sent = journal()));
    });
    await batchEnded();
    assert.match(sent, /"callId":"call-1"/);
    assert.match(sent, /"target":"token 1"/);
    await store.close();
  },
);
