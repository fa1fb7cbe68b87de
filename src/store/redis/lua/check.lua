-- Does a grant with this token stand?
-- ARGV: prefix, epoch, lock, epoch, counter, whose tickets to look at: -inf, or what was returned
-- Returns 1, 0, or from where on to look at the rest

local holders = call('ZRANGEBYSCORE', P .. 'h:' .. ARGV[3], ARGV[6], '+inf', 'WITHSCORES', 'LIMIT', 0, 500)
for i = 1, #holders, 2 do
  local c = call('HMGET', P .. 'c:' .. holders[i], 'e', 't', 's')
  if c[1] == ARGV[4] and c[2] == ARGV[5] and c[3] and lives(c[3]) then return 1 end
end
if #holders < 1000 then return 0 end
return '(' .. holders[#holders]
