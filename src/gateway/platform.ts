/** The gateway's long-lived platform, from its first configuration: clock, log, store, metrics. They outlive reloads. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { auditBlocks } from "../audit/audit.ts";
import { ByteBudget } from "../base/byte-budget.ts";
import { systemClock } from "../base/clock.ts";
import type { ResolvedConfig } from "../config/model.ts";
import { folderShelf } from "../history/folder-shelf.ts";
import { CallHistory } from "../history/history.ts";
import { KeptHours, type KeptHoursOptions } from "../history/kept-hours.ts";
import { sliceShelf } from "../history/slice-shelf.ts";
import { type GuardedHttp, type GuardedPost, guardedHttp, guardedPost } from "../net/guarded.ts";
import type { Call } from "../pipeline/call.ts";
import type { StorePlugin } from "../plugin/contract.ts";
import type { Random } from "../plugin/host.ts";
import type { Clock, Exchange, StateStore } from "../plugin/index.ts";
import { guardedStore } from "../plugin-guard/store.ts";
import type { Platform } from "../plugins-host/host.ts";
import { withSetupDeadline } from "../plugins-host/instances.ts";
import type { Registry } from "../plugins-host/registry.ts";
import type { CoreStoreHost } from "../state/stores.ts";
import { createLog, type Log } from "../telemetry/log.ts";
import { createMetrics, type GatewayMetrics, registerStoreGauges } from "../telemetry/metrics.ts";
import { Traces } from "../telemetry/traces.ts";
import { GatewayEvents } from "./events.ts";

export interface PlatformOptions {
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Default: the machine's. */
  readonly random?: Random;
  /** Takes log lines in the place of stdout. */
  readonly log?: (line: string) => void;
}

export interface GatewayPlatform extends Platform {
  readonly buffered: ByteBudget;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly http: GuardedHttp;
  readonly events: GatewayEvents;
  readonly traces: Traces;
  readonly recorded: CallHistory;
  /** Keeps the hours of its time series; undefined: the store forgets everything at the end of the process. */
  readonly hours: KeptHours | undefined;
}

/** For what the operator names: no address is refused. */
const ANYWHERE = ["0.0.0.0/0", "::/0"];

const systemRandom: Random = { uuid: () => randomUUID(), fraction: () => Math.random() };

/** Rejects with an Error for people when the store cannot be had. */
export async function createPlatform(
  config: ResolvedConfig,
  registry: Registry,
  options: PlatformOptions,
): Promise<GatewayPlatform> {
  const random = options.random ?? systemRandom;
  const log = createLog(config.log.level, options.log);
  const clock = options.clock ?? systemClock({ stepped: (byMs) => logClockStep(log, byMs) });
  const metrics = createMetrics();
  const store = await createStore(config, registry, { clock, random, log, metrics });
  registerStoreGauges(metrics, store, clock);
  const http = guardedHttp({ clock, allow: config.network.allow });
  // A clock that is not the machine's is of no use on a thread.
  const onThread = options.clock === undefined;
  const events = new GatewayEvents({ clock, random, log, metrics, store, onThread });
  const out = (): GuardedPost => guardedPost({ clock, allow: ANYWHERE });
  const traces = new Traces({ clock, random, log, metrics, out });
  const recorded = new CallHistory({ clock });
  const buffered = new ByteBudget(bufferedBytesMax(config.server.max_buffered_bytes));
  metrics.gauge(
    "sluice_buffered_bytes",
    "Bytes of bodies and answers that calls hold in memory",
    () => buffered.used,
  );
  return {
    ...{ clock, random, log, store, metrics, requestLog: log.requests, http, buffered },
    received: (x, bytes) => holdAnswer(x, bytes, buffered),
    history: (shown) => recorded.finish(shown),
    hours: keptHours(config, { series: recorded.series, store, clock, log }),
    ...{ recorded, events, traces, auditBlocks: auditBlocks(events.trail), audit: events.trail },
  };
}

function keptHours(
  { state }: ResolvedConfig,
  { store, ...needs }: Omit<KeptHoursOptions, "shelf"> & { readonly store: StateStore },
): KeptHours | undefined {
  if (state.driver === "memory") return undefined;
  if (state.driver === "file")
    return new KeptHours({ ...needs, shelf: folderShelf(join(state.directory, "history")) });
  const slice = store.slice?.("history");
  return slice && new KeptHours({ ...needs, shelf: sliceShelf(slice, needs.clock) });
}

/** Durations and windows are not affected by a step; dates and months are, as the message says. */
function logClockStep(log: Log, byMs: number): void {
  const seconds = Math.round(byMs / 1000);
  const effect =
    byMs > 0
      ? "dates follow; a new month of budgets begins only when the clock stays there for 10 minutes"
      : "dates follow when the clock stays there for a minute; budgets never go back to an earlier month";
  log.warn({ stepped_seconds: seconds }, `the machine's clock was stepped by ${seconds} s: ${effect}`);
}

/** Each byte of a body is in memory several times for a while: as received, as text, parsed, and as sent. */
const HEAP_SHARE = 4;

function bufferedBytesMax(configured: number): number {
  return Math.min(configured, Math.floor(getHeapStatistics().heap_size_limit / HEAP_SHARE));
}

/** Cancels a call whose answer does not fit into memory, which frees what it holds. */
function holdAnswer(x: Exchange, bytes: number, buffered: ByteBudget): void {
  // The pipeline makes every Exchange, and makes it as a Call.
  const call = x as Call;
  if (call.ended || call.cancelled !== undefined) return;
  const isFull = !buffered.fits(bytes);
  buffered.reserve(bytes);
  call.heldBytes += bytes;
  // Not within the callback of the connection that the answer arrives on.
  if (isFull) setImmediate(() => call.cancel("buffers_full"));
}

async function createStore(
  { state }: ResolvedConfig,
  registry: Registry,
  { clock, random, log, metrics }: Pick<GatewayPlatform, "clock" | "random" | "log" | "metrics">,
): Promise<StateStore> {
  const plugin = registry.stores.get(state.driver);
  if (plugin === undefined) throw new Error(`there is no store '${state.driver}'`);
  const host: CoreStoreHost = { clock, random, log, maxSessions: state.max_sessions, metrics };
  // What was checked against the plugin's schema, and the keys that a built-in store names, are what its type stands for.
  const options = optionsOf(plugin, state) as never;
  // Built-in stores never throw later, and say what is wrong at the start in words of their own.
  if (registry.moduleOf(plugin) === undefined) return plugin.setup(options, host);
  try {
    const { metrics: _internal, ...own } = host;
    const made = plugin.setup(options, own);
    const store = await withSetupDeadline(clock, made, (late) => late.close());
    return guardedStore(store, { plugin: plugin.name, log, clock });
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`the store plugin '${plugin.name}' could not be set up: ${reason}`, { cause: thrown });
  }
}

function optionsOf({ stateKeys = {} }: StorePlugin<never>, state: ResolvedConfig["state"]): object {
  const keys = Object.keys(stateKeys).map((key) => [key, Reflect.get(state, key)]);
  return { ...state.options, ...Object.fromEntries(keys) };
}
