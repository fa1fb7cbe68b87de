-- What all scripts share: put in front of each of them, behind begin.lua.
--
-- | key            | type   | holds                                                                       |
-- |----------------|--------|-----------------------------------------------------------------------------|
-- | meta           | hash   | layout, epoch, run (of the server), store, counter (tokens and tickets)      |
-- | ends           | zset   | what ends next, by milliseconds: s<session>, g<lock> (a ghost; or a lock    |
-- |                |        | that was not settled to the end). A session whose time is over is ignored   |
-- |                |        | by all; its entry stays until all that it left behind is swept              |
-- | s:<session>    | hash   | lease, mail (where its client listens), secret (with which its letters are  |
-- |                |        | sealed), host, pid, label; x<claim>: was withdrawn or taken away, and may   |
-- |                |        | still arrive                                                                |
-- | t:<session>    | set    | its claims that were sent a letter and have not asked since                 |
-- | o:<session>    | set    | its claims, but for those in z                                              |
-- | z:<session>    | set    | its claims of `simple` and `redisson` that hold                             |
-- | c:<claim>      | hash   | s session, l lock, m mode, w permits wanted, d lock-delay, a since (ms),     |
-- |                |        | k ticket, b label, v value; while it holds: t counter, e epoch, p slots;     |
-- |                |        | r: it was asked to let go; i: it was sent a letter                          |
-- |                |        | of `simple` and `redisson`: n name, z scheme, y lease, key, f field,        |
-- |                |        | j channel. What is empty or 0 may be missing                                |
-- | w:<lock>       | set    | waiters of `simple` and `redisson`, in no order                             |
-- | l:<lock>       | hash   | n name, h holders, x exclusive ones, g ghosts, gx exclusive ones, of        |
-- |                |        | permits that there are, u permits in use, c the ticket of the last holder   |
-- |                |        | that was told of a waiter, while others still have to be told               |
-- | h:<lock>       | zset   | holders by ticket                                                           |
-- | q:<lock>       | zset   | waiters by ticket                                                           |
-- | g:<lock>       | zset   | ghosts: holders that failed keep their place until then                     |
-- | b:<lock>       | bitmap | permits in use                                                              |
-- | n:<lock>       | list   | who has led an election, the last 32: "epoch counter since till pid n m\n",  |
-- |                |        | host (n bytes), label (m bytes), value; till is 0 while it leads            |

clock = clock or call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- From where lock-delays are counted, so that none is over early.
local from_now = clock[1] * 1000 + math.ceil(clock[2] / 1000)

-- Claims that this script may still clean up, or grant on behalf of others. The next script goes on with the rest.
local budget = 50

local function number(text) return tonumber(text) or 0 end
-- Permits are taken and freed one by one: twenty of them cost as much as a claim.
local function spend(permits) budget = budget - 1 - math.floor(number(permits) / 20) end
local function whole(value) return string.format('%.0f', value) end
local function next_number() return whole(call('HINCRBY', KEYS[1], 'counter', 1)) end

local function end_of(session) return call('ZSCORE', P .. 'ends', 's' .. session) end
local function lives(session) return number(end_of(session)) > now end
-- When a session has failed that is marked with `ends`: one that was closed is marked with the millisecond that had begun.
local function failed_at(ends) return ends and math.min(number(ends) + 1, from_now) or from_now end

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

-- A letter that only who knows the secret of a session can write.
local function sealed(secret, text) return redis.sha1hex(secret .. text .. secret) .. ' ' .. text end

-- To where the claim's client listens. A letter may be lost: the claim is named in renewals until it has asked.
local function tell(claim, id, what)
  local s = call('HMGET', P .. 's:' .. claim.s, 'mail', 'secret')
  if not s[1] then return end
  call('SADD', P .. 't:' .. claim.s, id)
  call('HSET', P .. 'c:' .. id, 'i', '1')
  local letter = sealed(s[2] or '', id .. ' ' .. what)
  redis.pcall('PUBLISH', P .. 'mail:' .. s[1], letter)  -- a hint: it must not break off what is half done
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

local touched = {}  -- locks that a claim has left: settle_all() must follow
local delayed = {}  -- those of them where a lock-delay has begun

