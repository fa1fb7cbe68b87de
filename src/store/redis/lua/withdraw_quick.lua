-- The short ways of a release, before anything else is made: of a mutex that stays with nobody, or goes to one who waits and
-- lives; of a key for which none of us waits. Otherwise withdraw.lua follows.

if ARGV[6] == '0' and ARGV[7] == '0' then
  local id, session, lock = ARGV[3], ARGV[4], ARGV[5]
  local c = call('HMGET', P .. 'c:' .. id, 's', 'l', 't', 'z', 'key', 'i')
  local ours = c[1] == session and c[2] == lock and c[3]
  if ours and not c[4] and string.sub(lock, 1, 6) == 'mutex:' then
    local l = call('HMGET', P .. 'l:' .. lock, 'h', 'g')
    local alone = l[1] == '1' and (l[2] or '0') == '0'
    if alone and call('EXISTS', P .. 'q:' .. lock) == 0 then
      call('DEL', P .. 'c:' .. id, P .. 'l:' .. lock, P .. 'h:' .. lock)
      call('SREM', P .. 'o:' .. session, id)
      if c[6] then call('SREM', P .. 't:' .. session, id) end
      return 1
    end
    local queue = alone and call('ZRANGE', P .. 'q:' .. lock, 0, 1) or {}
    local next = queue[1]
    local n = next and call('HMGET', P .. 'c:' .. next, 's', 'k') or {}
    local ends = n[1] and call('ZSCORE', P .. 'ends', 's' .. n[1])
    clock = call('TIME')
    local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
    if ends and tonumber(ends) > now then
      call('DEL', P .. 'c:' .. id, P .. 'h:' .. lock)  -- first: a server that is full lets a script write that has made room
      local counter = string.format('%.0f', call('HINCRBY', KEYS[1], 'counter', 1))
      call('HSET', P .. 'c:' .. next, 't', counter, 'e', epoch, 'a', string.format('%.0f', now), 'i', '1')
      call('ZREM', P .. 'q:' .. lock, next)
      call('ZADD', P .. 'h:' .. lock, n[2], next)
      call('SREM', P .. 'o:' .. session, id)
      if c[6] then call('SREM', P .. 't:' .. session, id) end
      call('SADD', P .. 't:' .. n[1], next)
      local word = next .. ' granted ' .. epoch .. ' ' .. counter .. (queue[2] and ' 1' or ' 0')
      local s = call('HMGET', P .. 's:' .. n[1], 'mail', 'secret')
      local secret = s[2] or ''
      redis.pcall('PUBLISH', P .. 'mail:' .. (s[1] or ''), redis.sha1hex(secret .. word .. secret) .. ' ' .. word)
      return 1
    end
  end
  if ours and c[4] == 'simple' and redis.pcall('GET', c[5]) == id and call('EXISTS', P .. 'w:' .. lock) == 0 then
    call('DEL', c[5], P .. 'c:' .. id)
    call('SREM', P .. 'z:' .. session, id)
    if c[6] then call('SREM', P .. 't:' .. session, id) end
    return 1
  end
end

