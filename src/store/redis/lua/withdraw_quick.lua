-- The short way of a release, before anything else is made: nobody else holds the lock or waits for it, and nothing stays.
-- Otherwise withdraw.lua follows.

if ARGV[6] == '0' and ARGV[7] == '0' then
  local id, session, lock = ARGV[3], ARGV[4], ARGV[5]
  local c = call('HMGET', P .. 'c:' .. id, 's', 'l', 't', 'z', 'key')
  local ours = c[1] == session and c[2] == lock and c[3]
  if ours and not c[4] and string.sub(lock, 1, 6) == 'mutex:' then
    local l = call('HMGET', P .. 'l:' .. lock, 'h', 'g')
    if l[1] == '1' and (l[2] or '0') == '0' and call('EXISTS', P .. 'q:' .. lock) == 0 then
      call('DEL', P .. 'c:' .. id, P .. 'l:' .. lock, P .. 'h:' .. lock)
      call('SREM', P .. 'o:' .. session, id)
      return 1
    end
  end
  if ours and c[4] == 'simple' and redis.pcall('GET', c[5]) == id and call('EXISTS', P .. 'w:' .. lock) == 0 then
    call('DEL', c[5], P .. 'c:' .. id)
    call('SREM', P .. 'z:' .. session, id)
    return 1
  end
end

