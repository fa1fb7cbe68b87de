-- What has become of a claim? Changes nothing.
-- ARGV: prefix, epoch, life, claim, key
-- Returns {'held', asked to let go (1 or 0)}, {'waiting'} or {'gone'}

if call('GET', ARGV[5]) == ARGV[4] then
  return {'held', call('HGET', P .. 'c:' .. ARGV[4], 'r') and '1' or '0'}
end
return {call('EXISTS', P .. 'c:' .. ARGV[4]) == 1 and 'waiting' or 'gone'}
