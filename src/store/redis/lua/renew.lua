-- All locks of a session with one command. Never creates.
-- ARGV: prefix, epoch, session
-- Returns its change number, or -1: it has ended

sweep()
local ends = call('ZSCORE', P .. 'ends', 's' .. ARGV[3])
if not ends or number(ends) <= now then return -1 end
local lease = number(call('HGET', P .. 's:' .. ARGV[3], 'lease'))
call('ZREM', P .. 'ends', 's' .. ARGV[3])  -- a server that is full lets a script write that has made room first
call('ZADD', P .. 'ends', now + lease, 's' .. ARGV[3])
renew_keys(ARGV[3])
return number(call('HGET', P .. 's:' .. ARGV[3], 'changes'))
