/**
 * Rate windows, sums and reservations in Redis, decided by one script. Its keys, each behind the prefix:
 *
 *   window:<ms>:<key>   list of runs, oldest first: `<time> <calls before> <calls at that time>`
 *   windows             set of the keys above, so that idle ones are found and removed
 *   settled:<month>     hash: sum -> nano-dollars
 *   reserved:<month>    hash: sum -> nano-dollars
 *   months              the set of months kept; the current one is in `meta` (see guard-script.ts)
 *   held                hash: id -> what it holds, `["open"|"lapsed",month,[[sum,estimate,input],…]]` or `["done"]`
 *   renamed             names that have become others: see rename-script.ts
 *   open                sorted set: id -> when its lease, or the memory of its end, runs out
 *
 * What one batch touches is read once and written once. Windows have no expiry in Redis: a step of the server's clock
 * would remove them.
 */
import { LEASE_MS } from "../../plugin/store.ts";
import { RATE_RUNS_MAX } from "../rate-window.ts";
import { SPEND_SUMS_MAX } from "../spend-ledger.ts";
import { guardedScript } from "./guard-script.ts";
import { MONTHS } from "./month-script.ts";
import { FORMER_KEYS, NAMES, RENAMES } from "./rename-script.ts";

/** How long an end is remembered that may be sent twice: the second one changes nothing. */
const DONE_MS = 86_400_000;
/** How long a lapsed reservation is remembered: a late end of its call corrects the sums. */
const LAPSED_MS = 7 * 86_400_000;

/** Runs of a window: as many as in memory, so that both round alike. */
export const RUNS_MAX = RATE_RUNS_MAX;

/** Windows checked by each sweep, to find idle ones. */
const WINDOWS_PER_SWEEP = 256;

const SUMS = `
local sums = {}
local isChanged = false

local function sumOf(of, sumKey)
  local key = presentName('spend', sumKey)
  local name = of .. key
  local sum = sums[name]
  if sum then return sum end
  local settled = redis.call('HGET', prefix .. ':settled:' .. of, key)
  local reserved = redis.call('HGET', prefix .. ':reserved:' .. of, key)
  sum = {
    month = of, key = key, isNew = not settled and not reserved,
    settled = tonumber(settled or 0), reserved = tonumber(reserved or 0), paid = 0, held = 0,
  }
  sums[name] = sum
  return sum
end

local function change(sum, paid, held)
  sum.settled, sum.paid = sum.settled + paid, sum.paid + paid
  sum.reserved, sum.held = sum.reserved + held, sum.held + held
end

local function isFull(sum)
  return sum.isNew and sum.settled + sum.reserved == 0
    and (redis.call('HLEN', prefix .. ':settled:' .. month) >= ${SPEND_SUMS_MAX}
      or redis.call('HLEN', prefix .. ':reserved:' .. month) >= ${SPEND_SUMS_MAX})
end

-- Lua's own way from number to text keeps 14 digits; amounts have up to 16.
local function write(kind, sum, by)
  if by == 0 then return end
  local key = prefix .. kind .. sum.month
  if redis.call('HINCRBY', key, sum.key, string.format('%.0f', by)) == 0 then redis.call('HDEL', key, sum.key) end
end

local function writeSums()
  for _, sum in pairs(sums) do
    write(':settled:', sum, sum.paid)
    write(':reserved:', sum, sum.held)
  end
end
`;

