/**
 * The signal of a call behind the plugin guard. Node turns what a listener of an AbortSignal throws or rejects with into
 * an uncaught exception, which would end the process for a bug of one plugin: here it is logged, and the signal's other
 * listeners run. Signals derived from it (`AbortSignal.any`) are not guarded.
 */
import type { Logger } from "../plugin/host.ts";
import { isPromise } from "../plugin/index.ts";
import { type PluginSite, pluginFault } from "./guard.ts";

type Callback = (this: unknown, ...args: unknown[]) => unknown;

/** Where the faults of one call's callbacks are logged. */
export interface CallbackGuard {
  readonly log: Logger;
  readonly call: { readonly requestId: string };
  /** The plugin whose code runs now; undefined: not known. */
  site(): PluginSite | undefined;
}

/** `run`, which then neither throws nor rejects. `hook`: how the log names it, after the hook that registered it. */
export function guardedCallback(guard: CallbackGuard, hook: string, run: Callback): Callback {
  // Known while it is registered, and not when it runs.
  const site = guard.site();
  const failed = (thrown: unknown): void => logFault(guard, site, hook, thrown);
  return function callback(...args) {
    try {
      const answer = run.apply(this, args);
      if (isPromise(answer)) answer.then(undefined, failed);
    } catch (thrown) {
      failed(thrown);
    }
  };
}

function logFault(
  { log, call }: CallbackGuard,
  site: PluginSite | undefined,
  hook: string,
  thrown: unknown,
): void {
  if (site !== undefined) {
    pluginFault({ site: { ...site, hook: `${site.hook}.${hook}` }, log, call }, thrown);
    return;
  }
  const fields = { hook, request_id: call.requestId, err: thrown };
  log.error(fields, "a callback of a cancelled call failed: it must not throw");
}

/** A function, or an object with `handleEvent`. */
function isListener(value: unknown): value is object {
  return typeof value === "function" || (typeof value === "object" && value !== null);
}

/** Calls a listener as Node does. */
function callOf(listener: object): Callback {
  return function call(...args) {
    if (typeof listener === "function") return Reflect.apply(listener, this, args);
    return "handleEvent" in listener && typeof listener.handleEvent === "function"
      ? Reflect.apply(listener.handleEvent, listener, args)
      : undefined;
  };
}

/** Guards every listener that is added to `signal` from now on. It stays the AbortSignal that `fetch` and others take. */
export function guardListeners(signal: AbortSignal, guard: CallbackGuard): void {
  /** One for each listener, so that adding it twice and removing it mean what they mean to Node. */
  const guardedOf = new WeakMap<object, Callback>();
  const guardedListener = (listener: unknown): unknown => {
    // Node rejects what is not a listener.
    if (!isListener(listener)) return listener;
    const known = guardedOf.get(listener) ?? guardedCallback(guard, "signal", callOf(listener));
    guardedOf.set(listener, known);
    return known;
  };
  const { addEventListener, removeEventListener } = signal;
  const add = (type: unknown, listener: unknown, ...options: unknown[]): void =>
    Reflect.apply(addEventListener, signal, [type, guardedListener(listener), ...options]);
  const remove = (type: unknown, listener: unknown, ...options: unknown[]): void =>
    Reflect.apply(removeEventListener, signal, [type, guardedListener(listener), ...options]);
  let handler: unknown = null;
  let onAbort: Callback | undefined;
  Object.defineProperties(signal, {
    addEventListener: { value: add },
    removeEventListener: { value: remove },
    onabort: {
      get: () => handler,
      set: (given: unknown) => {
        if (onAbort !== undefined) remove("abort", onAbort);
        handler = typeof given === "function" ? given : null;
        // Its own function, so that the same one may be a listener as well.
        onAbort = typeof given === "function" ? callOf(given) : undefined;
        if (onAbort !== undefined) add("abort", onAbort);
      },
    },
  });
}
