-- What all scripts share: put in front of each of them, behind begin.lua.
--
-- | key            | type   | holds                                                                       |
-- |----------------|--------|-----------------------------------------------------------------------------|
-- | meta           | hash   | layout, epoch, run (of the server), store, counter (tokens and tickets)      |
-- | ends           | zset   | what ends next, by milliseconds: s<session>, g<lock> (a ghost)              |
-- | s:<session>    | hash   | lease, mail (where its client listens), host, pid, label, changes; x<claim>: |
-- |                |        | was withdrawn or taken away, and may still arrive                           |
-- | o:<session>    | set    | its claims, but for those in z                                              |
-- | z:<session>    | set    | its claims of `simple` and `redisson` that hold                             |
-- | c:<claim>      | hash   | s session, l lock, m mode, w permits wanted, d lock-delay, a since (ms),     |
-- |                |        | k ticket, b label, v value; while it holds: t counter, e epoch, p slots;     |
-- |                |        | r: it was asked to let go                                                   |
-- |                |        | of `simple` and `redisson`: n name, z scheme, y lease, key, f field,        |
-- |                |        | j channel. What is empty or 0 may be missing                                |
-- | w:<lock>       | set    | waiters of `simple` and `redisson`, in no order                             |
-- | l:<lock>       | hash   | n name, h holders, x exclusive ones, g ghosts, gx exclusive ones, of        |
-- |                |        | permits that there are, u permits in use                                    |
-- | h:<lock>       | zset   | holders by ticket                                                           |
-- | q:<lock>       | zset   | waiters by ticket                                                           |
-- | g:<lock>       | zset   | ghosts: holders that failed keep their place until then                     |
-- | b:<lock>       | bitmap | permits in use                                                              |
-- | n:<lock>       | list   | who has led an election, the last 32: "epoch counter since till pid n m\n",  |
-- |                |        | host (n bytes), label (m bytes), value; till is 0 while it leads            |

local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function number(text) return tonumber(text) or 0 end
local function whole(value) return string.format('%.0f', value) end
local function next_number() return whole(call('HINCRBY', KEYS[1], 'counter', 1)) end

local function read(key)
  local flat = call('HGETALL', key)
  if #flat == 0 then return nil end
  local record = {}
  for i = 1, #flat, 2 do record[flat[i]] = flat[i + 1] end
  return record
end

-- It must not be granted when it arrives late.
local function bury(session, id)
  if call('EXISTS', P .. 's:' .. session) == 1 then call('HSET', P .. 's:' .. session, 'x' .. id, '1') end
end

-- Its own label, or its client's.
local function label_of(claim, session_label)
  if claim.b and claim.b ~= '' then return claim.b end
  return session_label or ''
end

-- To where the claim's client listens. A holder has nothing to ask but whether there is news: it is counted for it.
local function tell(claim, id, what, counted)
  local mail = call('HGET', P .. 's:' .. claim.s, 'mail')
  if not mail then return end
  if counted then call('HINCRBY', P .. 's:' .. claim.s, 'changes', 1) end
  redis.pcall('PUBLISH', P .. 'mail:' .. mail, id .. ' ' .. what)  -- a hint: it must not break off what is half done
end

