/**
 * Overrides in Redis: a hash, and a version that counts its changes. Other replicas hear of a change by a message, and
 * ask for the version every second in case a message was lost. The list last read stands while the server is lost, so
 * that what was revoked stays revoked; before the first one `onUnavailable` decides.
 */
import type { Clock, Override, OverrideStore, Timer } from "../../plugin/index.ts";
import { OVERRIDES_MAX } from "../../plugin/index.ts";
import { LOST, type RedisLink } from "./link.ts";
import { asked, script } from "./script.ts";

const POLL_MS = 1000;
/** Below every version: what the server has is told of, whatever that is. */
const UNREAD = -1;

const CHANGED = `
local version = redis.call('INCR', prefix .. ':overrides:version')
redis.call('PUBLISH', prefix .. ':overrides', version)
return version
`;

/** `{key}`, ARGV[2] the override: answers the version, or 0 when there are too many. */
const PUT = script(
  `
local all = prefix .. ':overrides'
if redis.call('HEXISTS', all, ask.key) == 0 and redis.call('HLEN', all) >= ${OVERRIDES_MAX} then return 0 end
redis.call('HSET', all, ask.key, ARGV[2])
`,
  CHANGED,
);

/** `{key}`: answers the version, or 0 when there is none of that key. */
const DROP = script("if redis.call('HDEL', prefix .. ':overrides', ask.key) == 0 then return 0 end", CHANGED);

export const OVERRIDE_SCRIPTS = [PUT, DROP];

export interface RedisOverridesOptions {
  readonly link: RedisLink;
  readonly prefix: string;
  readonly clock: Clock;
  readonly onUnavailable: "deny" | "allow";
}

export class RedisOverrides implements OverrideStore {
  readonly #link: RedisLink;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #watchers = new Set<() => void>();
  #lastRead: readonly Override[] | undefined;
  /** The one that was last told of. */
  #version = 0;
  #poll: Timer | undefined;

  constructor({ link, prefix, clock, onUnavailable }: RedisOverridesOptions) {
    this.#link = link;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#lastRead = onUnavailable === "allow" ? [] : undefined;
    link.listen(`${prefix}:overrides`, (version) => this.#reached(Number(version)));
    // Messages sent while the connection was broken went to nobody.
    link.onChange(
      () => void this.#compare(),
      () => {},
    );
  }

  async list(): Promise<readonly Override[] | "unavailable"> {
    const reply = await this.#link.command("HVALS", `${this.#prefix}:overrides`);
    if (reply === LOST || !Array.isArray(reply)) {
      // Whoever asked was told of a change that it has not seen: it is told again when the server is back.
      this.#version = UNREAD;
      return this.#lastRead ?? "unavailable";
    }
    // As `put` was given them: only this store writes under its prefix.
    this.#lastRead = reply.map((text) => JSON.parse(String(text)) as Override);
    return this.#lastRead;
  }

  async put(override: Override): Promise<boolean> {
    return this.#changed(await this.#link.run(PUT, asked({ key: override.key }), JSON.stringify(override)));
  }

  async drop(key: string): Promise<boolean> {
    return this.#changed(await this.#link.run(DROP, asked({ key })));
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

  #changed(version: unknown): boolean {
    if (typeof version !== "number" || version === 0) return false;
    this.#reached(version);
    return true;
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
      void this.#compare().then(() => {
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
