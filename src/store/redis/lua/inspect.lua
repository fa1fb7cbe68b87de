-- For people: who holds these locks, who waits. Some of it: five hundred claims.
-- ARGV: prefix, epoch, where to begin with the first lock: part (h: holders, q: waiters) and tickets (-inf, or as returned),
--       lock...
-- Returns for each {name, permits, shut for ms, {holder...}, {waiter...}}, or {} where nobody uses it; a holder or waiter
-- is {claim, mode, host, pid, label, age ms, epoch, counter, slots, permits, value, lease left ms, release requested}.
-- The last one may go on with part and tickets: begin there next time

local left = 500

local function view(id)
  local c = read(P .. 'c:' .. id)
  if not c then return nil end
  local s = call('HMGET', P .. 's:' .. c.s, 'host', 'pid', 'label')
  local lease_left = number(end_of(c.s)) - now
  if lease_left <= 0 then return nil end
  return {id, c.m, s[1] or '', s[2] or '0', label_of(c, s[3]), whole(now - number(c.a)), c.e or '0', c.t or '0', c.p or '', c.w or '0',
          c.v or '', whole(lease_left), c.r or '0'}
end

-- And where to go on; nothing: these were all.
local function views(key, from)
  if left <= 0 then return {}, from end
  local all = {}
  local ids = call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, left)
  for i = 1, #ids, 2 do all[#all + 1] = view(ids[i]) end
  left = left - #ids / 2
  if left > 0 then return all, nil end
  return all, '(' .. ids[#ids]
end

local function inspect(lock, part, from)
  if part == 'h' and from == '-inf' and budget > 0 then sweep_lock(lock) end
  local l = call('HMGET', P .. 'l:' .. lock, 'n', 'of')
  if not l[1] then return {} end
  local last = call('ZRANGE', P .. 'g:' .. lock, -1, -1, 'WITHSCORES')[2]
  local shut = last and math.max(0, number(last) - from_now) or 0
  local holders, waiters, more = {}, {}, nil
  if part == 'h' then
    holders, more = views(P .. 'h:' .. lock, from)
    if more then return {l[1], l[2], whole(shut), holders, {}, 'h', more} end
    from = '-inf'
  end
  waiters, more = views(P .. 'q:' .. lock, from)
  if more then return {l[1], l[2], whole(shut), holders, waiters, 'q', more} end
  return {l[1], l[2], whole(shut), holders, waiters}
end

local all = {}
local part, from = ARGV[3], ARGV[4]
for i = 5, #ARGV do
  all[#all + 1] = inspect(ARGV[i], part, from)
  if #all[#all] > 5 then break end
  part, from = 'h', '-inf'
end
return all
