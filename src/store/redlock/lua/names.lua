-- Some of the names that claims are for.
-- ARGV: prefix, epoch, life, where to go on: 0, or what was returned; the pattern of the claims' records
-- Returns {'names', where to go on or 0, name...}; a name may come several times

local some = call('SCAN', ARGV[4], 'MATCH', ARGV[5], 'COUNT', 200)
local answer = {'names', some[1]}
for _, record in ipairs(some[2]) do
  local name = call('HGET', record, 'n')
  if name then answer[#answer + 1] = name end
end
return answer
