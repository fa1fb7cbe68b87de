-- Where every script begins that only a voter may answer: a node that lost its data, or lags behind, has forgotten locks.
--
-- KEYS[1]  <prefix>meta
-- ARGV[1]  prefix
-- ARGV[2]  the epoch that the client goes by
-- ARGV[3]  the life of the server that the client is connected to; what follows is the script's own
-- Returns {'stranger'} where the node is no member of that epoch in this life

local P = ARGV[1]
local call = redis.call
local meta = call('HMGET', KEYS[1], 'epoch', 'life')
if meta[1] ~= ARGV[2] or meta[2] ~= ARGV[3] then return {'stranger'} end
