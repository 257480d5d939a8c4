/** The stores that ship, as plugins. Only the configured one loads its modules. */

import type { StoreHost, StorePlugin } from "../plugin/contract.ts";
import { defineStore } from "../plugin/define.ts";
import type { LedgerMetrics } from "./redis/ledger-metrics.ts";

/** What the stores that ship are handed beyond `StoreHost`. */
export interface CoreStoreHost extends StoreHost {
  readonly metrics: LedgerMetrics;
}

const noOptions = { type: "object" } as const;

const memory = defineStore({
  name: "memory",
  description: "Keeps everything in the memory of the process; a restart empties it.",
  schema: noOptions,
  examples: [{}],
  async setup(_options, host) {
    const { memoryStore } = await import("./memory/memory.ts");
    return memoryStore(host);
  },
});

const file = defineStore({
  name: "file",
  description: "Keeps a journal and snapshots in a folder, for one process.",
  schema: noOptions,
  stateKeys: {
    directory: { type: "string" },
    snapshot_interval_seconds: { type: "integer" },
    on_error: { enum: ["degrade", "refuse"] },
  },
  examples: [{}],
  async setup({ directory, snapshot_interval_seconds, on_error }, host: CoreStoreHost) {
    const { fileStore } = await import("./file/file.ts");
    return fileStore({
      ...host,
      directory,
      snapshotIntervalSeconds: snapshot_interval_seconds,
      onError: on_error,
      gauge: host.metrics.gauge,
    });
  },
});

const redis = defineStore({
  name: "redis",
  description: "Keeps everything in Redis, for several replicas.",
  schema: noOptions,
  stateKeys: {
    url: { type: "string" },
    key_prefix: { type: "string" },
    directory: { type: "string" },
    on_unavailable: { enum: ["deny", "allow"] },
    on_data_loss: { enum: ["deny", "allow"] },
  },
  examples: [{}],
  async setup({ url, key_prefix, directory, on_unavailable, on_data_loss }, host: CoreStoreHost) {
    const { redisStore } = await import("./redis/redis.ts");
    const policies = { onUnavailable: on_unavailable, onDataLoss: on_data_loss };
    return redisStore({ ...host, url, keyPrefix: key_prefix, directory, ...policies });
  },
});

export const STORES: readonly StorePlugin<never>[] = [memory, file, redis];
