-- What it still holds counts as failed. Marked in one go as ended; what it leaves behind is swept bit by bit.
-- ARGV: prefix, epoch, session
-- Returns 1, or 0: there is more to sweep, ask again

local session = ARGV[3]
local ends = end_of(session)
if not ends and call('EXISTS', P .. 's:' .. session) == 0 then return 1 end
local at = ends and math.min(now, number(ends)) or now
call('ZREM', P .. 'ends', 's' .. session)  -- a server that is full lets a script write that has made room first
call('ZADD', P .. 'ends', at, 's' .. session)
local done = end_session(session, failed_at(at))
settle_all()
return done and 1 or 0
