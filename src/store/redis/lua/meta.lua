-- Which store this is, and which life of it. Before any grant, on every new connection.
-- KEYS[1]  <prefix>meta
-- ARGV: run id of the server, the store id to use where none is found, raise (1: begin another life in any case), the epoch known so far
-- Whoever begins another life announces it on <prefix>epoch: holders then look whether the store still knows them.
-- Returns {epoch, store id}, or {'layout', its layout} for one that a newer pawl has made

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'layout', 'epoch', 'run', 'store')
if found[1] and tonumber(found[1]) > 1 then return {'layout', found[1]} end
local epoch, store = found[2], found[4]
if not store then store = ARGV[2] end
-- A smaller epoch than the client knows: the data was rolled back, and its counter with it.
if not epoch or found[3] ~= ARGV[1] or ARGV[3] == '1' or tonumber(epoch) < tonumber(ARGV[4]) then
  epoch = string.format('%.0f', math.max(tonumber(epoch or '0') + 1, tonumber(ARGV[4]) + 1, now))
  redis.call('HSET', KEYS[1], 'layout', '1', 'epoch', epoch, 'run', ARGV[1], 'store', store)
  redis.pcall('PUBLISH', string.sub(KEYS[1], 1, -5) .. 'epoch', epoch)  -- a hint: who may not publish begins it all the same
end
return {epoch, store}