local function split(slots)
  local list = {}
  for slot in string.gmatch(slots or '', '%d+') do list[#list + 1] = slot end
  return list
end

local function free_slots(lock, slots)
  local list = split(slots)
  for _, slot in ipairs(list) do call('SETBIT', P .. 'b:' .. lock, slot, 0) end
  if #list > 0 then call('HINCRBY', P .. 'l:' .. lock, 'u', -#list) end
end

local function take_slots(lock, wanted)
  local list = {}
  for i = 1, wanted do
    local slot = call('BITPOS', P .. 'b:' .. lock, 0)
    call('SETBIT', P .. 'b:' .. lock, slot, 1)
    list[i] = whole(slot)
  end
  if wanted > 0 then call('HINCRBY', P .. 'l:' .. lock, 'u', wanted) end
  return table.concat(list, ',')
end

-- An exclusive claim fits beside nobody, a shared one beside shared ones, permits while there are enough left.
local function fits(lock, claim)
  local l = call('HMGET', P .. 'l:' .. lock, 'h', 'x', 'g', 'gx', 'of', 'u')
  if number(l[5]) > 0 then return number(claim.w) <= number(l[5]) - number(l[6]) end
  if claim.m == 's' then return number(l[2]) + number(l[4]) == 0 end
  return number(l[1]) + number(l[3]) == 0
end

local function is_election(lock) return string.sub(lock, 1, 9) == 'election:' end

local function chronicle_ends(lock, at)
  local last = call('LINDEX', P .. 'n:' .. lock, -1)
  if not last then return end
  local before, rest = string.match(last, '^(%d+ %d+ %d+) 0 (.*)$')
  if before then call('LSET', P .. 'n:' .. lock, -1, before .. ' ' .. whole(at) .. ' ' .. rest) end
  call('PEXPIRE', P .. 'n:' .. lock, 60000)
end

local function chronicle_begins(lock, claim)
  local s = call('HMGET', P .. 's:' .. claim.s, 'host', 'pid', 'label')
  local label = label_of(claim, s[3])
  local host = s[1] or ''
  local numbers = table.concat({claim.e, claim.t, whole(now), '0', s[2] or '0', #host, #label}, ' ')
  call('RPUSH', P .. 'n:' .. lock, numbers .. '\n' .. host .. label .. (claim.v or ''))
  call('LTRIM', P .. 'n:' .. lock, -32, -1)
  call('PERSIST', P .. 'n:' .. lock)
end

local function grant(lock, id, claim)
  claim.t = next_number()
  claim.e = epoch
  claim.p = take_slots(lock, number(claim.w))
  call('HSET', P .. 'c:' .. id, 't', claim.t, 'e', epoch, 'a', whole(now), 'p', claim.p)
  call('ZADD', P .. 'h:' .. lock, claim.k, id)
  call('HINCRBY', P .. 'l:' .. lock, 'h', 1)
  if claim.m == 'x' then call('HINCRBY', P .. 'l:' .. lock, 'x', 1) end
  if is_election(lock) then chronicle_begins(lock, claim) end
end

local function contended(lock)
  return call('EXISTS', P .. 'q:' .. lock)
end

local touched = {}  -- locks that somebody has left: settle_all() must follow
local end_session

-- Grants what has become free, and forgets a lock that nobody uses.
local function settle(lock)
  while true do
    local id = call('ZRANGE', P .. 'q:' .. lock, 0, 0)[1]
    if not id then break end
    local claim = read(P .. 'c:' .. id)
    local ends = claim and number(call('ZSCORE', P .. 'ends', 's' .. claim.s))
    if not claim then
      call('ZREM', P .. 'q:' .. lock, id)
    elseif ends <= now then
      end_session(claim.s, ends)
      call('ZREM', P .. 'q:' .. lock, id)
    elseif fits(lock, claim) then
      call('ZREM', P .. 'q:' .. lock, id)
      grant(lock, id, claim)
      if claim.p == '' then
        tell(claim, id, 'granted ' .. epoch .. ' ' .. claim.t .. ' ' .. contended(lock), false)
      else
        tell(claim, id, 'again', false)  -- a letter has no room for slots
      end
    else
      if number(call('HGET', P .. 'l:' .. lock, 'g')) > 0 then tell(claim, id, 'again', false) end
      return
    end
  end
  local l = call('HMGET', P .. 'l:' .. lock, 'h', 'g')
  if number(l[1]) + number(l[2]) == 0 then
    call('DEL', P .. 'l:' .. lock, P .. 'h:' .. lock, P .. 'q:' .. lock, P .. 'g:' .. lock, P .. 'b:' .. lock)
  end
end

local function settle_all()
  while #touched > 0 do settle(table.remove(touched)) end
end

-- `simple` and `redisson`: the lease sits on the key, in the layout of other people's clients. What is theirs is touched by
-- pcall: whoever sweeps may not be allowed to, and must get to the end.

local function key_is_ours(claim, id)
  if claim.z == 'simple' then return redis.pcall('GET', claim.key) == id end
  return redis.pcall('HEXISTS', claim.key, claim.f) == 1
end

local function key_lease(claim) return whole(number(claim.y) + number(claim.d)) end

-- One of those who wait here; a client of another library may be faster.
local function wake_one(lock)
  while true do
    local id = call('SPOP', P .. 'w:' .. lock)
    if not id then return end
    local claim = read(P .. 'c:' .. id)
    if claim then
      tell(claim, id, 'again', false)
      return
    end
  end
end

local function tell_all(lock)
  for _, id in ipairs(call('SMEMBERS', P .. 'w:' .. lock)) do
    local claim = read(P .. 'c:' .. id)
    if claim then tell(claim, id, 'again', false) end
  end
end

-- The claim whose hold a key of Redisson's layout stands for: its only field is "uuid:1".
local function id_of_field(key)
  local fields = redis.pcall('HKEYS', key)
  local owner = type(fields) == 'table' and fields[1] or ''
  return (string.gsub(string.match(owner or '', '^(.*):1$') or '', '-', ''))
end

-- Whoever failed leaves the key behind for his lock-delay, as nobody's. False: it was not his any more.
local function key_release(claim, id, failed)
  if not key_is_ours(claim, id) then
    if redis.pcall('EXISTS', claim.key) == 0 then wake_one(claim.l) end
    return false
  end
  local stays = failed and failed + number(claim.d) - now or 0
  redis.pcall('DEL', claim.key)
  if stays > 0 and claim.z == 'simple' then redis.pcall('SET', claim.key, 'lock-delay of ' .. id, 'PX', whole(stays)) end
  if stays > 0 and claim.z == 'redisson' then
    redis.pcall('HSET', claim.key, 'lock-delay of ' .. id, '1')
    redis.pcall('PEXPIRE', claim.key, whole(stays))
  end
  if stays > 0 then
    tell_all(claim.l)  -- from now on they wait for the time
    return true
  end
  if claim.z == 'redisson' then redis.pcall('PUBLISH', claim.j, '0') end
  wake_one(claim.l)
  return true
end

local function key_leave(id, claim, failed)
  if claim.t then
    call('SREM', P .. 'z:' .. claim.s, id)
    return key_release(claim, id, failed)
  end
  call('SREM', P .. 'o:' .. claim.s, id)
  call('SREM', P .. 'w:' .. claim.l, id)
  if redis.pcall('EXISTS', claim.key) == 0 then wake_one(claim.l) end  -- it may have been told, and goes without having asked
  return true
end

-- Never creates. What is not ours any more, its client is told.
local function renew_keys(session)
  for _, id in ipairs(call('SMEMBERS', P .. 'z:' .. session)) do
    local claim = read(P .. 'c:' .. id)
    if claim and key_is_ours(claim, id) then
      redis.pcall('PEXPIRE', claim.key, key_lease(claim))
    elseif claim then
      tell(claim, id, 'gone', true)
      bury(session, id)
      call('SREM', P .. 'z:' .. session, id)
      call('DEL', P .. 'c:' .. id)
    end
  end
end

-- `failed`: since when; nil: it left cleanly. settle_all() must follow. False: somebody else had its key already.
local function leave(id, claim, failed)
  local lock = claim.l
  call('DEL', P .. 'c:' .. id)
  if claim.z then return key_leave(id, claim, failed) end
  call('SREM', P .. 'o:' .. claim.s, id)
  touched[#touched + 1] = lock
  if not claim.t then
    call('ZREM', P .. 'q:' .. lock, id)
    return true
  end
  call('ZREM', P .. 'h:' .. lock, id)
  call('HINCRBY', P .. 'l:' .. lock, 'h', -1)
  if claim.m == 'x' then call('HINCRBY', P .. 'l:' .. lock, 'x', -1) end
  if is_election(lock) then chronicle_ends(lock, failed or now) end
  local stays = failed and failed + number(claim.d)
  if stays and number(claim.d) > 0 and stays > now then
    call('ZADD', P .. 'g:' .. lock, stays, claim.m .. ':' .. (claim.p or '') .. ':' .. id)
    call('HINCRBY', P .. 'l:' .. lock, 'g', 1)
    if claim.m == 'x' then call('HINCRBY', P .. 'l:' .. lock, 'gx', 1) end
    local first = call('ZSCORE', P .. 'ends', 'g' .. lock)
    if not first or number(first) > stays then call('ZADD', P .. 'ends', stays, 'g' .. lock) end
  else
    free_slots(lock, claim.p)
  end
  return true
end

-- settle_all() must follow.
end_session = function(session, at)
  call('ZREM', P .. 'ends', 's' .. session)
  for _, id in ipairs(call('SUNION', P .. 'o:' .. session, P .. 'z:' .. session)) do
    local claim = read(P .. 'c:' .. id)
    if claim then leave(id, claim, at) end
  end
  call('DEL', P .. 's:' .. session, P .. 'o:' .. session, P .. 'z:' .. session)
end

local function lay_ghosts(lock)
  call('ZREM', P .. 'ends', 'g' .. lock)
  for _, ghost in ipairs(call('ZRANGEBYSCORE', P .. 'g:' .. lock, '-inf', now)) do
    local mode, slots = string.match(ghost, '^(%a):([%d,]*):')
    call('ZREM', P .. 'g:' .. lock, ghost)
    call('HINCRBY', P .. 'l:' .. lock, 'g', -1)
    if mode == 'x' then call('HINCRBY', P .. 'l:' .. lock, 'gx', -1) end
    free_slots(lock, slots)
  end
  local next = call('ZRANGE', P .. 'g:' .. lock, 0, 0, 'WITHSCORES')
  if next[2] then call('ZADD', P .. 'ends', next[2], 'g' .. lock) end
  touched[#touched + 1] = lock
end

-- A few at a time: whoever asks something pays for it. True: nothing more is due.
local function sweep()
  local due = call('ZRANGEBYSCORE', P .. 'ends', '-inf', now, 'WITHSCORES', 'LIMIT', 0, 4)
  for i = 1, #due, 2 do
    local what = string.sub(due[i], 2)
    if string.sub(due[i], 1, 1) == 's' then end_session(what, number(due[i + 1])) else lay_ghosts(what) end
  end
  settle_all()
  return #due < 8
end

-- The sweep may not have come to those yet whom the next one waits for.
local function sweep_lock(lock)
  for _, kind in ipairs({'h:', 'q:'}) do
    local id = call('ZRANGE', P .. kind .. lock, 0, 0)[1]
    local session = id and call('HGET', P .. 'c:' .. id, 's')
    local ends = session and number(call('ZSCORE', P .. 'ends', 's' .. session))
    if session and ends <= now then end_session(session, ends) end
  end
  settle_all()
end

local function lives(session) return number(call('ZSCORE', P .. 'ends', 's' .. session)) > now end

local function find(id, session, lock)
  local claim = read(P .. 'c:' .. id)
  if claim and claim.s == session and claim.l == lock then return claim end
  return nil
end

-- The record of a claim that is asked for again, or nil, and why it can be no claim at all.
local function known_claim(id, session, lock)
  if not lives(session) then return nil, {'lost'} end
  if call('HEXISTS', P .. 's:' .. session, 'x' .. id) == 1 then return nil, {'gone'} end
  local claim = read(P .. 'c:' .. id)
  if claim and (claim.s ~= session or claim.l ~= lock) then return nil, {'other'} end
  return claim, nil
end
