/**
 * Overrides in Redis: a hash, and a version that counts its changes. Other replicas are notified of a change by a message, and
 * poll the version every second in case a message was lost. The list last read stays in effect while the server is lost, so
 * that what was revoked stays revoked; before the first one `onUnavailable` decides. What a server that has lost its
 * data does not have any more is put back from this list.
 */

import type { Timer } from "../../plugin/host.ts";
import type { Clock } from "../../plugin/index.ts";
import type { Override, OverrideStore } from "../../plugin/store.ts";
import { OVERRIDES_MAX } from "../../plugin/store.ts";
import type { Continuity } from "./continuity.ts";
import { guardedScript, STALE } from "./guard-script.ts";
import { LOST, type RedisLink } from "./link.ts";
import { FORMER_KEYS, NAMES } from "./rename-script.ts";
import { asked, type Script } from "./script.ts";

const POLL_MS = 1000;
/** Below every version, so that whatever the server has is reported. */
const UNREAD = -1;
/** Times that a script is sent: each time but the last, data was lost. */
const TRIES_MAX = 3;
/** Overrides put back by one script call: they may be 64 KiB each. */
const RESTORED_PER_CALL = 64;

const CHANGED = `
local version = redis.call('INCR', prefix .. ':overrides:version')
seq = redis.call('HINCRBY', META, 'seq', 1)
redis.call('PUBLISH', prefix .. ':overrides', version)
return { seq, version }
`;

/** `{key}`, ARGV[2] the override: answers `{seq, version}`, the version 0 when there are too many. */
const PUT = guardedScript(
  NAMES,
  FORMER_KEYS,
  `
local all, key = prefix .. ':overrides', presentName('override', ask.key)
if redis.call('HEXISTS', all, key) == 0 and redis.call('HLEN', all) >= ${OVERRIDES_MAX} then return { seq, 0 } end
redis.call('HSET', all, key, ARGV[2])
if key ~= ask.key then noteFormer(ask.key, key) end
`,
  CHANGED,
);

/** `{key}`: answers `{seq, version}`, the version 0 when there is none of that key. */
const DROP = guardedScript(
  NAMES,
  FORMER_KEYS,
  `
local key = presentName('override', ask.key)
redis.call('HDEL', FORMERLY, key)
if redis.call('HDEL', prefix .. ':overrides', key) == 0 then return { seq, 0 } end
`,
  CHANGED,
);

/** Answers keys and overrides in turn, then keys and the lists of their former keys in turn. */
const LIST = guardedScript(
  FORMER_KEYS,
  "return { seq, redis.call('HGETALL', prefix .. ':overrides'), redis.call('HGETALL', FORMERLY) }",
);

/**
 * `{version, entries: [[key, set at]]}`, ARGV[2…] the overrides: puts back those that are missing or older there. The
 * version continues from the one that this process knows.
 */
const RESTORE = guardedScript(
  `
local all, versionKey = prefix .. ':overrides', prefix .. ':overrides:version'
for index, entry in ipairs(ask.entries) do
  local text = redis.call('HGET', all, entry[1])
  if not text or cjson.decode(text).setAtMs < entry[2] then redis.call('HSET', all, entry[1], ARGV[index + 1]) end
end
if tonumber(redis.call('GET', versionKey) or 0) < ask.version then redis.call('SET', versionKey, ask.version) end
`,
  CHANGED,
);

export const OVERRIDE_SCRIPTS = [PUT, DROP, LIST, RESTORE];

export interface RedisOverridesOptions {
  readonly link: RedisLink;
  readonly continuity: Continuity;
  readonly prefix: string;
  readonly clock: Clock;
  readonly onUnavailable: "deny" | "allow";
}

export class RedisOverrides implements OverrideStore {
  readonly #link: RedisLink;
  readonly #continuity: Continuity;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #watchers = new Set<() => void>();
  /** In effect while the server is lost. */
  #lastRead: readonly Override[] | undefined;
  #hasRead = false;
  /** Data was lost, and what this process knows is not put back yet. */
  #restoreDue = false;
  /** The one that was last told of. */
  #version = 0;
  #poll: Timer | undefined;

