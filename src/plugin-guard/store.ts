/**
 * A third party's store behind the plugin guard. Drivers must neither throw nor reject, nor answer too late; one that does
 * is logged by its name, and then either its answer is that of a store that is lost, or the fault is passed on to the
 * call that asked, which fails with 500.
 */

import type { Logger, StoreSlice } from "../plugin/host.ts";
import type { Clock, MaybePromise, OpenSession, StateStore } from "../plugin/index.ts";
import { isPromise } from "../plugin/index.ts";
import type { StoreHealth } from "../plugin/store.ts";
import { isObject } from "./answers.ts";
import { guarded, guardedSync, type PluginFault, type PluginSite, pluginFault } from "./guard.ts";

/** Longest answer of one operation. Opening a session may wait for the call that holds it, and has no limit of its own. */
const ANSWER_MS = 10_000;

export interface StoreGuard {
  readonly plugin: string;
  readonly log: Logger;
  readonly clock: Clock;
}

/** What becomes of one operation's fault. */
interface Policy {
  readonly accepts?: (answer: unknown) => boolean;
  /** Replaces the answer. Default: the fault is thrown to the caller. */
  readonly instead?: () => unknown;
  /** Waits for something that has a time of its own. */
  readonly unlimited?: true;
  /** Guards what the operation answers with. */
  readonly wrap?: (answer: unknown, guard: StoreGuard) => unknown;
}

const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);
const isBoolean = (value: unknown): boolean => typeof value === "boolean";

function isAdmission(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { admitted, reservation, windows, refused, retryAfterSeconds, spentNanoUsd } = value;
  if (admitted === true) {
    const isListed = windows === undefined || (Array.isArray(windows) && windows.every(isNumber));
    return isListed && (reservation === undefined || isObject(reservation));
  }
  if (admitted !== false) return false;
  return (
    (refused === "unavailable" || isNumber(refused)) && isNumber(retryAfterSeconds) && isNumber(spentNanoUsd)
  );
}

function isSpending(value: unknown): boolean {
  return isObject(value) && isNumber(value["settledNanoUsd"]) && isNumber(value["reservedNanoUsd"]);
}

function isHealth(value: unknown): boolean {
  return isObject(value) && isBoolean(value["ok"]) && typeof value["detail"] === "string";
}

function isOpened(value: unknown): boolean {
  if (value === "missing" || value === "busy" || value === "unavailable") return true;
  if (!isObject(value) || typeof value["id"] !== "string" || !Array.isArray(value["history"])) return false;
  return typeof value["save"] === "function" && typeof value["close"] === "function";
}

const POLICIES: Readonly<Record<string, Policy>> = {
  admit: { accepts: isAdmission },
  renew: { instead: () => undefined },
  settle: {},
  release: {},
  spending: { accepts: isSpending },
  sums: { accepts: Array.isArray, instead: () => [] },
  rename: { accepts: (value) => value === undefined || Array.isArray(value), instead: () => undefined },
  health: {
    accepts: isHealth,
    instead: (): StoreHealth => ({ ok: false, detail: "the store plugin failed" }),
  },
  close: { instead: () => undefined },
  "sessions.open": {
    accepts: isOpened,
    unlimited: true,
    wrap: (answer, guard) => openSession(answer, guard),
  },
  "sessions.historyCharacters": { accepts: isNumber },
  "sessions.delete": { accepts: isBoolean },
  "sessions.ownerOf": { accepts: (value) => value === undefined || typeof value === "string" },
  "overrides.list": {
    accepts: (value) => value === "unavailable" || Array.isArray(value),
    instead: () => "unavailable",
  },
  "overrides.set": { accepts: isBoolean, instead: () => false },
  "overrides.delete": { accepts: isBoolean, instead: () => false },
  "audit.append": {},
  "audit.query": { accepts: Array.isArray },
  "slice.get": {},
  "slice.set": { accepts: isBoolean, instead: () => false },
  "slice.delete": { accepts: isBoolean, instead: () => false },
  "slice.increment": { accepts: (value) => value === undefined || isNumber(value), instead: () => undefined },
  "session.save": {},
};

