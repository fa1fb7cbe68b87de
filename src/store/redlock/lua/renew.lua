-- The claims of a session. Never creates: what is not there any more is not there.
-- ARGV: prefix, epoch, life, and of each claim: id, key, lock, lease and lock-delay together in ms, counter of its token or ''
-- Returns {'renewed', ...}, of each claim: 1 it has the lock here, 2 and was asked to let go, 0 it has it not

local answer = {'renewed'}
for i = 4, #ARGV, 5 do
  local id, key, lock, life, token = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  local record = P .. 'c:' .. id
  if call('GET', key) == id then
    call('PEXPIRE', key, life)
    local known = call('PEXPIRE', record, life) == 1
    -- A node that has voted too late for the token, or was ahead of it, remembers another one.
    if known and token ~= '' and call('HGET', record, 't') ~= token then call('HSET', record, 't', token) end
    answer[#answer + 1] = call('HGET', record, 'r') and 2 or 1
  else
    answer[#answer + 1] = 0
    if call('PEXPIRE', record, life) == 1 and call('ZSCORE', P .. 'w:' .. lock, id) then
      call('ZADD', P .. 'w:' .. lock, now + number(life), id)
      call('PEXPIRE', P .. 'w:' .. lock, whole(math.max(number(life), call('PTTL', P .. 'w:' .. lock))))
    end
  end
end
return answer
