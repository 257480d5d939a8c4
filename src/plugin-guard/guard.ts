/**
 * The one way to call plugin code. A guarded function never throws and never rejects: what the plugin throws, rejects
 * with, or answers although its hook may not answer it, is logged once with the plugin's name and handed to `recover`,
 * which returns what the call gets instead. Guards are made when a configuration is compiled, so that a call pays for one
 * more function call and nothing else.
 */
import { isJsonObject } from "../base/json.ts";
import type { Logger } from "../plugin/host.ts";
import type { MaybePromise } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";

/** Which code of which plugin, as the log names it. */
export interface PluginSite {
  readonly kind: "stage" | "guardrail" | "provider" | "store";
  readonly plugin: string;
  /** The function of the plugin contract, e.g. `request`, `decoder.event`, `sessions.open`. */
  readonly hook: string;
}

/** A bug of a plugin. It has already been logged. */
export class PluginFault extends Error {
  readonly site: PluginSite;

  constructor(site: PluginSite, cause: unknown) {
    super(`the ${site.kind} plugin '${site.plugin}' failed in ${site.hook}`, { cause });
    this.site = site;
  }
}

export interface PluginGuard<R> {
  readonly site: PluginSite;
  readonly log: Logger;
  /** True for what the hook may answer, to its first two arguments. Default: everything. */
  readonly accepts?: (answer: unknown, a: unknown, b: unknown) => boolean;
  /** Returns the replacement for an answer after a fault. May throw the fault, to a caller with its own guard. */
  readonly recover: (fault: PluginFault) => R;
  /** The call, where it is not among the hook's arguments. */
  readonly call?: { readonly requestId: string };
}

/** Hooks of the plugin contract have up to four parameters. Named, not spread: spreading costs on every call. */
type Params = readonly unknown[] & { readonly length: 0 | 1 | 2 | 3 | 4 };
type Run<R> = (a: unknown, b: unknown, c: unknown, d: unknown) => R;

/** The plugin whose hook runs now, up to its first `await`. */
let running: PluginSite | undefined;

/** The plugin that calls this, as far as it can be known: undefined in code that runs after an `await`. */
export function runningPlugin(): PluginSite | undefined {
  return running;
}

/** `run`, guarded. */
export function guarded<Args extends Params, R>(
  guard: PluginGuard<R>,
  run: (...args: Args) => MaybePromise<R>,
): (...args: Args) => MaybePromise<R>;
export function guarded<R>(guard: PluginGuard<R>, run: Run<MaybePromise<R>>): Run<MaybePromise<R>> {
  const { accepts, recover, site } = guard;
  return (a, b, c, d) => {
    const outer = running;
    let answer: MaybePromise<R>;
    try {
      running = site;
      answer = run(a, b, c, d);
      if (isPromise(answer)) return settled(guard, answer, a, b);
      if (accepts === undefined || accepts(answer, a, b)) return answer;
    } catch (thrown) {
      return recover(pluginFault(guard, thrown, a, b));
    } finally {
      running = outer;
    }
    return recover(pluginFault(guard, unexpected(answer), a, b));
  };
}

/** The same for a hook that must answer synchronously: a promise is a fault. */
export function guardedSync<Args extends Params, R>(
  guard: PluginGuard<R>,
  run: (...args: Args) => R,
): (...args: Args) => R;
export function guardedSync<R>(guard: PluginGuard<R>, run: Run<R>): Run<R> {
  const { accepts, recover, site } = guard;
  return (a, b, c, d) => {
    const outer = running;
    let answer: R;
    try {
      running = site;
      answer = run(a, b, c, d);
      if (accepts === undefined || accepts(answer, a, b)) return answer;
    } catch (thrown) {
      return recover(pluginFault(guard, thrown, a, b));
    } finally {
      running = outer;
    }
    ignoreRejection(answer);
    return recover(pluginFault(guard, unexpected(answer), a, b));
  };
}

/** For a promise where none is allowed: it is not awaited, and its rejection would end the process. */
export function ignoreRejection(answer: unknown): void {
  if (isPromise(answer)) answer.then(undefined, () => undefined);
}

function settled<R>(guard: PluginGuard<R>, answer: Promise<R>, a: unknown, b: unknown): Promise<R> {
  const { accepts, recover } = guard;
  return Promise.resolve(answer).then(
    (value) =>
      accepts === undefined || accepts(value, a, b)
        ? value
        : recover(pluginFault(guard, unexpected(value), a, b)),
    (thrown: unknown) => recover(pluginFault(guard, thrown, a, b)),
  );
}

/** Makes the fault and logs it. One that a guard further in has logged already is passed on as it is. */
export function pluginFault(
  { site, log, call }: Pick<PluginGuard<unknown>, "site" | "log" | "call">,
  thrown: unknown,
  ...from: readonly unknown[]
): PluginFault {
  if (thrown instanceof PluginFault) return thrown;
  const { kind, plugin, hook } = site;
  const request_id = call?.requestId ?? requestIdIn(from);
  const fields = { kind, plugin, hook, ...(request_id !== undefined && { request_id }), err: thrown };
  log.error(fields, "a plugin failed: it must return refusals and failures, and never throw");
  return new PluginFault(site, thrown);
}

/** One of a hook's first parameters is mostly the call. */
function requestIdIn(from: readonly unknown[]): string | undefined {
  for (const one of from) {
    if (typeof one !== "object" || one === null || !("requestId" in one)) continue;
    if (typeof one.requestId === "string") return one.requestId;
  }
  return undefined;
}

/** Describes an answer without showing its content, which may be a prompt. */
function unexpected(answer: unknown): TypeError {
  const shown = answer === null ? "null" : Array.isArray(answer) ? "an array" : typeof answer;
  const keys = isJsonObject(answer)
    ? ` with the keys ${Object.keys(answer).slice(0, 8).join(", ") || "(none)"}`
    : "";
  return new TypeError(`the answer is not one that this hook may give: ${shown}${keys}`);
}
