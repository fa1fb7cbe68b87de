-- For people: who holds locks whose lease sits on their key, who waits. Some of it: about five hundred claims.
-- ARGV: prefix, epoch, where to begin with the first lock, as inspect.lua, then lock and key of each
-- Returns as inspect.lua, with an empty name where only a foreign client uses it; the waiters stand in no order. A holder
-- that is none of ours: {'foreign', lease left ms or -1}. Fewer than were asked for: ask for the others

local left = 500
local name = ''

local function view(id)
  local c = read(P .. 'c:' .. id)
  if not c then return nil end
  name = c.n
  local s = call('HMGET', P .. 's:' .. c.s, 'host', 'pid', 'label')
  local lease_left = number(end_of(c.s)) - now
  if lease_left <= 0 then return nil end
  return {id, 'x', s[1] or '', s[2] or '0', label_of(c, s[3]), whole(now - number(c.a)), c.e or '0', c.t or '0', '', '0', '',
          whole(lease_left), c.r or '0'}
end

-- And where to go on; nothing: these were all.
local function waiters_of(lock, cursor)
  local all = {}
  local some = call('SSCAN', P .. 'w:' .. lock, cursor, 'COUNT', 100)
  for _, id in ipairs(some[2]) do all[#all + 1] = view(id) end
  left = left - #some[2] - 1
  return all, some[1] ~= '0' and some[1] or nil
end

-- Holders, and for how long it is shut. Nothing where the key is not there.
local function holders_of(scheme, key)
  if call('EXISTS', key) == 0 then return nil, 0 end
  local owner = key_owner(scheme, key)
  if is_delay(owner) then return {}, call('PTTL', key) end
  local id = claim_of(scheme, owner)
  local holder = view(id)
  if holder then return {holder}, 0 end
  if call('EXISTS', P .. 'c:' .. id) == 1 then return {}, call('PTTL', key) end  -- ours, and its session has ended
  return {{'foreign', whole(call('PTTL', key))}}, 0
end

local function inspect(lock, key, from)
  name = ''
  local waiters, more = waiters_of(lock, from == '-inf' and '0' or from)
  local holders, shut = {}, 0
  if from == '-inf' then holders, shut = holders_of(string.match(lock, '^%a+'), key) end
  if not holders and #waiters == 0 and not more then return {} end
  local answer = {name, '0', whole(shut), holders or {}, waiters}
  if more then answer[6], answer[7] = 'q', more end
  return answer
end

sweep()
local all = {}
local from = ARGV[4]
for i = 5, #ARGV, 2 do
  all[#all + 1] = inspect(ARGV[i], ARGV[i + 1], from)
  from = '-inf'
  if #all[#all] > 5 or left <= 0 then break end
end
return all
