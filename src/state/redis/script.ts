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
 * Time is the server's, so that replicas whose clocks differ agree. Tests alone send `now`, so that a virtual clock
 * can stand in its place.
 */
const OPENING = `
local prefix = KEYS[1]
local ask = cjson.decode(ARGV[1])
local now = ask.now
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

export function script(...parts: readonly string[]): Script {
  const lua = OPENING + parts.join("\n");
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
