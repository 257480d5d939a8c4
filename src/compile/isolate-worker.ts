/**
 * The other side of isolate.ts: one guardrail, set up and asked in a thread of its own. Says what it has begun before
 * it begins, so that the gateway knows which text a blocked thread is stuck with.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import type { Guardrail, MaybePromise, Plugin, Verdict } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import { HostLine, threadHost } from "./isolate-host.ts";
import {
  aboutFrom,
  type FromThread,
  type PlainAbout,
  plainVerdict,
  type ThreadStart,
  type ToThread,
} from "./isolate-messages.ts";
import { loadModule } from "./plugin-module.ts";

const MEMORY_CHECK_MS = 1000;

// What isolate-thread.ts hands over.
const start = workerData as ThreadStart;
const begun = new Int32Array(start.begun);
const line = new HostLine(post);

function post(message: FromThread): void {
  parentPort?.postMessage(message);
}

try {
  const guardrail = await setUp();
  parentPort?.on("message", (message: ToThread) => {
    if ("reply" in message) line.replied(message.reply, message.value);
    else if ("judge" in message) judge(guardrail, message.judge, message.text, message.about);
    else void end(guardrail);
  });
  setInterval(() => {
    line.refill();
    checkMemory();
  }, MEMORY_CHECK_MS);
  const { window = "whole", subject = "text", cacheable = true, joinsTexts = false } = guardrail;
  post({ ready: window, subject, cacheable, joinsTexts });
} catch (thrown) {
  post({ unusable: messageOf(thrown) });
}

async function setUp(): Promise<Guardrail> {
  const plugins: readonly Plugin[] =
    start.module === undefined ? (await import("./builtin.ts")).BUILT_IN : await loadModule(start.module);
  const plugin = plugins.find(({ kind, name }) => kind === "guardrail" && name === start.name);
  if (plugin?.kind !== "guardrail") throw new Error(`its module has no guardrail '${start.name}'`);
  // The options were checked against this plugin's own schema, which is what its type stands for.
  return plugin.setup(start.options as never, threadHost(start.name, line));
}

function judge(guardrail: Guardrail, number: number, text: string, about: PlainAbout): void {
  Atomics.store(begun, 0, number);
  line.refill();
  let verdict: MaybePromise<Verdict>;
  try {
    verdict = guardrail.judge(text, aboutFrom(about));
  } catch (thrown) {
    return failed(number, thrown);
  }
  if (!isPromise(verdict)) return answer(number, verdict);
  verdict.then(
    (settled) => answer(number, settled),
    (thrown: unknown) => failed(number, thrown),
  );
}

function answer(judged: number, verdict: Verdict): void {
  try {
    post({ judged, verdict: plainVerdict(verdict) });
  } catch (thrown) {
    return failed(judged, thrown);
  }
  checkMemory();
}

function failed(number: number, thrown: unknown): void {
  post({ failed: number, message: messageOf(thrown) });
  checkMemory();
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** A guardrail that holds on to too much has a leak: its thread ends, and a new one begins with nothing. */
function checkMemory(): void {
  if (heldBytes() < start.heldBytesMax) return;
  collectGarbage();
  if (heldBytes() >= start.heldBytesMax) throw new Error("it holds on to too much memory");
}

function heldBytes(): number {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  // The flag shows in new contexts only.
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
}

async function end(guardrail: Guardrail): Promise<void> {
  try {
    await guardrail.close?.();
  } finally {
    process.exit();
  }
}
