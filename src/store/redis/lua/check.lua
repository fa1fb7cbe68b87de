-- Does a grant with this token stand?
-- ARGV: prefix, epoch, lock, epoch, counter

sweep()
for _, id in ipairs(call('ZRANGE', P .. 'h:' .. ARGV[3], 0, -1)) do
  local c = call('HMGET', P .. 'c:' .. id, 'e', 't', 's')
  if c[3] and lives(c[3]) and c[1] == ARGV[4] and c[2] == ARGV[5] then return 1 end
end
return 0
