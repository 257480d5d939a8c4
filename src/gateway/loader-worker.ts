/** The other side of loader.ts: loads what it is asked to, in a thread of its own, one request after the other. */
import { parentPort } from "node:worker_threads";
import { forgetUnusedSchemas } from "../base/json-schema.ts";
import type { LoadRequest } from "../config/load.ts";
import { load } from "./load.ts";
import type { WorkerAnswer } from "./loader.ts";

parentPort?.on("message", (request: LoadRequest) => {
  load(request)
    .then(
      ({ registry: _stays, ...outcome }) => answer({ outcome }),
      (error: unknown) => answer({ error: error instanceof Error ? error.message : String(error) }),
    )
    .finally(forgetUnusedSchemas);
});

function answer(message: WorkerAnswer): void {
  parentPort?.postMessage(message);
}
