-- A lease that will be used, before it is: a node that loses its data waits for as long as the longest of them.
-- ARGV: prefix, epoch, life, lease ms
-- Returns {'announced'}

if number(ARGV[4]) > number(call('HGET', KEYS[1], 'longest')) then call('HSET', KEYS[1], 'longest', ARGV[4]) end
return {'announced'}
