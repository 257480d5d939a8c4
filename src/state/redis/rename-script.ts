/**
 * Renames in Redis, behind the prefix:
 *
 *   renamed     hash: `<kind> <from>` -> what that is called now; of rates `rate <ms> <from>`
 *   renaming    set of those whose conversations may still have their old owner written in them
 *
 * Sums, windows and overrides move in the script that begins a rename; conversations are many, so each is read under its
 * present owner, and written so by and by.
 */
import { OVERRIDE_KEYS_MAX } from "../../plugin/store.ts";

/** For every script that reads a name: `presentName`, and `presentOwner` of a conversation. */
export const NAMES = `
local RENAMED = prefix .. ':renamed'
local hasRenames = redis.call('EXISTS', RENAMED) == 1

local function presentName(kind, name)
  while hasRenames do
    local to = redis.call('HGET', RENAMED, kind .. ' ' .. name)
    if not to then break end
    name = to
  end
  return name
end

local function presentOwner(owner)
  if not hasRenames then return owner end
  local plugin, name, rest = string.match(owner, '^([^/]*/)([^/]*/[^/]*)(/.*)$')
  return plugin and plugin .. presentName('sessions', name) .. rest or owner
end
`;

/** For scripts that write overrides: `noteFormer`. What an override was called before is in a hash beside them. */
export const FORMER_KEYS = `
local FORMERLY = prefix .. ':overrides:formerly'

local function noteFormer(from, to)
  local keys = {}
  for _, key in ipairs(cjson.decode(redis.call('HGET', FORMERLY, from) or '[]')) do
    if key ~= to and key ~= from then keys[#keys + 1] = key end
  end
  keys[#keys + 1] = from
  while #keys > ${OVERRIDE_KEYS_MAX} do table.remove(keys, 1) end
  redis.call('HDEL', FORMERLY, from)
  redis.call('HSET', FORMERLY, to, cjson.encode(keys))
end
`;

/** Of the ledger's script, after its windows and before anything is asked of it. */
export const RENAMES = `
local function moveSums(from, to)
  for _, of in ipairs(redis.call('SMEMBERS', MONTHS)) do
    for _, kind in ipairs({ ':settled:', ':reserved:' }) do
      local key = prefix .. kind .. of
      local amount = redis.call('HGET', key, from)
      if amount then
        redis.call('HDEL', key, from)
        if redis.call('HINCRBY', key, to, amount) == 0 then redis.call('HDEL', key, to) end
      end
    end
  end
end

local function runsOf(key, into)
  for _, text in ipairs(redis.call('LRANGE', key, 0, -1)) do
    local ms, calls = string.match(text, '^(%d+) %d+ (%d+)$')
    into[#into + 1] = { tonumber(ms), tonumber(calls) }
  end
end

local function moveWindow(windowMs, from, to)
  local old, new = WINDOW .. windowMs .. ':' .. from, WINDOW .. windowMs .. ':' .. to
  if redis.call('EXISTS', old) == 0 then return end
  if redis.call('EXISTS', new) == 0 then
    redis.call('RENAME', old, new)
  else
    local runs, before, at = {}, 0, 1
    runsOf(old, runs)
    runsOf(new, runs)
    table.sort(runs, function(one, other) return one[1] < other[1] end)
    redis.call('UNLINK', old, new)
    while runs[at] do
      local ms, calls = runs[at][1], 0
      while runs[at] and runs[at][1] == ms do
        calls, at = calls + runs[at][2], at + 1
      end
      redis.call('RPUSH', new, string.format('%.0f %.0f %.0f', ms, before, calls))
      before = before + calls
    end
  end
  redis.call('SREM', WINDOWS, windowMs .. ':' .. from)
  redis.call('SADD', WINDOWS, windowMs .. ':' .. to)
end

-- The text has the key that it was set under; what counts is the field that it stands in.
local function moveOverride(from, to)
  local all = prefix .. ':overrides'
  local moved, known = redis.call('HGET', all, from), redis.call('HGET', all, to)
  if not moved then return end
  redis.call('HDEL', all, from)
  if not known or cjson.decode(known).setAtMs <= cjson.decode(moved).setAtMs then
    redis.call('HSET', all, to, moved)
    noteFormer(from, to)
  else
    redis.call('HDEL', FORMERLY, from)
  end
  redis.call('PUBLISH', all, redis.call('INCR', prefix .. ':overrides:version'))
end

local function beginRename(kind, from, to)
  local field = kind .. ' ' .. from
  if redis.call('HGET', RENAMED, field) == to then return end
  redis.call('HDEL', RENAMED, kind .. ' ' .. to)
  redis.call('HSET', RENAMED, field, to)
  isChanged, hasRenames = true, true
  local windowMs = string.match(kind, '^rate (%d+)$')
  if windowMs then moveWindow(windowMs, from, to) end
  if kind == 'spend' then moveSums(from, to) end
  if kind == 'override' then moveOverride(from, to) end
  if kind == 'sessions' then redis.call('SADD', prefix .. ':renaming', field) end
end

local function endRename(kind, from, to)
  local field = kind .. ' ' .. from
  if redis.call('HGET', RENAMED, field) ~= to then return end
  redis.call('HDEL', RENAMED, field)
  isChanged = true
end
`;
