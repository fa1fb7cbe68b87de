-- The claims of a session. Never creates: what is not there any more is not there.
-- ARGV: prefix, epoch, life, and of each claim: id, key, lock, lease and lock-delay together in ms
-- Returns {'renewed', ...}, of each claim: 1 it has the lock here, 2 and was asked to let go, 0 it has it not

local answer = {'renewed'}
for i = 4, #ARGV, 4 do
  local id, key, lock, life = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local record = P .. 'c:' .. id
  if call('GET', key) == id then
    call('PEXPIRE', key, life)
    call('PEXPIRE', record, life)
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
