/**
 * Lua that runs inside Redis, where one script is one step that nothing comes between. All scripts take the same two
 * things: KEYS[1], what every key begins with, and ARGV[1], what is asked, as JSON. Nothing here talks to a server.
 */
import { createHash } from "node:crypto";

export interface Script {
  readonly lua: string;
  /** By which a server that has loaded it knows it. */
  readonly sha: string;
}

/**
 * `serverMs` is the server's clock, so that replicas whose clocks differ agree. Only tests send `now` instead, so that
 * a virtual clock can drive it. `META` holds what all replicas know of the store itself (see guard-script.ts).
 */
const OPENING = `
local prefix = KEYS[1]
local ask = cjson.decode(ARGV[1])
local META = prefix .. ':meta'
local serverMs = ask.now
if not serverMs then
  local time = redis.call('TIME')
  serverMs = time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** `now`: the time line that steps of the server's clock do not move. */
const NOW = `
local now = serverMs + tonumber(redis.call('HGET', META, 'offset') or 0)
`;

export function script(...parts: readonly string[]): Script {
  return assembled([OPENING, NOW, ...parts]);
}

/** A script whose first part declares `now` itself. */
export function scriptWithoutTime(...parts: readonly string[]): Script {
  return assembled([OPENING, ...parts]);
}

function assembled(parts: readonly string[]): Script {
  const lua = parts.join("\n");
  return { lua, sha: createHash("sha1").update(lua).digest("hex") };
}

/**
 * What is asked, as JSON that Lua's parser takes: half a surrogate pair, which JavaScript strings may hold, becomes
 * the replacement character instead of an error for all that is asked with it.
 */
export function asked(ask: object): string {
  const json = JSON.stringify(ask);
  return json.includes("\\ud") ? json.replace(/\\ud[89a-f][0-9a-f]{2}/g, "\\ufffd") : json;
}
