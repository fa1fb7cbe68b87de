-- One node's vote for a try: SET key claim NX PX, and the counter rises. Repeating it makes the counter rise again.
-- ARGV: prefix, epoch, life, claim, key, lock, bucket, floor of the counter, try, lease ms, lock-delay ms, may wait (1 or 0),
--       session, host, pid, label, name, counter of its token, for a node that is topped up; else ''
-- Returns {'taken', counter}, {'busy', holder, left ms or -1, its client's host, pid, label; or no more for a foreign one} or
--         {'gone'}: it was withdrawn, or is behind a later try

local id, key, lock, bucket = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local life = number(ARGV[10]) + number(ARGV[11])

local function note()
  call('HSET', P .. 'c:' .. id, 'k', ARGV[9], 'l', lock, 's', ARGV[13], 'h', ARGV[14], 'i', ARGV[15], 'b', ARGV[16], 'n', ARGV[17])
  call('HSETNX', P .. 'c:' .. id, 'a', whole(now))
  call('PEXPIRE', P .. 'c:' .. id, whole(life))
end

local late = number(call('GET', P .. 'x:' .. id)) >= number(ARGV[9])
if late or number(call('HGET', P .. 'c:' .. id, 'k')) > number(ARGV[9]) then return {'gone'} end
local owner = call('GET', key)
if owner and owner ~= id then
  local left = call('PTTL', key)
  if ARGV[12] == '1' then
    note()
    call('ZADD', P .. 'w:' .. lock, now + life, id)
    call('PEXPIRE', P .. 'w:' .. lock, whole(math.max(life, call('PTTL', P .. 'w:' .. lock))))
  end
  local c = call('HMGET', P .. 'c:' .. owner, 'h', 'i', 'b')
  if not c[1] then return {'busy', owner, whole(left)} end
  return {'busy', owner, whole(left), c[1], c[2] or '0', c[3] or ''}
end
local counter = whole(math.max(number(call('HGET', P .. 'counters', bucket)), number(ARGV[8])) + 1)
call('HSET', P .. 'counters', bucket, counter)
if life > number(call('HGET', KEYS[1], 'longest')) then call('HSET', KEYS[1], 'longest', whole(life)) end
call('SET', key, id, 'PX', whole(life))
note()
call('HSET', P .. 'c:' .. id, 'e', ARGV[2], 't', ARGV[18] == '' and counter or ARGV[18], 'a', whole(now))
call('ZREM', P .. 'w:' .. lock, id)
return {'taken', counter}