-- Its client is dead: its place in the queue is free.
local function drop_waiter(lock, id, session)
  call('ZREM', P .. 'q:' .. lock, id)
  call('DEL', P .. 'c:' .. id)
  if session then call('SREM', P .. 'o:' .. session, id) end
end

-- The budget is used up: whoever comes next goes on here, and the head of the queue is asked to come.
local function settle_later(lock, id, claim)
  call('ZADD', P .. 'ends', now, 'g' .. lock)
  if claim and lives(claim.s) then tell(claim, id, 'again') end
end

-- False: it does not fit yet.
local function grant_waiter(lock, id, claim)
  if not fits(lock, claim) then
    if delayed[lock] then tell(claim, id, 'again') end
    return false
  end
  call('ZREM', P .. 'q:' .. lock, id)
  grant(lock, id, claim)
  if claim.p == '' then
    tell(claim, id, 'granted ' .. epoch .. ' ' .. claim.t .. ' ' .. contended(lock))
  else
    tell(claim, id, 'again')  -- a letter has no room for slots
  end
  return true
end

-- Grants what has become free, and forgets a lock that nobody uses.
local function settle(lock)
  while true do
    local id = call('ZRANGE', P .. 'q:' .. lock, 0, 0)[1]
    if not id then break end
    local claim = read(P .. 'c:' .. id)
    if budget <= 0 then return settle_later(lock, id, claim) end
    if not claim or not lives(claim.s) then
      drop_waiter(lock, id, claim and claim.s)
    elseif not grant_waiter(lock, id, claim) then
      return
    end
    spend(claim and claim.w)
  end
  local l = call('HMGET', P .. 'l:' .. lock, 'h', 'g')
  if number(l[1]) + number(l[2]) <= 0 then
    call('DEL', P .. 'l:' .. lock, P .. 'h:' .. lock, P .. 'q:' .. lock, P .. 'g:' .. lock, P .. 'b:' .. lock)
  end
end

local function settle_all()
  while #touched > 0 do settle(table.remove(touched)) end
end

-- `simple` and `redisson`: the lease sits on the key, in the layout of other people's clients. What is theirs is touched by
-- pcall: whoever sweeps may not be allowed to, and must get to the end.

-- What stands in a key: its owner, in the words of its scheme. Empty: nothing that is a lock.
local function key_owner(scheme, key)
  local found
  if scheme == 'simple' then found = redis.pcall('GET', key) else found = redis.pcall('HKEYS', key) end
  if type(found) == 'table' then found = found[1] end
  return type(found) == 'string' and found or ''
end

-- The claim that an owner stands for; the only field of Redisson's layout is "uuid:1".
local function claim_of(scheme, owner)
  if scheme == 'simple' then return owner end
  return (string.gsub(string.match(owner, '^(.*):1$') or '', '-', ''))
end

local function is_delay(owner) return string.sub(owner, 1, 14) == 'lock-delay of ' end

local function key_is_ours(claim, id)
  if claim.z == 'simple' then return redis.pcall('GET', claim.key) == id end
  return redis.pcall('HEXISTS', claim.key, claim.f) == 1
end

local function key_lease(claim) return whole(number(claim.y) + number(claim.d)) end

-- One of the waiters; a client of another library may be faster. Those whose session has ended are taken out; when they are
-- swept, another one is woken.
local function wake_one(lock)
  for _ = 1, 50 do
    local id = call('SPOP', P .. 'w:' .. lock)
    if not id then return end
    local claim = read(P .. 'c:' .. id)
    if claim and lives(claim.s) then
      tell(claim, id, 'again')
      return
    end
  end
end

-- A few: one that knows when it can be had is enough.
local function tell_some(lock)
  for _, id in ipairs(call('SRANDMEMBER', P .. 'w:' .. lock, 10)) do
    local claim = read(P .. 'c:' .. id)
    if claim then tell(claim, id, 'again') end
  end
end

local function delay_key(claim, id, stays)
  if claim.z == 'simple' then
    redis.pcall('SET', claim.key, 'lock-delay of ' .. id, 'PX', stays)
    return
  end
  redis.pcall('HSET', claim.key, 'lock-delay of ' .. id, '1')
  if redis.pcall('PEXPIRE', claim.key, stays) ~= 1 then redis.pcall('DEL', claim.key) end  -- never a key without an end
end

