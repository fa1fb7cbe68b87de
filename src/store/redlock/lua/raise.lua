-- The write-back: the counter rises to what the highest node said, strictly, and only while the claim has the lock here.
-- ARGV: prefix, epoch, life, claim, key, bucket, target
-- Returns {'risen'}, {'not', counter} or {'lost'}: the lock is not the claim's

if call('GET', ARGV[5]) ~= ARGV[4] then return {'lost'} end
local counter = number(call('HGET', P .. 'counters', ARGV[6]))
if counter >= number(ARGV[7]) then return {'not', whole(counter)} end
call('HSET', P .. 'counters', ARGV[6], ARGV[7])
if call('EXISTS', P .. 'c:' .. ARGV[4]) == 1 then call('HSET', P .. 'c:' .. ARGV[4], 't', ARGV[7]) end
return {'risen'}
