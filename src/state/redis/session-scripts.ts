/**
 * Conversations in Redis. Each is a hash, `session:<id>` behind the prefix: owner, ttl, expires, and once saved
 * history and characters; while a call has it `lock` (that call's token) and `leased` (when the lock of a dead process
 * ends); `waiters`, at most SESSION_WAITERS_MAX of `[token, alive until]`, in the order they came. The sorted set
 * `recent` has the ids of those saved by last use. A token begins with its process: `<instance>.<number>`.
 */
import { SESSION_WAITERS_MAX } from "../../plugin/store.ts";
import { NAMES } from "./rename-script.ts";
import { type Script, script } from "./script.ts";

/** A lock, and a place in the queue, not renewed for so long belong to a dead process. */
export const SESSION_LEASE_MS = 20_000;

/** Oldest ids checked by each save, so that the work is spread. */
const TRIMMED_PER_SAVE = 8;

/** The channel that tells a process which call is next. */
export function turnChannel(prefix: string, instance: string): string {
  return `${prefix}:turn:${instance}`;
}

const OPENING = `${NAMES}
local RECENT = prefix .. ':recent'

if ask.owner then ask.owner = presentOwner(ask.owner) end

local function keyOf(id)
  return prefix .. ':session:' .. id
end

local function read(id)
  local fields = redis.call('HMGET', keyOf(id), 'owner', 'expires', 'lock', 'leased', 'waiters', 'characters')
  if not fields[1] then return nil end
  local conversation = {
    id = id, owner = presentOwner(fields[1]), expires = tonumber(fields[2]), lock = fields[3], leased = tonumber(fields[4] or 0),
    waiters = {}, characters = fields[6],
  }
  for _, waiter in ipairs(fields[5] and cjson.decode(fields[5]) or {}) do
    if waiter[2] >= now then table.insert(conversation.waiters, waiter) end
  end
  return conversation
end

local function isHeld(conversation)
  return conversation.lock and conversation.leased > now
end

-- Idle for too long, or new and left by a call that died.
local function isOver(conversation)
  return not isHeld(conversation) and (conversation.expires < now or not conversation.characters)
end

local function wake(waiter)
  redis.call('PUBLISH', prefix .. ':turn:' .. string.match(waiter[1], '^[^.]*'), waiter[1])
end

local function drop(conversation)
  redis.call('UNLINK', keyOf(conversation.id))
  redis.call('ZREM', RECENT, conversation.id)
  for _, waiter in ipairs(conversation.waiters) do wake(waiter) end
end

local function writeWaiters(conversation)
  if #conversation.waiters == 0 then
    redis.call('HDEL', keyOf(conversation.id), 'waiters')
  else
    redis.call('HSET', keyOf(conversation.id), 'waiters', cjson.encode(conversation.waiters))
  end
end

-- Redis forgets what nobody touches any more by itself, a little later than it is over.
local function keep(id, ttl)
  redis.call('PEXPIRE', keyOf(id), ttl + ${SESSION_LEASE_MS} * 3)
end
`;

/** `{id, owner, token, ttl}`: a new conversation, held. Answers 1. */
const MAKE = script(
  OPENING,
  `
redis.call('HSET', keyOf(ask.id), 'owner', ask.owner, 'ttl', ask.ttl, 'expires', now + ask.ttl,
  'lock', ask.token, 'leased', now + ${SESSION_LEASE_MS})
keep(ask.id, ask.ttl)
return 1
`,
);

export const MISSING = 0;
export const BUSY = 1;
export const WAIT = 2;

/**
 * `{id, owner, token, ttl}`: opens a conversation, or polls for one that it waits for. Answers its history when the
 * token has it now, else MISSING, BUSY or WAIT.
 */
const CLAIM = script(
  OPENING,
  `
local conversation = read(ask.id)
if not conversation or conversation.owner ~= ask.owner then return ${MISSING} end
local isMine = conversation.lock == ask.token
if not isMine and isOver(conversation) then
  drop(conversation)
  return ${MISSING}
end
local waiters, place = conversation.waiters, nil
for at, waiter in ipairs(waiters) do
  if waiter[1] == ask.token then place = at end
end
if not isMine and (isHeld(conversation) or (place or #waiters + 1) > 1) then
  if not place and #waiters >= ${SESSION_WAITERS_MAX} then return ${BUSY} end
  if not isHeld(conversation) then wake(waiters[1]) end
  place = place or #waiters + 1
  waiters[place] = { ask.token, now + ${SESSION_LEASE_MS} }
  writeWaiters(conversation)
  return ${WAIT}
end
if place then table.remove(waiters, place) end
writeWaiters(conversation)
redis.call('HSET', keyOf(ask.id), 'owner', conversation.owner, 'lock', ask.token,
  'leased', now + ${SESSION_LEASE_MS}, 'ttl', ask.ttl, 'expires', now + ask.ttl)
keep(ask.id, ask.ttl)
if conversation.characters then redis.call('ZADD', RECENT, now, ask.id) end
return redis.call('HGET', keyOf(ask.id), 'history') or '[]'
`,
);

