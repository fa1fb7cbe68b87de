-- ARGV: prefix, epoch, claim, session, lock, label

if find(ARGV[3], ARGV[4], ARGV[5]) then call('HSET', P .. 'c:' .. ARGV[3], 'b', ARGV[6]) end
return 1
