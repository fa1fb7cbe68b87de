-- Some of the claims of a session: for a client to see which of them it knows.
-- ARGV: prefix, epoch, session, which of them (o: or z:), where to go on: 0, or what was returned
-- Returns {where to go on or 0, claim, lock, claim, lock...}

local some = call('SSCAN', P .. ARGV[4] .. ARGV[3], ARGV[5], 'COUNT', 100)
local answer = {some[1]}
for _, id in ipairs(some[2]) do
  local lock = call('HGET', P .. 'c:' .. id, 'l')
  if lock then
    answer[#answer + 1] = id
    answer[#answer + 1] = lock
  end
end
return answer