const RESERVATIONS = `
local HELD, OPEN = prefix .. ':held', prefix .. ':open'

local function remember(id, what, untilMs)
  isChanged = true
  redis.call('HSET', HELD, id, cjson.encode(what))
  redis.call('ZADD', OPEN, untilMs, id)
end

local function forget(id)
  isChanged = true
  redis.call('HDEL', HELD, id)
  redis.call('ZREM', OPEN, id)
end

-- One amount for all sums, or one for each.
local function costAt(cost, index)
  if type(cost) == 'table' then return cost[index] end
  return cost
end

-- Ends what is held at its cost; without one, each sum at its own input estimate.
local function finish(held, cost)
  if not isKept(held[2]) then return end
  local lapsed = held[1] == 'lapsed'
  for index, entry in ipairs(held[3]) do
    local input = tonumber(entry[3])
    change(sumOf(held[2], entry[1]), (costAt(cost, index) or input) - (lapsed and input or 0), lapsed and 0 or -entry[2])
  end
end

-- A lease that has run out belongs to a dead process, or to one cut off: its end may still come, and corrects then.
local function lapse(count)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', OPEN, '-inf', now, 'LIMIT', 0, count)) do
    local text = redis.call('HGET', HELD, id)
    local held = text and cjson.decode(text)
    if held and held[1] == 'open' then
      finish(held)
      held[1] = 'lapsed'
      remember(id, held, now + ${LAPSED_MS})
    else
      forget(id)
    end
  end
end

-- With a month: Redis may hold nothing for it, because the call was admitted while Redis was lost or because the data
-- was. Then its cost is added to these sums, once.
local function settle(id, cost, of, keys)
  local text = redis.call('HGET', HELD, id)
  if text then
    local held = cjson.decode(text)
    if held[1] == 'done' then return end
    finish(held, cost)
    forget(id)
  elseif of then
    if not isKept(of) then of = month end
    for index, key in ipairs(keys) do
      change(sumOf(of, key), costAt(cost, index), 0)
    end
  end
  if of then remember(id, { 'done' }, now + ${DONE_MS}) end
end

-- After a loss of data: what an open call had reserved is reserved again.
local function restore(id, of, entries)
  if redis.call('HEXISTS', HELD, id) == 1 or not isKept(of) then return end
  for _, entry in ipairs(entries) do change(sumOf(of, entry[1]), 0, tonumber(entry[2])) end
  remember(id, { 'open', of, entries }, now + ${LEASE_MS})
end

-- A reservation that lapsed while its process was cut off is open again.
local function renew(id)
  local text = redis.call('HGET', HELD, id)
  local held = text and cjson.decode(text)
  if not held or held[1] == 'done' then return end
  if held[1] == 'lapsed' then
    for _, entry in ipairs(held[3]) do
      if isKept(held[2]) then change(sumOf(held[2], entry[1]), -entry[3], tonumber(entry[2])) end
    end
    held[1] = 'open'
    remember(id, held, now + ${LEASE_MS})
  else
    redis.call('ZADD', OPEN, now + ${LEASE_MS}, id)
  end
end
`;

/** As `RateWindow`: half-open windows, a ring of runs there, a list here. */
const WINDOWS = `
local WINDOWS, WINDOW = prefix .. ':windows', prefix .. ':window:'
local windows = {}

-- Time, calls before, calls up to its end.
local function runAt(key, at)
  local text = redis.call('LINDEX', key, at)
  if not text then return nil end
  local ms, before, calls = string.match(text, '^(%d+) (%d+) (%d+)$')
  before = tonumber(before)
  return { ms = tonumber(ms), before = before, after = before + tonumber(calls) }
end

-- Index of the first run for which isLate says true; such a run is near the head. At most length.
local function search(key, length, isLate)
  local low, high = -1, 0
  while high < length and not isLate(runAt(key, high)) do
    low, high = high, high * 2 + 1
  end
  if high > length then high = length end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if isLate(runAt(key, middle)) then high = middle else low = middle end
  end
  return high
end

local function windowOf(rateKey, windowMs)
  local name = presentName('rate ' .. windowMs, rateKey)
  local key = WINDOW .. windowMs .. ':' .. name
  local window = windows[key]
  if window then return window end
  window = { key = key, windowMs = windowMs, calls = 0 }
  windows[key] = window
  local since = now - windowMs
  local first = runAt(key, 0)
  if first and first.ms <= since then
    local kept = search(key, redis.call('LLEN', key), function(run) return run.ms > since end)
    redis.call('LTRIM', key, kept, -1)
    first = runAt(key, 0)
  end
  if first then
    window.first, window.last = first, runAt(key, -1)
    window.calls = window.last.after - first.before
  end
  return window
end

local function waitOf(window, limit)
  if window.calls < limit then return 0 end
  if limit < 1 then return window.windowMs end
  -- More than the first run need go only when a reload has lowered the limit below what the window holds.
  local enough = window.last.after - limit
  local run = window.first
  if run.after <= enough then
    local length = redis.call('LLEN', window.key)
    run = runAt(window.key, search(window.key, length, function(each) return each.after > enough end))
  end
  return run.ms + window.windowMs - now
end

local function count(window, stepMs)
  local ms = now - now % stepMs + stepMs - 1
  local last = window.last
  local before = last and last.after or 0
  local same = last and last.ms >= ms
  if same then
    last.after = last.after + 1
    if window.first.before == last.before then window.first.after = last.after end
    redis.call('LSET', window.key, -1, string.format('%.0f %.0f %.0f', last.ms, last.before, last.after - last.before))
  else
    window.last = { ms = ms, before = before, after = before + 1 }
    if not window.first then window.first = window.last end
    redis.call('RPUSH', window.key, string.format('%.0f %.0f 1', ms, before))
    if not last then redis.call('SADD', WINDOWS, string.sub(window.key, #WINDOW + 1)) end
  end
  window.calls = window.calls + 1
end

-- Looks at some windows and removes those that hold nothing any more.
local function sweepWindows()
  for _, member in ipairs(redis.call('SRANDMEMBER', WINDOWS, ${WINDOWS_PER_SWEEP})) do
    local last = runAt(WINDOW .. member, -1)
    if not last or last.ms <= now - tonumber(string.match(member, '^%d+')) then
      redis.call('UNLINK', WINDOW .. member)
      redis.call('SREM', WINDOWS, member)
    end
  end
end
`;

