-- Releases, or leaves the queue. Compares id, session and lock; nothing else is touched.
-- ARGV: prefix, epoch, claim, session, lock, failed (1 or 0), may still arrive (1 or 0)
-- Returns 1: done, 0: it was not there, or somebody else has the key

local id, session, lock = ARGV[3], ARGV[4], ARGV[5]
call('SREM', P .. 'o:' .. session, id)  -- a server that is full lets a script write that has made room first
call('SREM', P .. 't:' .. session, id)
if ARGV[7] == '1' then bury(session, id) end
local claim = find(id, session, lock)
local left = claim and leave(id, claim, ARGV[6] == '1' and from_now or nil)
settle_all()
sweep()
return left and 1 or 0
