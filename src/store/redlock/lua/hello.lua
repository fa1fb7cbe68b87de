-- What a node says of itself, to a client that has just connected.
-- KEYS[1] <prefix>meta
-- ARGV: prefix, the life of the server, a nonce for a node that has none in this life
-- Returns {nonce, epoch or 0, it became a member of it in this life (1 or 0), was it ever used (1 or 0), store or ''}, or
--         {'layout', its layout} for one that a newer pawl has made

local m = redis.call('HMGET', KEYS[1], 'layout', 'nonce', 'nlife', 'epoch', 'life', 'longest', 'store')
if m[1] and tonumber(m[1]) > 1 then return {'layout', m[1]} end
local nonce = m[2]
if not nonce or m[3] ~= ARGV[2] then
  nonce = ARGV[3]
  redis.call('HSET', KEYS[1], 'layout', '1', 'nonce', nonce, 'nlife', ARGV[2])
end
return {nonce, m[4] or '0', m[5] == ARGV[2] and '1' or '0', m[6] and '1' or '0', m[7] or ''}
