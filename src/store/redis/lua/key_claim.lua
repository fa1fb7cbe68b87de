-- One wish to hold a lock whose lease sits on its key; repeating it changes nothing.
-- `simple`:   SET key claim NX PX lease, as redis-py, redsync and others do it
-- `redisson`: a hash with one field, uuid:thread, and the count in it, as Redisson's RLock does it
-- ARGV: prefix, epoch, claim, session, lock, scheme, key, field, channel, lease ms, lock-delay ms, may queue (1 or 0),
--       label, name
-- Returns as claim.lua, and {'waiting', look again in ms, -1, 'foreign'} behind a client of another library

local id, session, lock = ARGV[3], ARGV[4], ARGV[5]
local claim = {s = session, l = lock, z = ARGV[6], key = ARGV[7], f = ARGV[8], j = ARGV[9], y = ARGV[10], d = ARGV[11],
               b = ARGV[13]}

local function granted(c) return {'granted', c.e, c.t, 0, ''} end

-- A client of another library tells nobody of ours when it lets go.
local function waiting()
  local left = call('PTTL', claim.key)
  local wait = number(claim.y) / 3
  if left >= 0 then wait = math.min(wait, left + 1) end
  local owner = key_owner(claim.z, claim.key)
  local c = call('HMGET', P .. 'c:' .. claim_of(claim.z, owner), 's', 'b')
  if not c[1] and not is_delay(owner) then wait = math.min(wait, 100) end
  local answer = {'waiting', whole(math.max(1, math.floor(wait))), -1}
  if c[1] then
    local s = call('HMGET', P .. 's:' .. c[1], 'host', 'pid', 'label')
    answer[4], answer[5], answer[6] = s[1] or '', s[2] or '0', label_of({b = c[2]}, s[3])
  elseif is_delay(owner) then
    answer[4], answer[5] = 'shut', whole(left)
  else
    answer[4] = 'foreign'
  end
  return answer
end

-- True, or the server's error: it may not be done.
local function set_hash()
  if call('EXISTS', claim.key) == 1 then return false end
  call('HSET', claim.key, claim.f, '1')
  local timed = redis.pcall('PEXPIRE', claim.key, key_lease(claim))
  if timed == 1 then return true end
  call('DEL', claim.key)  -- never a key without an end
  return timed
end

local function take()
  if claim.z == 'simple' then return call('SET', claim.key, id, 'NX', 'PX', key_lease(claim)) end
  return set_hash()
end

-- The sweep may not have come to its holder yet.
local function take_from_the_dead()
  local owner = claim_of(claim.z, key_owner(claim.z, claim.key))
  local whose = call('HGET', P .. 'c:' .. owner, 's')
  if not whose or lives(whose) then return false end
  leave(owner, read(P .. 'c:' .. owner), failed_at(end_of(whose)))
  return take()
end

sweep()
local known, refusal = known_claim(id, session, lock)
if refusal then return refusal end
if known and known.i then call('SREM', P .. 't:' .. session, id) end
if known and known.t then return key_is_ours(known, id) and granted(known) or {'gone'} end
local taken = take() or take_from_the_dead()
if type(taken) == 'table' and taken.err then return taken end
if not taken and ARGV[12] == '0' then return waiting() end
if not known then
  call('HSET', P .. 'c:' .. id, 's', session, 'l', lock, 'z', claim.z, 'key', claim.key, 'f', claim.f, 'j', claim.j,
       'y', claim.y, 'd', claim.d, 'b', claim.b, 'n', ARGV[14], 'a', whole(now))
end
if taken then
  claim.t, claim.e = next_number(), epoch
  call('HSET', P .. 'c:' .. id, 't', claim.t, 'e', epoch, 'a', whole(now))
  call('SREM', P .. 'w:' .. lock, id)
  call('SREM', P .. 'o:' .. session, id)
  call('SADD', P .. 'z:' .. session, id)
  return granted(claim)
end
call('SADD', P .. 'w:' .. lock, id)
call('SADD', P .. 'o:' .. session, id)
return waiting()
