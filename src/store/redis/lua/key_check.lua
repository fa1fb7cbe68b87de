-- Does a grant with this token stand?
-- ARGV: prefix, epoch, scheme, key, epoch, counter

sweep()
local scheme, key = ARGV[3], ARGV[4]
local id = claim_of(scheme, key_owner(scheme, key))
local c = call('HMGET', P .. 'c:' .. id, 'e', 't', 's')
return (c[3] and lives(c[3]) and c[1] == ARGV[5] and c[2] == ARGV[6]) and 1 or 0
