/** The worker side of loader.ts: loads one request after the other, in a thread of its own. */
import { parentPort } from "node:worker_threads";
import { forgetUnusedSchemas } from "../base/json-schema.ts";
import type { LoadRequest } from "../config/load.ts";
import type { WorkerAnswer } from "./loader.ts";
import { SteadyLoads } from "./steady-load.ts";

const loads = new SteadyLoads();

parentPort?.on("message", (request: LoadRequest) => {
  loads
    .load(request, (progress) => answer({ progress }))
    .then(
      ({ registry: _unsent, ...outcome }) => answer({ outcome }),
      (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }),
    )
    .finally(forgetUnusedSchemas);
});

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message);
}