  constructor({ link, continuity, prefix, clock, onUnavailable }: RedisOverridesOptions) {
    this.#link = link;
    this.#continuity = continuity;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#lastRead = onUnavailable === "allow" ? [] : undefined;
    link.listen(`${prefix}:overrides`, (version) => this.#reached(Number(version)));
    // Messages sent while the connection was broken are lost.
    continuity.onChange(
      () => void this.#ready(),
      () => {},
    );
    continuity.onLoss(() => {
      this.#restoreDue = this.#hasRead;
    });
    continuity.onConfirmed(() => this.#tell());
  }

  /** A process that has read nothing before data was lost does not know what was revoked: that is for an operator. */
  async list(): Promise<readonly Override[] | "unavailable"> {
    const reply = await this.#run(LIST, {});
    const isUnknown = this.#continuity.denied && !this.#hasRead;
    if (reply === undefined || isUnknown || this.#restoreDue) {
      // The caller was told of a change that it has not seen: it is told again when the server is back.
      this.#version = UNREAD;
      return isUnknown ? "unavailable" : (this.#lastRead ?? "unavailable");
    }
    this.#lastRead = listed(reply[1], reply[2]);
    this.#hasRead = true;
    return this.#lastRead;
  }

  async set(override: Override): Promise<boolean> {
    const changed = this.#changed(await this.#run(PUT, { key: override.key }, JSON.stringify(override)));
    // Of one whose key has become another the list is read again: watchers are told.
    if (changed && this.#lastRead !== undefined)
      this.#lastRead = [...this.#lastRead.filter(({ key }) => key !== override.key), override];
    return changed;
  }

  async delete(key: string): Promise<boolean> {
    const changed = this.#changed(await this.#run(DROP, { key }));
    if (changed) this.#lastRead = this.#lastRead?.filter((override) => override.key !== key);
    return changed;
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    this.#pollLater();
    return () => {
      this.#watchers.delete(changed);
      if (this.#watchers.size === 0) this.close();
    };
  }

  close(): void {
    this.#poll?.cancel();
    this.#poll = undefined;
  }

  /** undefined: the server is lost. Waits while a loss of data is being recorded. */
  async #run(
    script: Script,
    ask: object,
    ...texts: readonly string[]
  ): Promise<readonly unknown[] | undefined> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      await this.#continuity.settled();
      const guard = this.#continuity.ask();
      const reply = await this.#link.run(script, asked({ ...guard, ...ask }), ...texts);
      if (reply === LOST || !Array.isArray(reply)) return undefined;
      if (reply[0] !== STALE) {
        if (guard.epoch === this.#continuity.epoch) this.#continuity.saw(Number(reply[0]));
        return reply;
      }
      this.#continuity.stale(guard.epoch);
    }
    return undefined;
  }

  #changed(reply: readonly unknown[] | undefined): boolean {
    const version = reply?.[1];
    if (typeof version !== "number" || version === 0) return false;
    this.#reached(version);
    return true;
  }

  async #ready(): Promise<void> {
    if (this.#restoreDue) await this.#restore();
    await this.#compare();
  }

  async #restore(): Promise<void> {
    const known = this.#lastRead ?? [];
    for (let at = 0; at < known.length; at += RESTORED_PER_CALL) {
      const part = known.slice(at, at + RESTORED_PER_CALL);
      const entries = part.map(({ key, setAtMs }) => [key, setAtMs]);
      const texts = part.map((override) => JSON.stringify(override));
      const version = Math.max(0, this.#version);
      // Without an answer it stays due, and is done when the server is back.
      if ((await this.#run(RESTORE, { entries, version }, ...texts)) === undefined) return;
    }
    this.#restoreDue = false;
    this.#tell();
  }

  /** Whatever version the server has: those who watch read it. */
  #tell(): void {
    this.#version = UNREAD;
    void this.#compare();
  }

  /** Once a version, whether a message, an answer or a question brings it first. */
  #reached(version: number): void {
    if (!(version > this.#version)) return;
    this.#version = version;
    for (const changed of [...this.#watchers]) changed();
  }

  #pollLater(): void {
    this.#poll ??= this.#clock.after(POLL_MS, () => {
      this.#poll = undefined;
      void this.#ready().then(() => {
        if (this.#watchers.size > 0) this.#pollLater();
      });
    });
  }

  /** A version below the one known when it was asked for is that of a server that began anew. */
  async #compare(): Promise<void> {
    const known = this.#version;
    const reply = await this.#link.command("GET", `${this.#prefix}:overrides:version`);
    if (reply === LOST) return;
    const version = Number(reply ?? 0);
    if (version < known && this.#version === known) this.#version = UNREAD;
    this.#reached(version);
  }
}

/** Overrides under the keys that they have now. */
function listed(overrides: unknown, formerly: unknown): readonly Override[] {
  const former = new Map(pairs(formerly));
  return pairs(overrides).map(([key, text]) => {
    // As `put` was given it: only this store writes under its prefix.
    const override = { ...(JSON.parse(text) as Override), key };
    const keys = former.get(key);
    if (keys === undefined) return override;
    // Written by the scripts, as a list of keys.
    const known = JSON.parse(keys) as readonly string[];
    return { ...override, formerly: [...new Set([...known, ...(override.formerly ?? [])])] };
  });
}

function pairs(flat: unknown): readonly (readonly [string, string])[] {
  const texts = Array.isArray(flat) ? flat.map(String) : [];
  return texts.flatMap((text, at) => (at % 2 === 0 ? [[text, texts[at + 1] ?? ""] as const] : []));
}
