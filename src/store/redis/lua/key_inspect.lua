-- For people: who holds locks whose lease sits on their key, who waits.
-- ARGV: prefix, epoch, scheme, then lock and key of each
-- Returns as inspect.lua, with an empty name where only a foreign client uses it; the waiters stand in no order. A holder
-- that is none of ours: {'foreign', lease left ms or -1}

local scheme = ARGV[3]
local name = ''

local function view(id)
  local c = read(P .. 'c:' .. id)
  if not c then return nil end
  name = c.n
  local s = call('HMGET', P .. 's:' .. c.s, 'host', 'pid', 'label')
  local left = number(call('ZSCORE', P .. 'ends', 's' .. c.s)) - now
  return {id, 'x', s[1] or '', s[2] or '0', label_of(c, s[3]), whole(now - number(c.a)), c.e or '0', c.t or '0', '', '0', '', whole(left),
          c.r or '0'}
end

local function holder_of(key)
  if scheme == 'simple' then
    local value = redis.pcall('GET', key)
    return type(value) == 'string' and value or ''
  end
  return id_of_field(key)
end

local function inspect(lock, key)
  name = ''
  local waiters = {}
  for _, id in ipairs(call('SMEMBERS', P .. 'w:' .. lock)) do waiters[#waiters + 1] = view(id) end
  if call('EXISTS', key) == 0 then
    if #waiters == 0 then return {} end
    return {name, '0', '0', {}, waiters}
  end
  local id = holder_of(key)
  if string.sub(id, 1, 13) == 'lock-delay of' or redis.pcall('HLEN', key) == 1 and
     string.sub(call('HKEYS', key)[1], 1, 13) == 'lock-delay of' then
    return {name, '0', whole(call('PTTL', key)), {}, waiters}
  end
  local holder = view(id) or {'foreign', whole(call('PTTL', key))}
  return {name, '0', '0', {holder}, waiters}
end

sweep()
local all = {}
for i = 4, #ARGV, 2 do all[#all + 1] = inspect(ARGV[i], ARGV[i + 1]) end
return all