/** The store that the gateway uses. Properties beyond the plugin API are not carried over. */
export function guardedStore(store: StateStore, guard: StoreGuard): StateStore {
  const { plugin, log } = guard;
  const watch = store.overrides.watch.bind(store.overrides);
  const site: PluginSite = { kind: "store", plugin, hook: "overrides.watch" };
  const nothingToStop = (): void => {};
  return {
    driver: store.driver,
    ...operations(
      store,
      "",
      ["admit", "renew", "settle", "release", "spending", "sums", "health", "close"],
      guard,
    ),
    sessions: operations(
      store.sessions,
      "sessions.",
      ["open", "historyCharacters", "delete", "ownerOf"],
      guard,
    ),
    overrides: {
      ...operations(store.overrides, "overrides.", ["list", "set", "delete"], guard),
      watch: guardedSync(
        { site, log, accepts: (stop) => typeof stop === "function", recover: () => nothingToStop },
        watch,
      ),
    },
    audit: operations(store.audit, "audit.", ["append", "query"], guard),
    ...(store.rename !== undefined &&
      operations<Required<Pick<StateStore, "rename">>, "rename">(
        { rename: store.rename.bind(store) },
        "",
        ["rename"],
        guard,
      )),
    ...(store.slice !== undefined && { slice: slices(store.slice.bind(store), guard) }),
  };
}

function slices(
  slice: NonNullable<StateStore["slice"]>,
  guard: StoreGuard,
): (namespace: string) => StoreSlice {
  return (namespace) => operations(slice(namespace), "slice.", ["get", "set", "delete", "increment"], guard);
}

/** A conversation in use: it is held until its `close`, which must not fail either. */
function openSession(answer: unknown, guard: StoreGuard): unknown {
  if (!isObject(answer)) return answer;
  // As `isOpened` has seen.
  const session = answer as unknown as OpenSession;
  const { plugin, log } = guard;
  const closing = { site: { kind: "store", plugin, hook: "session.close" } as const, log };
  return {
    id: session.id,
    history: session.history,
    ...operations(session, "session.", ["save"], guard),
    close: guardedSync({ ...closing, recover: () => undefined }, session.close.bind(session)),
  };
}

type Operation = (...args: readonly unknown[]) => unknown;

/** The named functions of one part of a store, each behind its guard. */
function operations<T extends object, K extends keyof T & string>(
  part: T,
  prefix: string,
  names: readonly K[],
  guard: StoreGuard,
): Pick<T, K> {
  const guardedPart: Record<string, unknown> = {};
  for (const name of names) {
    // The contract has functions only under these names; one that is missing fails when it is called.
    const run = (...args: readonly unknown[]): unknown => (part[name] as Operation).apply(part, [...args]);
    guardedPart[name] = operation(`${prefix}${name}`, run, guard);
  }
  // One function for each of `names`, with the same parameters and answers.
  return guardedPart as Pick<T, K>;
}

function operation(hook: string, run: Operation, guard: StoreGuard): Operation {
  const { plugin, log } = guard;
  const { accepts, instead, unlimited, wrap } = POLICIES[hook] ?? {};
  const site: PluginSite = { kind: "store", plugin, hook };
  const recover = (fault: PluginFault): unknown => {
    if (instead !== undefined) return instead();
    throw fault;
  };
  const asked = guarded<[unknown, unknown, unknown, unknown], unknown>(
    { site, log, ...(accepts !== undefined && { accepts }), recover },
    run,
  );
  return (a, b, c, d) => {
    const answer = asked(a, b, c, d);
    const limited =
      isPromise(answer) && unlimited === undefined ? inTime(answer, guard, { site, recover }) : answer;
    if (wrap === undefined) return limited;
    return isPromise(limited) ? limited.then((value) => wrap(value, guard)) : wrap(limited, guard);
  };
}

/** `answer`, or the fault of one that times out. */
function inTime(
  answer: Promise<unknown>,
  { log, clock }: StoreGuard,
  { site, recover }: { readonly site: PluginSite; readonly recover: (fault: PluginFault) => unknown },
): MaybePromise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(ANSWER_MS, () => {
      const late = pluginFault({ site, log }, new Error(`no answer within ${ANSWER_MS / 1000} s`));
      try {
        resolve(recover(late));
      } catch (fault) {
        reject(fault);
      }
    });
    answer.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (fault: unknown) => {
        timer.cancel();
        reject(fault);
      },
    );
  });
}
