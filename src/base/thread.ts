/**
 * Starts worker threads from the gateway's own modules, in both forms that those have: compiled JavaScript, and
 * TypeScript as it stands. Knows nothing of what a thread does.
 */
import { Worker, type WorkerOptions } from "node:worker_threads";

/**
 * A thread that runs the module at `url`, given as `new URL("./name.ts", import.meta.url)`; compiled, the same name with
 * `.js` is meant. It keeps no process alive.
 */
export function startThread(url: URL, options: WorkerOptions = {}): Worker {
  const worker = import.meta.url.endsWith(".ts")
    ? sourceThread(url.href, options)
    : new Worker(new URL(url.href.replace(/\.ts$/, ".js")), options);
  worker.unref();
  return worker;
}

/** In development the thread runs TypeScript too, and tsx must be registered in each thread. */
function sourceThread(entry: string, options: WorkerOptions): Worker {
  const tsx = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const source = `import(${tsx}).then(({ register }) => { register(); return import(${JSON.stringify(entry)}); })`;
  return new Worker(source, { ...options, eval: true });
}
