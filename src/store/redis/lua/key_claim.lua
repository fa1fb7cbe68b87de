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

local function holder()
  if claim.z == 'simple' then return redis.pcall('GET', claim.key) end
  return id_of_field(claim.key)
end

-- A client of another library tells nobody of ours when it lets go.
local function waiting()
  local left = call('PTTL', claim.key)
  local wait = number(claim.y) / 3
  if left >= 0 then wait = math.min(wait, left + 1) end
  local who = holder()
  local c = type(who) == 'string' and call('HMGET', P .. 'c:' .. who, 's', 'b') or {}
  if not c[1] then return {'waiting', whole(math.max(1, math.floor(math.min(wait, 100)))), -1, 'foreign'} end
  local s = call('HMGET', P .. 's:' .. c[1], 'host', 'pid', 'label')
  return {'waiting', whole(math.max(1, math.floor(wait))), -1, s[1] or '', s[2] or '0', label_of({b = c[2]}, s[3])}
end

local function take()
  local lease = key_lease(claim)
  if claim.z == 'simple' then return call('SET', claim.key, id, 'NX', 'PX', lease) end
  if call('EXISTS', claim.key) == 1 then return false end
  call('HSET', claim.key, claim.f, '1')
  call('PEXPIRE', claim.key, lease)
  return true
end

sweep()
local known, refusal = known_claim(id, session, lock)
if refusal then return refusal end
if known and known.t then return key_is_ours(known, id) and granted(known) or {'gone'} end
local taken = take()
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
