-- Asks a claim to let go of its lock: its next renewal tells it.
-- ARGV: prefix, epoch, life, claim, key
-- Returns 1, or 0: it has not got the lock here

if call('GET', ARGV[5]) ~= ARGV[4] then return 0 end
call('HSET', P .. 'c:' .. ARGV[4], 'r', '1')
return 1
