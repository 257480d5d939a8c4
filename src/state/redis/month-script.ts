/** Which month calls are budgeted in, and which months are kept, decided in Redis. */

/** Months whose sums are kept. The oldest goes when one more begins: by count, since a date may be wrong. */
const MONTHS_KEPT = 3;

/**
 * A month begins when the server's clock and that of the process that asks (`ask.month`) both say so, and never ends
 * before a later one begins: one clock that steps, forward or back, opens no second budget.
 */
export const MONTHS = `
local MONTHS = prefix .. ':months'

local function monthText(count)
  return string.format('%04d-%02d', math.floor(count / 12), count % 12 + 1)
end

-- Months since year 0, from days since 1970: the Gregorian calendar in eras of 400 years that begin in March.
local function monthCount(ms)
  local days = math.floor(ms / 86400000) + 719468
  local era = math.floor(days / 146097)
  local ofEra = days - era * 146097
  local year = math.floor((ofEra - math.floor(ofEra / 1460) + math.floor(ofEra / 36524)
    - math.floor(ofEra / 146096)) / 365)
  local ofYear = ofEra - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  return (era * 400 + year) * 12 + 2 + math.floor((5 * ofYear + 2) / 153)
end

local function beginMonth(next)
  month = next
  redis.call('HSET', META, 'month', month)
  redis.call('SADD', MONTHS, month)
  local kept = redis.call('SMEMBERS', MONTHS)
  table.sort(kept)
  for index = 1, #kept - ${MONTHS_KEPT} do
    redis.call('UNLINK', prefix .. ':settled:' .. kept[index], prefix .. ':reserved:' .. kept[index])
    redis.call('SREM', MONTHS, kept[index])
  end
end

if not month then
  -- Version 0.1 kept it under a key of its own.
  beginMonth(redis.call('GET', prefix .. ':month') or monthText(monthCount(serverMs)))
elseif ask.month > month then
  local next = monthText(monthCount(serverMs))
  if next > ask.month then next = ask.month end
  if next > month then beginMonth(next) end
end

-- A month that a process remembers and an emptied Redis does not is kept again.
local function isKept(of)
  if of == month or redis.call('SISMEMBER', MONTHS, of) == 1 then return true end
  if of > month or redis.call('SCARD', MONTHS) >= ${MONTHS_KEPT} then return false end
  redis.call('SADD', MONTHS, of)
  return true
end
`;
