/**
 * Starts worker threads from the gateway's own modules, in both forms that those have: compiled JavaScript, and
 * TypeScript as it stands. Knows nothing of what a thread does.
 */
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";

/** A module that a thread or a child process runs. */
export interface Entry {
  readonly url: URL;
  /** Command-line options of Node.js that it needs: tsx, when it is TypeScript. */
  readonly options: readonly string[];
}

/** The entry of a module given as `new URL("./name.ts", import.meta.url)`; compiled, the same name with `.js` is meant. */
export function entryOf(source: URL): Entry {
  if (!import.meta.url.endsWith(".ts")) {
    return { url: new URL(source.href.replace(/\.ts$/, ".js")), options: [] };
  }
  // scripts/test.mjs compiles the sources once, since compiling them at each start takes a second.
  const compiled = process.env["SLUICE_COMPILED"];
  if (compiled !== undefined) {
    return {
      url: pathToFileURL(`${compiled}/${basename(fileURLToPath(source), ".ts")}.js`),
      options: [],
    };
  }
  return {
    url: source,
    options: ["--conditions=sluice-source", "--import", import.meta.resolve("tsx")],
  };
}

/** A thread that runs the module; see `entryOf`. It keeps no process alive. */
export function startThread(source: URL, options: WorkerOptions = {}): Worker {
  const { url, options: nodeOptions } = entryOf(source);
  const worker =
    nodeOptions.length > 0 ? sourceThread(url.href, options) : new Worker(url, { execArgv: [], ...options });
  worker.unref();
  return worker;
}

/** In development tsx must be registered in each thread. */
function sourceThread(entry: string, options: WorkerOptions): Worker {
  const tsx = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const source = `import(${tsx}).then(({ register }) => { register(); return import(${JSON.stringify(entry)}); })`;
  return new Worker(source, { ...options, eval: true });
}
