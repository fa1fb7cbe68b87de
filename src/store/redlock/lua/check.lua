-- Does a grant with this token stand here?
-- ARGV: prefix, epoch, life, key, epoch and counter of the token
-- Returns 1 or 0

local owner = call('GET', ARGV[4])
if not owner then return 0 end
local c = call('HMGET', P .. 'c:' .. owner, 'e', 't')
return c[1] == ARGV[5] and c[2] == ARGV[6] and 1 or 0
