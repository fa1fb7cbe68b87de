-- Who has led an election lately.
-- ARGV: prefix, epoch, lock
-- Returns {vacant (1 or 0), now ms, entry...}, oldest first

sweep_lock(ARGV[3])
local list = call('LRANGE', P .. 'n:' .. ARGV[3], 0, -1)
table.insert(list, 1, whole(now))
table.insert(list, 1, call('EXISTS', P .. 'h:' .. ARGV[3]) == 1 and '0' or '1')
return list
