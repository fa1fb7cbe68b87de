-- For people: who has locks, and who waits.
-- ARGV: prefix, epoch, life, and of each lock: lock, key
-- Returns {'seen', ...}, of each lock: {owner or '', ms left, record, {waiter, record, ...}}; a record is
--         {session, host, pid, label, name, age ms, epoch, counter, asked to let go, ms left}, or {} for a foreign client

local function record_of(id)
  local c = call('HMGET', P .. 'c:' .. id, 's', 'h', 'i', 'b', 'n', 'a', 'e', 't', 'r')
  if not c[1] then return {} end
  return {c[1], c[2] or '', c[3] or '0', c[4] or '', c[5] or '', whole(now - number(c[6])), c[7] or '0', c[8] or '0',
          c[9] or '0', whole(call('PTTL', P .. 'c:' .. id))}
end

local answer = {'seen'}
for i = 4, #ARGV, 2 do
  local lock, key = ARGV[i], ARGV[i + 1]
  local owner = call('GET', key)
  local waiters = {}
  call('ZREMRANGEBYSCORE', P .. 'w:' .. lock, '-inf', now)
  for _, id in ipairs(call('ZRANGE', P .. 'w:' .. lock, 0, 499)) do
    local record = record_of(id)
    if record[1] and id ~= owner then
      waiters[#waiters + 1] = id
      waiters[#waiters + 1] = record
    end
  end
  answer[#answer + 1] = {owner or '', whole(call('PTTL', key)), owner and record_of(owner) or {}, waiters}
end
return answer
