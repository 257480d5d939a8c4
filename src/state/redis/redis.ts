/**
 * The store in Redis (or Valkey): what several replicas share. Every decision is one script call on the server, so that
 * limits and budgets hold over all of them; while the server is lost, `onUnavailable` decides.
 *
 * All keys begin with `{<keyPrefix>}`: the braces put them into one slot of a cluster, since one script touches several
 * of them. The server must not evict keys (`maxmemory-policy noeviction`), or budgets are forgotten; a full one is
 * taken for a lost one. Needs Redis 5, or any Valkey.
 */
import type { Logger, Random } from "../../plugin/host.ts";
import type { Clock, StateStore } from "../../plugin/index.ts";
import type { Rename, RenameEdit, StoreHealth } from "../../plugin/store.ts";
import { redisAddress } from "./address.ts";
import { AUDIT_SCRIPTS, RedisAudit } from "./audit.ts";
import { Continuity } from "./continuity.ts";
import { CHECK } from "./guard-script.ts";
import { RedisLedger } from "./ledger.ts";
import type { LedgerMetrics } from "./ledger-metrics.ts";
import { LEDGER } from "./ledger-script.ts";
import { RedisLink } from "./link.ts";
import { OVERRIDE_SCRIPTS, RedisOverrides } from "./overrides.ts";
import { SESSION_SCRIPTS } from "./session-scripts.ts";
import { RedisSessions } from "./sessions.ts";
import { redisSlice, SLICE_SCRIPTS } from "./slices.ts";
import { SpillFiles } from "./spill-files.ts";

/** What a redis store is made from. */
export interface RedisStoreOptions {
  /** For timers of this process alone: what counts is the server's time. */
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** See `redisAddress`. */
  readonly url: string;
  readonly keyPrefix: string;
  /** While the server is lost: refuse calls, or let them pass and add what they cost when it is back. */
  readonly onUnavailable: "deny" | "allow";
  /** When Redis has lost data: refuse calls until an operator confirms, or continue with what is there. */
  readonly onDataLoss: "deny" | "allow";
  /** Where costs go that Redis cannot be told before the process ends. undefined: nowhere, they are lost. */
  readonly directory?: string;
  readonly metrics?: LedgerMetrics;
  /** Conversations stored at most, under this prefix. */
  readonly maxSessions: number;
  /** For tests: the time, in the place of the server's. */
  readonly serverTimeMs?: () => number;
  /** For tests: how long a server may be silent before it is taken for lost. Default 1,000. */
  readonly silenceMs?: number;
  /** For tests: memory for ends of calls that Redis has not acknowledged. */
  readonly endsBytesMax?: number;
}

/**
 * Connects, and resolves after the first attempt: a server that is not up yet is a lost one.
 * Rejects, for the one who starts the gateway, when the address is none or ioredis is not installed.
 */
export async function redisStore(options: RedisStoreOptions): Promise<StateStore> {
  const { clock, random, log, onUnavailable, onDataLoss, maxSessions, serverTimeMs, silenceMs } = options;
  const address = redisAddress(options.url);
  if (address === undefined) throw new Error("state.url is no address of redis: redis://host:6379");
  const prefix = `{${options.keyPrefix}}`;
  const instance = random.uuid();
  const link = new RedisLink(await loadClient(), {
    address,
    prefix,
    scripts: [
      CHECK,
      LEDGER,
      ...Object.values(SESSION_SCRIPTS),
      ...OVERRIDE_SCRIPTS,
      ...AUDIT_SCRIPTS,
      ...SLICE_SCRIPTS,
    ],
    log,
    random,
    whileLost:
      onUnavailable === "deny"
        ? "calls with limits or budgets are refused until it is back (state.on_unavailable: deny)"
        : "limits and budgets do not hold until it is back (state.on_unavailable: allow)",
    ...(silenceMs === undefined ? {} : { silenceMs }),
  });
  const continuity = new Continuity({ link, instance, clock, log, onDataLoss, serverTimeMs });
  const shared = { link, continuity, prefix, instance, clock, onUnavailable, serverTimeMs };
  const server = `${address.shown} ${prefix}`;
  const files =
    options.directory === undefined
      ? undefined
      : new SpillFiles({ directory: options.directory, server, instance, log });
  const { metrics, endsBytesMax } = options;
  const ledger = new RedisLedger({ ...shared, log, onDataLoss, files, metrics, endsBytesMax });
  const sessions = new RedisSessions({ ...shared, random, log, metrics, maxSessions });
  const overrides = new RedisOverrides(shared);
  const audit = new RedisAudit(link, clock, log);
  metrics?.gauge("sluice_state_data_loss", "1 while calls are refused because Redis lost data", () =>
    continuity.denied ? 1 : 0,
  );
  link.onChange(
    () => void warnOfEviction(link, log),
    () => {},
  );
  await link.connect();
  await continuity.settled();

  return {
    driver: "redis",
    sessions,
    overrides,
    audit,
    slice: (namespace) => redisSlice(shared, namespace),
    admit: (callId, claims) => ledger.admit(callId, claims),
    settle: (reservation, costNanoUsd) => ledger.end(reservation, costNanoUsd),
    release: (reservation) => ledger.end(reservation, 0),
    renew: (reservations) => ledger.renew(reservations),
    rename: (edit) => rename(edit, ledger, sessions),
    sums: () => ledger.sums(),
    spending: (key, month) => ledger.spending(key, month),
    health: () => healthOf(link.wrong, continuity.denied, options, address.shown),
    async close() {
      sessions.close();
      overrides.close();
      continuity.close();
      await Promise.all([ledger.close(), audit.send()]);
      link.close();
    },
  };
}

function healthOf(
  wrong: string | undefined,
  isDenied: boolean,
  { onUnavailable }: RedisStoreOptions,
  shown: string,
): StoreHealth {
  if (wrong !== undefined)
    return { ok: false, serving: onUnavailable === "allow", detail: `redis: ${wrong}` };
  if (isDenied) return { ok: false, detail: "redis: data was lost; confirm with `sluice state confirm`" };
  return { ok: true, detail: `redis: ${shown}` };
}

async function rename(
  edit: RenameEdit,
  ledger: RedisLedger,
  sessions: RedisSessions,
): Promise<readonly Rename[] | undefined> {
  const isOfSessions = ({ kind }: Rename): boolean => kind === "sessions";
  // Conversations of a name that is to stand no longer must have the present one written in them.
  if (edit.end.some(isOfSessions)) await sessions.writeOwners();
  const standing = await ledger.rename(edit);
  if (standing?.some(isOfSessions)) void sessions.writeOwners();
  return standing;
}

async function loadClient(): Promise<typeof import("ioredis").Redis> {
  try {
    return (await import("ioredis")).Redis;
  } catch {
    throw new Error(
      "state.driver 'redis' needs the package ioredis, which is not installed: npm install ioredis",
    );
  }
}

async function warnOfEviction(link: RedisLink, log: Logger): Promise<void> {
  const memory = await link.command("INFO", "memory");
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(memory))?.[1];
  const isBounded = /^maxmemory:[1-9]/m.test(String(memory));
  if (isBounded && policy !== undefined && policy !== "noeviction") {
    log.warn({ policy }, "redis may evict budgets and conversations: set its maxmemory-policy to noeviction");
  }
}