/**
 * `{id, token, ttl, characters, max}`, ARGV[2] the history: stores it, unless the conversation was deleted or another
 * call has it since. Beyond `max` those used least recently go, but none that is held. Answers 1 when it was stored.
 */
const SAVE = script(
  OPENING,
  `
local conversation = read(ask.id)
if not conversation or conversation.lock ~= ask.token then return 0 end
redis.call('HSET', keyOf(ask.id), 'owner', conversation.owner, 'history', ARGV[2],
  'characters', ask.characters, 'expires', now + ask.ttl)
keep(ask.id, ask.ttl)
redis.call('ZADD', RECENT, now, ask.id)
local over = redis.call('ZCARD', RECENT) - ask.max
for _, id in ipairs(redis.call('ZRANGE', RECENT, 0, ${TRIMMED_PER_SAVE - 1})) do
  local old = read(id)
  if not old then
    redis.call('ZREM', RECENT, id)
    over = over - 1
  elseif id ~= ask.id and (isOver(old) or (over > 0 and not isHeld(old))) then
    drop(old)
    over = over - 1
  end
end
return 1
`,
);

/** `{id, token}`: the token's call is done, or no longer waits. The next one gets it and is notified. */
const LEAVE = script(
  OPENING,
  `
local conversation = read(ask.id)
if not conversation then return 0 end
local waiters = conversation.waiters
if conversation.lock ~= ask.token then
  for at = #waiters, 1, -1 do
    if waiters[at][1] == ask.token then table.remove(waiters, at) end
  end
  writeWaiters(conversation)
  return 0
end
conversation.lock = false
if isOver(conversation) then
  drop(conversation)
elseif #waiters > 0 then
  local next = table.remove(waiters, 1)
  redis.call('HSET', keyOf(ask.id), 'lock', next[1], 'leased', now + ${SESSION_LEASE_MS})
  writeWaiters(conversation)
  wake(next)
else
  redis.call('HDEL', keyOf(ask.id), 'lock', 'leased', 'waiters')
end
return 1
`,
);

/** `{held: [[id, token, ttl]]}`: these calls still run. */
const HOLD = script(
  OPENING,
  `
for _, one in ipairs(ask.held) do
  if redis.call('HGET', keyOf(one[1]), 'lock') == one[2] then
    redis.call('HSET', keyOf(one[1]), 'leased', now + ${SESSION_LEASE_MS})
    keep(one[1], one[3])
  end
end
return 1
`,
);

/** `{id, owner}`: answers the characters of its history. */
const PEEK = script(
  OPENING,
  `
local conversation = read(ask.id)
if not conversation or conversation.owner ~= ask.owner or isOver(conversation) then return 0 end
return tonumber(conversation.characters or 0)
`,
);

/** `{id}`: answers whose it is, if it is there. */
const OWNER = script(
  OPENING,
  `
local conversation = read(ask.id)
return conversation and not isOver(conversation) and conversation.owner or ''
`,
);

/** `{id, owner}`: forgets it; a call that has it stores nothing. Answers 1 when there was one. */
const DELETE = script(
  OPENING,
  `
local conversation = read(ask.id)
if not conversation or conversation.owner ~= ask.owner then return 0 end
drop(conversation)
return isOver(conversation) and 0 or 1
`,
);

/** `{ids}`: writes their present owners into them. */
const REOWN = script(
  OPENING,
  `
for _, id in ipairs(ask.ids) do
  local owner = redis.call('HGET', keyOf(id), 'owner')
  local now = owner and presentOwner(owner)
  if now ~= owner then redis.call('HSET', keyOf(id), 'owner', now) end
end
return 1
`,
);

export const SESSION_SCRIPTS = {
  reown: REOWN,
  make: MAKE,
  claim: CLAIM,
  save: SAVE,
  leave: LEAVE,
  hold: HOLD,
  peek: PEEK,
  owner: OWNER,
  delete: DELETE,
} as const satisfies Readonly<Record<string, Script>>;
