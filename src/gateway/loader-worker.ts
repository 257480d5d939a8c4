/** The worker side of loader.ts: loads one request after the other, in a thread of its own, and sends the outcome. */
import { parentPort } from "node:worker_threads";
import { forgetUnusedSchemas } from "../base/json-schema.ts";
import { ConfigSender } from "./config-transfer.ts";
import type { WorkerAnswer, WorkerRequest } from "./loader.ts";
import { SteadyLoads } from "./steady-load.ts";

const loads = new SteadyLoads();
/** Of the latest load, until its last piece is sent. */
let sender: ConfigSender | undefined;

parentPort?.on("message", (request: WorkerRequest) => {
  if ("load" in request) void loaded(request);
  else {
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
  try {
    const outcome = await loads.load(load, (progress) => answer({ progress }));
    const { registry: _unsent, config, shown: _notSent, pack, ...rest } = outcome;
    // The same text as before is the configuration that is in use.
    if (config !== undefined && rest.digest !== digestInUse)
      sender = new ConfigSender(config, new Set(known));
    const packed = sender === undefined ? undefined : pack?.();
    answer({ outcome: { ...rest, packed, isValid: config !== undefined, outline: sender?.outline } });
  } catch (error) {
    answer({ error: error instanceof Error ? error.message : String(error) });
  } finally {
    forgetUnusedSchemas();
  }
}

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message);
}
