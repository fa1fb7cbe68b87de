-- Where every script begins.
--
-- KEYS[1]  <prefix>meta, so that a cluster finds the slot; none: the script is only to be known
-- ARGV[1]  prefix
-- ARGV[2]  the epoch that the client goes by; what follows is the script's own
-- Returns {'stale'} where the store has begun another life since, or has lost its memory

if #KEYS == 0 then return end
local P = ARGV[1]
local call = redis.call
local clock  -- TIME, once a script has asked for it
local epoch = call('HGET', KEYS[1], 'epoch')
if epoch ~= ARGV[2] then return {'stale'} end

