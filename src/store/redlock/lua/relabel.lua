-- The claim has another label: for people only.
-- ARGV: prefix, epoch, life, claim, label
-- Returns 1, or 0: there is no such claim

local record = P .. 'c:' .. ARGV[4]
if call('EXISTS', record) == 0 then return 0 end
call('HSET', record, 'b', ARGV[5])
return 1
