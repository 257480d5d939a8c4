/** The gateway's long-lived platform, from its first configuration: clock, log, store, metrics. They outlive reloads. */
import { randomUUID } from "node:crypto";
import { systemClock } from "../base/clock.ts";
import type { Platform } from "../compile/host.ts";
import type { ResolvedConfig } from "../config/model.ts";
import type { Clock, Random } from "../plugin/index.ts";
import { createLog, type Log } from "../record/log.ts";
import { createMetrics, type GatewayMetrics } from "../record/metrics.ts";
import { memoryStore } from "../state/memory.ts";
import type { StateStore } from "../state/store.ts";

export interface PlatformOptions {
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: the machine's. */
  readonly random?: Random;
  /** Takes log lines in the place of stdout. */
  readonly log?: (line: string) => void;
}

export interface GatewayPlatform extends Platform {
  readonly log: Log;
  readonly metrics: GatewayMetrics;
}

const systemRandom: Random = { uuid: () => randomUUID(), fraction: () => Math.random() };

export function createPlatform(config: ResolvedConfig, options: PlatformOptions): GatewayPlatform {
  const clock = options.clock ?? systemClock();
  const random = options.random ?? systemRandom;
  const log = createLog(config.log.level, options.log);
  const store = createStore(config, clock, random);
  return { clock, random, log, store, metrics: createMetrics(), requestLog: log.requests };
}

function createStore({ state }: ResolvedConfig, clock: Clock, random: Random): StateStore {
  if (state.driver === "memory") return memoryStore({ clock, random, maxSessions: state.max_sessions });
  throw new Error(`state.driver '${state.driver}' is not part of this version; use 'memory'`);
}
