-- All locks of a session with one command; keys of `simple` and `redisson`, a hundred at a time. Never creates.
-- ARGV: prefix, epoch, session, where to go on with the keys: 0, or what was returned
-- Returns {} when it has ended; or {where to go on or 0, change number, claim...}: those that were sent a letter and have not
-- asked since; a 'many' in their place: there are more than a thousand

sweep()
local session, cursor = ARGV[3], ARGV[4]
if not lives(session) then return {} end
if cursor == '0' then
  local lease = number(call('HGET', P .. 's:' .. session, 'lease'))
  call('ZREM', P .. 'ends', 's' .. session)  -- a server that is full lets a script write that has made room first
  call('ZADD', P .. 'ends', now + lease, 's' .. session)
end
local answer = {renew_keys(session, cursor), '0'}
local told = call('SCARD', P .. 't:' .. session)
if told == 0 then return answer end
answer[2] = call('HGET', KEYS[1], 'counter')
if told > 1000 then
  answer[3] = 'many'
  return answer
end
for _, id in ipairs(call('SMEMBERS', P .. 't:' .. session)) do answer[#answer + 1] = id end
return answer
