-- Asks the holder to let go, or takes the claim away.
-- ARGV: prefix, epoch, claim, lock, now (1 or 0)
-- Returns 1, or 0: no such claim

local id, lock = ARGV[3], ARGV[4]
local claim = read(P .. 'c:' .. id)
if not claim or claim.l ~= lock then return 0 end
if ARGV[5] == '0' then
  if not claim.t then return 0 end
  call('HSET', P .. 'c:' .. id, 'r', '1')
  tell(claim, id, 'asked')
  return 1
end
-- Its notice may be lost, and then its owner claims again: that must not put it back into the queue.
bury(claim.s, id)
tell(claim, id, 'gone')
leave(id, claim, nil)
settle_all()
return 1
