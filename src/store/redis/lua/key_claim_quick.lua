-- The short way of a claim of `simple`, before anything else is made: the key is free, and nothing has ended that must be
-- swept. Otherwise key_claim.lua follows.

if ARGV[6] == 'simple' then
  local id, session, lock, key, lease, delay = ARGV[3], ARGV[4], ARGV[5], ARGV[7], ARGV[10], ARGV[11]
  clock = call('TIME')
  local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
  local first = call('ZRANGE', P .. 'ends', 0, 0, 'WITHSCORES')[2]
  local s = call('HMGET', P .. 's:' .. session, 'lease', 'x' .. id)
  local lives = first and tonumber(first) > now and s[1] and not s[2]
  if lives and call('EXISTS', P .. 'c:' .. id) == 0 and
     call('SET', key, id, 'NX', 'PX', string.format('%.0f', lease + delay)) then
    local counter = string.format('%.0f', call('HINCRBY', KEYS[1], 'counter', 1))
    call('HSET', P .. 'c:' .. id, 's', session, 'l', lock, 'z', 'simple', 'key', key, 'y', lease, 'n', ARGV[14],
         'a', string.format('%.0f', now), 't', counter, 'e', epoch)
    if delay ~= '0' or ARGV[13] ~= '' then call('HSET', P .. 'c:' .. id, 'd', delay, 'b', ARGV[13]) end
    call('SADD', P .. 'z:' .. session, id)
    return {'granted', epoch, counter, 0, ''}
  end
end

