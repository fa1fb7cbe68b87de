-- What has become of a claim? Changes nothing, but that it has asked.
-- ARGV: prefix, epoch, claim, session, lock
-- Returns {'gone'}, {'waiting'} or {'held', epoch, counter, contended, release requested, slots}

call('SREM', P .. 't:' .. ARGV[4], ARGV[3])
local claim = find(ARGV[3], ARGV[4], ARGV[5])
if not claim or not lives(claim.s) then return {'gone'} end
if not claim.t then return {'waiting'} end
if claim.z then
  if not key_is_ours(claim, ARGV[3]) then return {'gone'} end
  return {'held', claim.e, claim.t, 0, claim.r or '0', ''}
end
return {'held', claim.e, claim.t, contended(ARGV[5]), claim.r or '0', claim.p or ''}
