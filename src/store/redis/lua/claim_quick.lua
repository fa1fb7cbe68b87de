-- The short way of a claim, before anything else is made: nobody uses the mutex, and nothing has ended that must be swept.
-- Otherwise claim.lua follows.

if string.sub(ARGV[5], 1, 6) == 'mutex:' then
  local id, session, lock = ARGV[3], ARGV[4], ARGV[5]
  clock = call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local first = call('ZRANGE', P .. 'ends', 0, 0, 'WITHSCORES')[2]
  local s = call('HMGET', P .. 's:' .. session, 'lease', 'x' .. id)
  local lives = first and tonumber(first) > now and s[1] and not s[2]
  if lives and call('EXISTS', P .. 'l:' .. lock, P .. 'c:' .. id) == 0 then
    local counter = string.format('%.0f', call('HINCRBY', KEYS[1], 'counter', 1))
    call('HSET', P .. 'c:' .. id, 's', session, 'l', lock, 'm', 'x', 'a', string.format('%.0f', now), 't', counter, 'e', epoch)
    if ARGV[11] ~= '0' or ARGV[13] ~= '' then call('HSET', P .. 'c:' .. id, 'd', ARGV[11], 'b', ARGV[13]) end
    call('SADD', P .. 'o:' .. session, id)
    call('HSET', P .. 'l:' .. lock, 'n', ARGV[6], 'of', '0', 'h', '1', 'x', '1')
    call('ZADD', P .. 'h:' .. lock, counter, id)
    return {'granted', epoch, counter, 0, ''}
  end
end

