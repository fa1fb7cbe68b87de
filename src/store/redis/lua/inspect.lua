-- For people: who holds these locks, who waits.
-- ARGV: prefix, epoch, lock...
-- Returns for each {name, permits, shut for ms, {holder...}, {waiter...}}, or {} where nobody uses it; a holder or waiter
-- is {claim, mode, host, pid, label, age ms, epoch, counter, slots, permits, value, lease left ms, release requested}

local function view(id)
  local c = read(P .. 'c:' .. id)
  if not c then return nil end
  local s = call('HMGET', P .. 's:' .. c.s, 'host', 'pid', 'label')
  local left = number(call('ZSCORE', P .. 'ends', 's' .. c.s)) - now
  return {id, c.m, s[1] or '', s[2] or '0', label_of(c, s[3]), whole(now - number(c.a)), c.e or '0', c.t or '0', c.p or '', c.w or '0',
          c.v or '', whole(left), c.r or '0'}
end
local function views(key)
  local all = {}
  for _, id in ipairs(call('ZRANGE', key, 0, -1)) do all[#all + 1] = view(id) end
  return all
end

local function inspect(lock)
  local l = call('HMGET', P .. 'l:' .. lock, 'n', 'of')
  if not l[1] then return {} end
  local last = call('ZRANGE', P .. 'g:' .. lock, -1, -1, 'WITHSCORES')[2]
  local shut = last and math.max(0, number(last) - now) or 0
  return {l[1], l[2], whole(shut), views(P .. 'h:' .. lock), views(P .. 'q:' .. lock)}
end

sweep()
local all = {}
for i = 3, #ARGV do all[#all + 1] = inspect(ARGV[i]) end
return all
