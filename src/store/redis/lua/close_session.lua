-- What it still holds counts as failed.
-- ARGV: prefix, epoch, session

sweep()
local ends = call('ZSCORE', P .. 'ends', 's' .. ARGV[3])
end_session(ARGV[3], ends and math.min(now, number(ends)) or now)
settle_all()
return 1
