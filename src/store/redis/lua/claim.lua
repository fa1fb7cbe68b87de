-- One wish to hold a lock; repeating it changes nothing.
-- ARGV: prefix, epoch, claim, session, lock, name, mode (x or s), permits wanted, permits that there are, lease ms,
--       lock-delay ms, may queue (1 or 0), label, value
-- Returns {'granted', epoch, counter, contended, slots} or {'waiting', look again in ms, ahead or -1, ...}: host, pid, label
--         of a holder; or 'shut' and the ms for which the lock is in lock-delay; or nothing, if it is not known; of a
--         semaphore 'permits', how many there are, taken, in lock-delay
--         or {'lost'} (the session), {'gone'} (the claim), {'other'} (another lock's claim), {'permits', agreed number}
--         or {'more'}: the dead leave too much behind for one script, ask again at once

local id, session, lock, name, mode = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local wanted, of, lease, delay, may_queue = ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12] == '1'

local claim = {s = session, l = lock, m = mode, w = wanted, d = delay, b = ARGV[13], v = ARGV[14]}

local function granted(held)
  return {'granted', held.e, held.t, contended(lock), held.p or ''}
end

-- When the session ends of whoever waits right before us, and our place then: the dead are dropped. Nothing: we are the
-- head of the queue.
local function end_of_predecessor(rank)
  while rank > 0 do
    local before = call('ZRANGE', P .. 'q:' .. lock, rank - 1, rank - 1)[1]
    local whose = call('HGET', P .. 'c:' .. before, 's')
    local ends = whose and number(end_of(whose)) or 0
    if ends > now or budget <= 0 then return ends, rank end
    budget = budget - 1
    drop_waiter(lock, before, whose)
    rank = rank - 1
  end
  return nil, rank
end

-- A waiter looks again when a session can have ended: nobody tells it that. The head of the queue looks at the holders, the
-- others at the one before them, who holds the lock before they do. Whoever can be granted beside others looks at both.
local function look_again_in(found, before)
  local wait = number(lease) / 3
  if before then wait = math.min(wait, before - now + 1) end
  local beside_others = mode == 's' or number(wanted) > 0
  if found.first and (not before or beside_others) then wait = math.min(wait, found.first - now + 1) end
  return whole(math.max(1, math.floor(wait)))
end

-- For messages. Taken and in lock-delay; where very many have failed, some of these count as taken.
local function permits_used()
  local l = call('HMGET', P .. 'l:' .. lock, 'u', 'g')
  local ghosts = number(l[2]) > 0 and call('ZRANGE', P .. 'g:' .. lock, 0, 99) or {}
  local delayed = 0
  for _, ghost in ipairs(ghosts) do delayed = delayed + #split(string.match(ghost, '^%a:([%d,]*):')) end
  return whole(math.max(0, number(l[1]) - delayed)), whole(delayed)
end

local function shut_for()
  local last = call('ZRANGE', P .. 'g:' .. lock, -1, -1, 'WITHSCORES')[2]
  if not last then return nil end
  return 'shut', whole(math.max(0, number(last) - now))
end

-- `rank`: its place in the queue, -1: it has none.
local function waiting(found, rank)
  local before, place = end_of_predecessor(rank)
  local wait = look_again_in(found, before)
  local ahead = place < 0 and -1 or place + found.count
  if number(of) > 0 then return {'waiting', wait, ahead, 'permits', of, permits_used()} end
  if not found.s then return {'waiting', wait, ahead, shut_for()} end
  local s = call('HMGET', P .. 's:' .. found.s, 'host', 'pid', 'label')
  return {'waiting', wait, ahead, s[1] or '', s[2] or '0', label_of({b = found.b}, s[3])}
end

-- To those whose tickets come after that.
local function tell_more_holders(after)
  local holders = call('ZRANGEBYSCORE', P .. 'h:' .. lock, after, '+inf', 'WITHSCORES', 'LIMIT', 0, 100)
  for i = 1, #holders, 2 do
    local whose = call('HGET', P .. 'c:' .. holders[i], 's')
    if whose then tell({s = whose}, holders[i], 'contended') end
  end
  local all = #holders < 200
  call('HSET', P .. 'l:' .. lock, 'c', all and '' or '(' .. holders[#holders])
  return all
end

-- To the holders: others wait now. False: there are more of them.
local function tell_holders(found)
  if found.count > 100 then return tell_more_holders('-inf') end
  for _, holder in ipairs(found.holders) do tell({s = holder[2]}, holder[1], 'contended') end
  return true
end

-- Who asks again: it may be its turn.
local function ask_again()
  local found = sweep_lock(lock)
  if found and found.changed then
    local now_known = read(P .. 'c:' .. id)
    if now_known and now_known.t then return granted(now_known) end
  end
  if not found then return {'more'} end
  local rank = call('ZRANK', P .. 'q:' .. lock, id)
  if not rank then return {'gone'} end
  if rank == 0 and found.told and found.told ~= '' and not tell_more_holders(found.told) then return {'more'} end
  return waiting(found, rank)
end

-- The number of permits that was agreed on, nothing where the lock is not in use; and whether the claim fits in.
local function look()
  local agreed = call('HGET', P .. 'l:' .. lock, 'of')
  return agreed, not agreed or (agreed == of and contended(lock) == 0 and fits(lock, claim))
end

sweep()
budget = budget + 50  -- for what we wait for ourselves
local known, refusal = known_claim(id, session, lock)
if refusal then return refusal end
if known and known.i then call('SREM', P .. 't:' .. session, id) end
if known and known.t then return granted(known) end
if known then return ask_again() end

local agreed, free = look()
local found = not free and sweep_lock(lock)
if not free and not found then return {'more'} end
if found and found.changed then agreed, free = look() end
if agreed and agreed ~= of then return {'permits', agreed} end
if not free and not may_queue then return waiting(found, -1) end
if not agreed then call('HSET', P .. 'l:' .. lock, 'n', name, 'of', of, 'h', '0', 'x', '0', 'g', '0', 'gx', '0', 'u', '0') end
claim.k = next_number()
call('HSET', P .. 'c:' .. id, 's', session, 'l', lock, 'm', mode, 'w', wanted, 'd', delay, 'a', whole(now), 'k', claim.k,
     'b', claim.b, 'v', claim.v)
call('SADD', P .. 'o:' .. session, id)
if free then
  grant(lock, id, claim)
  return granted(claim)
end
call('ZADD', P .. 'q:' .. lock, claim.k, id)
local rank = call('ZCARD', P .. 'q:' .. lock) - 1
if rank == 0 and not tell_holders(found) then return {'more'} end
return waiting(found, rank)