/**
 * Answers 1 for an admission without rates, `{-1, ...windows}` for one with them (see `Admission.windows`), -1 for data
 * lost and not confirmed, or `{index of the claim refused, ms to wait, nano-dollars spent}`.
 */
const ADMIT = `
local isDenied = lost and ask.deny

local function refusalOf(rates, spends)
  local refused, longest = nil, 0
  for _, rate in ipairs(rates) do
    local wait = waitOf(windowOf(rate[2], rate[4]), rate[3])
    if wait > longest then refused, longest = rate[1], wait end
  end
  if refused then return { refused, longest, 0 } end
  for _, spend in ipairs(spends) do
    local sum = sumOf(month, spend[2])
    local spent = sum.settled + sum.reserved
    if isFull(sum) or spent + spend[4] > spend[3] then return { spend[1], 0, spent } end
  end
  return nil
end

local function admit(id, rates, spends, entries)
  if isDenied then return -1 end
  local refusal = refusalOf(rates, spends)
  if refusal then return refusal end
  -- Known already: this admission was overtaken by the word that nobody waits for it any more.
  if #entries > 0 and redis.call('HEXISTS', HELD, id) == 1 then return 1 end
  local counted = {}
  for _, rate in ipairs(rates) do
    local window = windowOf(rate[2], rate[4])
    if not counted[window] then count(window, rate[5]) end
    counted[window] = true
  end
  if #entries > 0 then
    for _, entry in ipairs(entries) do
      entry[1] = presentName('spend', entry[1])
      change(sumOf(month, entry[1]), 0, tonumber(entry[2]))
    end
    remember(id, { 'open', month, entries }, now + ${LEASE_MS})
  end
  if #rates == 0 then return 1 end
  local admission = { -1 }
  for _, rate in ipairs(rates) do
    local window = windowOf(rate[2], rate[4])
    admission[#admission + 1] = math.max(0, rate[3] - window.calls)
    admission[#admission + 1] = window.first.ms + window.windowMs - now
  end
  return admission
end

for _, one in ipairs(ask.renames) do
  if one[1] == 'begin' then beginRename(one[2], one[3], one[4]) else endRename(one[2], one[3], one[4]) end
end
for _, one in ipairs(ask.restores) do restore(one[1], one[2], one[3]) end
for _, id in ipairs(ask.renews) do renew(id) end
for _, one in ipairs(ask.ends) do settle(one[1], one[2], one[3], one[4]) end
lapse(ask.lapses)
local answers = { seq, month }
for _, one in ipairs(ask.admits) do answers[#answers + 1] = admit(one[1], one[2], one[3], one[4]) end
writeSums()
if ask.sweep then sweepWindows() end
if isChanged then answers[1] = redis.call('HINCRBY', META, 'seq', 1) end
return answers
`;

/**
 * `{now?, epoch, seq, expect?, month, deny, renames: [["begin"|"end", kind, from, to]], restores: [[id, month, entries]], renews: [id], ends: [[id, cost, month?,
 * sums?]], lapses: leases looked at most, sweep, admits: [[id, rates, spends, entries]]}` with rates `[index, key,
 * limit, window ms, step ms]`, spends `[index, key, cap, estimate]`, entries `[key, estimate, input]`, the last two as
 * text. Answers `seq`, the month, and for each admission what it came to; or STALE.
 */
export const LEDGER = guardedScript(
  ...[MONTHS, NAMES, SUMS, RESERVATIONS, WINDOWS, FORMER_KEYS, RENAMES, ADMIT],
);