-- Whoever failed leaves the key behind for his lock-delay, as nobody's. False: it was not his any more.
local function key_release(claim, id, failed)
  if not key_is_ours(claim, id) then
    if redis.pcall('EXISTS', claim.key) == 0 then wake_one(claim.l) end
    return false
  end
  local stays = failed and number(claim.d) > 0 and failed + number(claim.d) - now or 0
  redis.pcall('DEL', claim.key)
  if stays > 0 then
    delay_key(claim, id, whole(stays))
    tell_some(claim.l)  -- from now on they wait for the time
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

-- Some of the session's keys; returns where to go on, or '0'. Never creates. What is not ours any more, or cannot be renewed,
-- its client is told; a key that is left then ends by itself, as its holder knows.
local function renew_keys(session, cursor)
  local some = call('SSCAN', P .. 'z:' .. session, cursor, 'COUNT', 100)
  for _, id in ipairs(some[2]) do
    local claim = read(P .. 'c:' .. id)
    local renewed = claim and key_is_ours(claim, id) and redis.pcall('PEXPIRE', claim.key, key_lease(claim)) == 1
    if claim and not renewed then
      tell(claim, id, 'gone')
      bury(session, id)
      call('SREM', P .. 'z:' .. session, id)
      call('DEL', P .. 'c:' .. id)
    end
  end
  return some[1]
end

-- It has looked at the end of the one that leaves: now it must see whom it waits for.
local function tell_successor(lock, id)
  local rank = call('ZRANK', P .. 'q:' .. lock, id)
  local next = rank and call('ZRANGE', P .. 'q:' .. lock, rank + 1, rank + 1)[1]
  local session = next and call('HGET', P .. 'c:' .. next, 's')
  if session then tell({s = session}, next, 'again') end
end

-- Its place is kept for its lock-delay, which began at `failed`.
local function begin_delay(lock, id, claim, ends)
  call('ZADD', P .. 'g:' .. lock, ends, claim.m .. ':' .. (claim.p or '') .. ':' .. id)
  call('HINCRBY', P .. 'l:' .. lock, 'g', 1)
  if claim.m == 'x' then call('HINCRBY', P .. 'l:' .. lock, 'gx', 1) end
  local first = call('ZSCORE', P .. 'ends', 'g' .. lock)
  if not first or number(first) > ends then call('ZADD', P .. 'ends', ends, 'g' .. lock) end
  delayed[lock] = true
end

local function leave_hold(lock, id, claim, failed)
  if call('ZREM', P .. 'h:' .. lock, id) == 0 then return end
  call('HINCRBY', P .. 'l:' .. lock, 'h', -1)
  if claim.m == 'x' then call('HINCRBY', P .. 'l:' .. lock, 'x', -1) end
  if is_election(lock) then chronicle_ends(lock, failed or now) end
  local ends = failed and failed + number(claim.d) or 0
  if number(claim.d) > 0 and ends > now then begin_delay(lock, id, claim, ends) else free_slots(lock, claim.p) end
end

