-- One wish to hold a lock; repeating it changes nothing.
-- ARGV: prefix, epoch, claim, session, lock, name, mode (x or s), permits wanted, permits that there are, lease ms,
--       lock-delay ms, may queue (1 or 0), label, value
-- Returns {'granted', epoch, counter, contended, slots} or {'waiting', look again in ms, ahead or -1, host, pid, label}
--         or {'lost'} (the session), {'gone'} (the claim), {'other'} (another lock's claim), {'permits', agreed number}

local id, session, lock, name, mode = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local wanted, of, lease, delay, may_queue = ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12] == '1'

local function granted(claim)
  return {'granted', claim.e, claim.t, contended(lock), claim.p or ''}
end

-- A waiter comes back when something can have happened that nobody tells it: a session may have ended.
local function waiting(ahead)
  local first = call('ZRANGE', P .. 'ends', 0, 0, 'WITHSCORES')[2]
  local wait = number(lease) / 3
  if first then wait = math.min(wait, number(first) - now + 1) end
  local answer = {'waiting', whole(math.max(1, math.floor(wait))), ahead}
  local holder = call('ZRANGE', P .. 'h:' .. lock, 0, 0)[1]
  if not holder then return answer end
  local c = call('HMGET', P .. 'c:' .. holder, 's', 'b')
  local s = call('HMGET', P .. 's:' .. (c[1] or ''), 'host', 'pid', 'label')
  answer[4], answer[5], answer[6] = s[1] or '', s[2] or '0', label_of({b = c[2]}, s[3])
  return answer
end

local function place()
  local holders = call('ZCARD', P .. 'h:' .. lock)
  return holders + number(call('ZRANK', P .. 'q:' .. lock, id))
end

if not sweep() then sweep_lock(lock) end
local known, refusal = known_claim(id, session, lock)
if refusal then return refusal end
if known and known.t then return granted(known) end
if known then return waiting(place()) end

local agreed = call('HGET', P .. 'l:' .. lock, 'of')
if agreed and agreed ~= of then return {'permits', agreed} end
local claim = {s = session, l = lock, m = mode, w = wanted, d = delay, b = ARGV[13], v = ARGV[14]}
local free = not agreed or (contended(lock) == 0 and fits(lock, claim))
if not free and not may_queue then return waiting(-1) end
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
if call('ZCARD', P .. 'q:' .. lock) == 1 then
  for _, holder in ipairs(call('ZRANGE', P .. 'h:' .. lock, 0, -1)) do
    local held = read(P .. 'c:' .. holder)
    if held then tell(held, holder, 'contended', true) end
  end
end
return waiting(place())
