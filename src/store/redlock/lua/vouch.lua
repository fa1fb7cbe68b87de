-- A member vouches for a node that wants to rejoin: since when it knows that it was lost, and what it must know.
-- ARGV: prefix, epoch, life, nonce of the other node
-- Returns {'vouched', ms since then, longest ms, bucket, counter...}

local longest = number(call('HGET', KEYS[1], 'longest'))
local known = P .. 'absent:' .. ARGV[4]
call('SET', known, whole(now), 'NX', 'PX', whole(2 * longest + 3600000))
local since = number(call('GET', known))
local answer = {'vouched', whole(math.max(now - since, 0)), whole(longest)}
for _, word in ipairs(call('HGETALL', P .. 'counters')) do answer[#answer + 1] = word end
return answer
