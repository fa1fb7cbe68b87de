-- From exclusive to shared, with the same token; readers who wait come in.
-- ARGV: prefix, epoch, claim, session, lock
-- Returns 1, or 0 unless the claim holds its lock

local id, lock = ARGV[3], ARGV[5]
local claim = find(id, ARGV[4], lock)
if not claim or not claim.t or string.sub(lock, 1, 3) ~= 'rw:' then return 0 end
if claim.m == 's' then return 1 end
call('HSET', P .. 'c:' .. id, 'm', 's')
call('HINCRBY', P .. 'l:' .. lock, 'x', -1)
settle(lock)
settle_all()
return 1