-- `failed`: since when; nil: it left cleanly. settle_all() must follow. False: somebody else had its key already. Its record
-- goes last: if this breaks off, whoever comes next goes on.
local function leave(id, claim, failed)
  local lock = claim.l
  local done = true
  if claim.z then
    done = key_leave(id, claim, failed)
  else
    call('SREM', P .. 'o:' .. claim.s, id)
    touched[#touched + 1] = lock
    if claim.t then
      leave_hold(lock, id, claim, failed)
    else
      tell_successor(lock, id)
      call('ZREM', P .. 'q:' .. lock, id)
    end
  end
  call('DEL', P .. 'c:' .. id)
  return done
end

-- Some of what a session leaves behind that has ended at `at`; its entry in `ends` goes last. settle_all() must follow.
local function end_session(session, at)
  for _, kind in ipairs({'o:', 'z:'}) do
    local ids = budget > 0 and call('SRANDMEMBER', P .. kind .. session, budget) or {}
    for _, id in ipairs(ids) do
      if budget <= 0 then break end
      local claim = read(P .. 'c:' .. id)
      if claim then leave(id, claim, at) end
      call('SREM', P .. kind .. session, id)
      spend(claim and claim.w)
    end
  end
  if call('EXISTS', P .. 'o:' .. session, P .. 'z:' .. session) > 0 then return false end
  call('DEL', P .. 's:' .. session, P .. 't:' .. session)
  call('ZREM', P .. 'ends', 's' .. session)
  return true
end

local function lay_ghosts(lock)
  local due = budget > 0 and call('ZRANGEBYSCORE', P .. 'g:' .. lock, '-inf', now, 'LIMIT', 0, budget) or {}
  for _, ghost in ipairs(due) do
    if budget <= 0 then break end
    local mode, slots = string.match(ghost, '^(%a):([%d,]*):')
    call('ZREM', P .. 'g:' .. lock, ghost)
    call('HINCRBY', P .. 'l:' .. lock, 'g', -1)
    if mode == 'x' then call('HINCRBY', P .. 'l:' .. lock, 'gx', -1) end
    free_slots(lock, slots)
    spend(#split(slots))
  end
  local next = call('ZRANGE', P .. 'g:' .. lock, 0, 0, 'WITHSCORES')
  if next[2] then call('ZADD', P .. 'ends', next[2], 'g' .. lock) else call('ZREM', P .. 'ends', 'g' .. lock) end
  touched[#touched + 1] = lock
end

-- A few at a time: whoever asks something pays for it.
local function sweep()
  local due = call('ZRANGEBYSCORE', P .. 'ends', '-inf', now, 'WITHSCORES', 'LIMIT', 0, 4)
  for i = 1, #due, 2 do
    local what = string.sub(due[i], 2)
    if string.sub(due[i], 1, 1) == 's' then end_session(what, failed_at(due[i + 1])) else lay_ghosts(what) end
  end
  settle_all()
end

-- The record of a holder was deleted by hand: what it had is not known any more, only that it is not held.
local function forget_holder(lock, id)
  call('ZREM', P .. 'h:' .. lock, id)
  call('HINCRBY', P .. 'l:' .. lock, 'h', -1)
  call('HSET', P .. 'l:' .. lock, 'x', '0')
  touched[#touched + 1] = lock
end

-- Where a script broke off, a count may differ from what there is.
local function repair(lock, l)
  if not l[1] or l[1] == '0' then return end
  call('HSET', P .. 'l:' .. lock, 'h', '0', 'x', '0')
  l[1] = '0'
end

-- Takes out of a lock whoever's session has ended, and lock-delays that are over: the sweep may not have come to them yet.
-- Returns what is there then: holders {id, session}, at most a hundred of `count`; s session and b label of the first one;
-- first: when the next of the holders or lock-delays ends; told: as `c` in the lock's record; changed: whether anything was
-- done. Nil: there was too much to do, ask again.
local function sweep_lock(lock)
  local found = {holders = {}}
  local holders = call('ZRANGE', P .. 'h:' .. lock, 0, 99)
  for _, id in ipairs(holders) do
    local c = call('HMGET', P .. 'c:' .. id, 's', 'b')
    local ends = c[1] and end_of(c[1])
    if ends and number(ends) > now then
      if not found.s then found.s, found.b = c[1], c[2] end
      found.first = math.min(found.first or number(ends), number(ends))
      found.holders[#found.holders + 1] = {id, c[1]}
    elseif budget > 0 then
      local claim = c[1] and read(P .. 'c:' .. id)
      spend(claim and claim.w)
      if claim then leave(id, claim, failed_at(ends)) else forget_holder(lock, id) end
    end
  end
  local l = call('HMGET', P .. 'l:' .. lock, 'h', 'g', 'c')
  if #holders == 0 then repair(lock, l) end
  found.count, found.told = number(l[1]), l[3]
  if number(l[2]) > 0 then
    lay_ghosts(lock)
    local ends = number(call('ZSCORE', P .. 'ends', 'g' .. lock) or now)
    found.first = math.min(found.first or ends, ends)
  end
  local head = call('ZRANGE', P .. 'q:' .. lock, 0, 0)[1]
  local session = head and call('HGET', P .. 'c:' .. head, 's')
  local unused = l[1] and number(l[1]) + number(l[2]) <= 0
  if unused or head and not (session and lives(session)) then touched[#touched + 1] = lock end
  found.changed = #touched > 0
  settle_all()
  if budget <= 0 then return nil end
  return found
end

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
