-- Makes a node a member: of a new epoch, of one that it lags behind, or, with the counters of the others, of the one that it
-- has forgotten. Refused by a node that was wiped since it was met.
-- KEYS[1] <prefix>meta
-- ARGV: prefix, life, nonce, epoch, store, rejoins (1 or 0), longest ms, and of each bucket: bucket, counter
-- Returns 1, or 0: refused

local m = redis.call('HMGET', KEYS[1], 'nonce', 'nlife', 'epoch', 'longest')
if m[1] ~= ARGV[3] or m[2] ~= ARGV[2] then return 0 end
local before, given = tonumber(m[3] or '0'), tonumber(ARGV[4])
if given < before or (given == before and ARGV[6] == '0') then return 0 end
for i = 8, #ARGV, 2 do
  local counter = tonumber(redis.call('HGET', ARGV[1] .. 'counters', ARGV[i]) or '0')
  if tonumber(ARGV[i + 1]) > counter then redis.call('HSET', ARGV[1] .. 'counters', ARGV[i], ARGV[i + 1]) end
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[4], 'life', ARGV[2], 'store', ARGV[5])
if tonumber(ARGV[7]) > tonumber(m[4] or '0') then redis.call('HSET', KEYS[1], 'longest', ARGV[7]) end
return 1
