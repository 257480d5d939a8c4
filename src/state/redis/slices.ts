/**
 * What plugins keep between calls, in Redis: for each namespace a hash of entries, each `<end> <JSON>`, and a sorted
 * set of their keys by when they were last written. Bounded as in memory; entries whose time is over are not found, and
 * go when they are met.
 */

import type { JsonValue } from "../../plugin/chat.ts";
import type { StoreSlice } from "../../plugin/host.ts";
import { SLICE_ENTRIES_MAX, SLICE_KEY_MAX, SLICE_VALUE_BYTES_MAX } from "../../plugin/host.ts";
import type { RedisLink } from "./link.ts";
import { asked, type Script, script } from "./script.ts";

/** Oldest entries checked by each write. */
const TRIMMED_PER_WRITE = 4;

const OPENING = `
local entries, written = prefix .. ':slice:' .. ask.namespace, prefix .. ':slice-order:' .. ask.namespace

local function drop(key)
  redis.call('HDEL', entries, key)
  redis.call('ZREM', written, key)
end

-- Its end and its JSON.
local function live(key)
  local text = redis.call('HGET', entries, key)
  if not text then return nil end
  local ends, json = string.match(text, '^(%d+) (.*)$')
  if tonumber(ends) > now then return tonumber(ends), json end
  drop(key)
  return nil
end

local function put(key, ends, json)
  redis.call('HSET', entries, key, string.format('%.0f ', ends) .. json)
  redis.call('ZADD', written, now, key)
  for _, old in ipairs(redis.call('ZRANGE', written, 0, ${TRIMMED_PER_WRITE - 1})) do
    if old ~= key then live(old) end
  end
  if redis.call('ZCARD', written) > ${SLICE_ENTRIES_MAX} then
    drop(redis.call('ZRANGE', written, 0, 0)[1])
  end
  -- Redis forgets a namespace in which nothing lives any more.
  for _, name in ipairs({ entries, written }) do
    if redis.call('PTTL', name) < ends - now then redis.call('PEXPIRE', name, ends - now) end
  end
end
`;

/** `{namespace, key}`: answers the JSON, or nothing. */
const GET = script(OPENING, "local _, json = live(ask.key) return json");

/** `{namespace, key, ttl}`, ARGV[2] the JSON. */
const SET = script(OPENING, "put(ask.key, now + ask.ttl, ARGV[2]) return 1");

const DELETE = script(OPENING, "if not live(ask.key) then return 0 end drop(ask.key) return 1");

/** `{namespace, key, by, ttl}`: answers the sum as text, or nothing. */
const INCREMENT = script(
  OPENING,
  `
local ends, json = live(ask.key)
local before = json and tonumber(json)
local sum = (before or 0) + ask.by
if sum - sum ~= 0 then return false end
if not before then
  if ask.ttl <= 0 then return false end
  ends = now + ask.ttl
end
local text = string.format('%.17g', sum)
put(ask.key, ends, text)
return text
`,
);

export const SLICE_SCRIPTS = [GET, SET, DELETE, INCREMENT];

export interface RedisSlicesOptions {
  readonly link: RedisLink;
  readonly serverTimeMs: (() => number) | undefined;
}

/** The slice of `namespace`. While the server is lost nothing is found and nothing is kept. */
export function redisSlice({ link, serverTimeMs }: RedisSlicesOptions, namespace: string): StoreSlice {
  const run = (which: Script, key: string, more: object, ...texts: readonly string[]): Promise<unknown> =>
    link.run(which, asked({ namespace, key, ...more, now: serverTimeMs?.() }), ...texts);
  return {
    async get(key): Promise<JsonValue | undefined> {
      const json = await run(GET, key, {});
      return typeof json === "string" ? JSON.parse(json) : undefined;
    },
    async set(key, value, ttlSeconds) {
      // A plugin in JavaScript may hand in what JSON cannot say.
      const json: string | undefined = JSON.stringify(value);
      if (json === undefined || Buffer.byteLength(json) > SLICE_VALUE_BYTES_MAX) return false;
      if (key.length > SLICE_KEY_MAX || !(ttlSeconds > 0)) return false;
      return (await run(SET, key, { ttl: lifeMs(ttlSeconds) }, json)) === 1;
    },
    async delete(key) {
      return (await run(DELETE, key, {})) === 1;
    },
    async increment(key, by, ttlSeconds) {
      if (key.length > SLICE_KEY_MAX || !Number.isFinite(by)) return undefined;
      const sum = await run(INCREMENT, key, { by, ttl: lifeMs(ttlSeconds) });
      return typeof sum === "string" ? Number(sum) : undefined;
    },
  };
}

/** At most some 300 years: beyond that Redis keeps no time. */
function lifeMs(ttlSeconds: number): number {
  return ttlSeconds > 0 ? Math.min(Math.ceil(ttlSeconds * 1000), 1e13) : 0;
}
