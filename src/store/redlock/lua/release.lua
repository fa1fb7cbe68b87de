-- Takes a claim's vote back: a release, or the undo of a try. Compares the claim and the try; nothing is deleted by name
-- alone. An undo may arrive late, when a later try of the same claim has taken the lock: that stays. Any node does it, voter
-- or not.
-- KEYS[1] <prefix>meta
-- ARGV: prefix, claim, key, lock, lock-delay ms from now on (0: none), of tries up to this number, how long a tombstone for
--       them stays in ms (0: none), goes on waiting (1 or 0)
-- Returns 1: it was there, having the lock or waiting; or 0

local id, key, lock = ARGV[2], ARGV[3], ARGV[4]
local c = call('HMGET', P .. 'c:' .. id, 'l', 'k')
if c[1] and c[1] ~= lock then return 0 end
local function bury()
  if number(ARGV[7]) <= 0 or number(ARGV[6]) <= number(call('GET', P .. 'x:' .. id)) then return end
  call('SET', P .. 'x:' .. id, ARGV[6], 'PX', ARGV[7])
end
if number(c[2]) > number(ARGV[6]) then
  bury()
  return 0
end
local there = c[1] and 1 or 0
if call('GET', key) == id then
  there = 1
  if ARGV[5] == '0' then
    call('DEL', key)
  else
    call('SET', key, 'lock-delay of ' .. id, 'PX', ARGV[5])
  end
elseif call('HEXISTS', P .. 'c:' .. id, 't') == 1 then
  there = 0 -- it had the lock, which was deleted since, or is another client's
end
bury()
if ARGV[8] == '1' then
  local left = call('PTTL', P .. 'c:' .. id)
  if left > 0 then
    call('HDEL', P .. 'c:' .. id, 'e', 't')
    call('ZADD', P .. 'w:' .. lock, now + left, id)
    call('PEXPIRE', P .. 'w:' .. lock, whole(math.max(left, call('PTTL', P .. 'w:' .. lock))))
  end
else
  call('DEL', P .. 'c:' .. id)
  call('ZREM', P .. 'w:' .. lock, id)
end
return there
