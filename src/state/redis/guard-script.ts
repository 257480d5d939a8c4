/**
 * Detects in Redis itself that data was lost, and keeps a time line that steps of the server's clock do not move.
 * The hash `meta` behind the prefix:
 *
 *   epoch    identifies one uninterrupted history of the data; changes when a loss is recorded
 *   past     epochs that ended in a loss which has been recorded, newest first
 *   seq      counts writes of money and overrides; lower than one that a process has seen: the data was rewound
 *   lost     `<reason> <server time>` until an operator confirms; only with `state.on_data_loss: deny`
 *   month    the month that calls are budgeted in
 *   seen     the server's clock when it was last noted
 *   offset   what is added to the server's clock to undo its steps
 */
import { MONTHS } from "./month-script.ts";
import { type Script, scriptWithoutTime } from "./script.ts";

/** Shorter steps back are ignored: they make a rate window wait as much longer. */
const STEP_BACK_MS = 1000;
/** A gap between two readings of the server's clock that a step may explain. Every process reads it once a second. */
const CLOCK_JUMP_MS = 10_000;
/** How often the clock's reading is noted. */
const NOTED_MS = 500;
/** Characters of `past`: ten epochs. */
const PAST_MAX = 400;

/** `ask.expect`: what `now` should be by this process's monotonic clock. */
const TIME_LINE = `
local meta = redis.call('HMGET', META, 'epoch', 'seq', 'lost', 'month', 'seen', 'offset')
local epoch, seq, lost, month = meta[1], tonumber(meta[2] or 0), meta[3], meta[4]
local offset = tonumber(meta[6] or 0)

if meta[5] then
  local passed = serverMs - tonumber(meta[5])
  local isAhead = passed > ${CLOCK_JUMP_MS} and ask.expect and serverMs + offset - ask.expect > ${CLOCK_JUMP_MS}
  local isBehind = passed < -${STEP_BACK_MS}
  if isBehind then
    offset = math.max(offset - passed, ask.expect and ask.expect - serverMs or offset - passed)
  elseif isAhead then
    offset = ask.expect - serverMs
  end
  if isBehind or passed >= ${NOTED_MS} then
    redis.call('HSET', META, 'seen', string.format('%.0f', serverMs), 'offset', string.format('%.0f', offset))
  end
else
  redis.call('HSET', META, 'seen', string.format('%.0f', serverMs))
end
local now = serverMs + offset
`;

/** `{epoch, seq}`, as this process knows them. Another epoch, or fewer writes: it has to run CHECK before anything else. */
const COMPARE = `
if epoch ~= ask.epoch or seq < ask.seq then return { -1 } end
`;

/** The answer's first element when the process has to run CHECK. */
export const STALE = -1;

/** A script that runs only on the data that its process knows. `now`, `seq`, `lost` and `month` are there. */
export function guardedScript(...parts: readonly string[]): Script {
  return scriptWithoutTime(TIME_LINE, COMPARE, ...parts);
}

/**
 * `{instance, epoch, seq, month, told?, deny, expect?}`; `epoch` "": this process knows none yet; `month`: by its own
 * clock; `told`: the latest that Redis has told it. Records a loss that nobody has recorded. Answers `{epoch, seq, lost, server time, offset, reason,
 * month}`; `reason`: what was lost since this process last asked, "" for nothing.
 */
export const CHECK = scriptWithoutTime(
  TIME_LINE,
  `
local reason = ''
if ask.epoch == '' then
  if not epoch then
    epoch = redis.sha1hex(ask.instance .. serverMs)
    redis.call('HSET', META, 'epoch', epoch)
  end
elseif epoch ~= ask.epoch or seq < ask.seq then
  reason = not epoch and 'emptied' or epoch == ask.epoch and 'rewound' or 'replaced'
  local past = redis.call('HGET', META, 'past') or ''
  if not (epoch and epoch ~= ask.epoch and string.find(past, ask.epoch, 1, true)) then
    past = ask.epoch .. ' ' .. (epoch and epoch ~= ask.epoch and epoch .. ' ' or '') .. past
    epoch = redis.sha1hex(ask.instance .. ask.epoch .. serverMs .. seq)
    redis.call('HSET', META, 'epoch', epoch, 'past', string.sub(past, 1, ${PAST_MAX}))
    if ask.deny then
      lost = reason .. ' ' .. string.format('%.0f', serverMs)
      redis.call('HSET', META, 'lost', lost)
    end
  end
end
if ask.told and (not month or month < ask.told) then
  month = ask.told
  redis.call('HSET', META, 'month', month)
  redis.call('SADD', prefix .. ':months', month)
end
`,
  MONTHS,
  `
return { epoch, seq, lost or '', string.format('%.0f', serverMs), string.format('%.0f', offset), reason, month }
`,
);

/** Ends the refusal of calls after a loss. Answers what was lost, "" when nothing was. */
export const CONFIRM = scriptWithoutTime(`
local lost = redis.call('HGET', META, 'lost') or ''
redis.call('HDEL', META, 'lost')
return lost
`);
