/** The worker side of loader.ts: loads one request after the other, in a thread of its own, and sends the outcome. */
import { parentPort } from "node:worker_threads";
import { forgetUnusedSchemas } from "../base/json-schema.ts";
import { Comparer, sideOf } from "./compared.ts";
import { ConfigSender } from "./config-transfer.ts";
import type { Loaded } from "./load.ts";
import type { WorkerAnswer, WorkerRequest } from "./loader.ts";
import { SteadyLoads } from "./steady-load.ts";

const loads = new SteadyLoads();
/** Of the latest load, until its last piece is sent. */
let sender: ConfigSender | undefined;
/** The same, until it is compared. */
let latest: Loaded | undefined;
/** Until its last events are sent. */
let comparer: Comparer | undefined;

parentPort?.on("message", (request: WorkerRequest) => {
  if ("load" in request) void loaded(request);
  else if ("compare" in request) compare(request);
  else if ("nextEvents" in request) {
    const events = comparer?.next();
    if (events === undefined) comparer = undefined;
    answer({ events });
  } else {
    const entries = sender?.next();
    if (entries === undefined) sender = undefined;
    answer({ entries });
  }
});

async function loaded({
  load,
  known,
  digestInUse,
}: Extract<WorkerRequest, { load: unknown }>): Promise<void> {
  sender = undefined;
  latest = undefined;
  comparer = undefined;
  try {
    const outcome = await loads.load({ ...load, shows: true }, (progress) => answer({ progress }));
    const { registry: _unsent, shown: _compared, pack: _later, config, ...rest } = outcome;
    // The same text as before is the configuration that is in use.
    if (config !== undefined && rest.digest !== digestInUse) {
      sender = new ConfigSender(config, new Set(known));
      latest = outcome;
    }
    answer({ outcome: { ...rest, isValid: config !== undefined, outline: sender?.outline } });
  } catch (error) {
    answer({ error: error instanceof Error ? error.message : String(error) });
  } finally {
    forgetUnusedSchemas();
  }
}

function compare({ inUse, nowMs, packs }: Extract<WorkerRequest, { compare: true }>): void {
  const to = latest && sideOf(latest);
  try {
    if (latest === undefined || to === undefined) throw new Error("there is nothing to compare");
    const { registry, pack } = latest;
    comparer = new Comparer(to, { inUse, nowMs, registry, pack: packs ? pack : undefined });
    answer({ comparison: comparer.comparison });
  } catch (error) {
    answer({ error: error instanceof Error ? error.message : String(error) });
  } finally {
    latest = undefined;
  }
}

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message);
}
