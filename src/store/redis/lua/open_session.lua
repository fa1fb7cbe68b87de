-- ARGV: prefix, epoch, session, lease ms, mail, host, pid, label, secret

sweep()
call('HSET', P .. 's:' .. ARGV[3], 'lease', ARGV[4], 'mail', ARGV[5], 'host', ARGV[6], 'pid', ARGV[7], 'label', ARGV[8],
     'secret', ARGV[9])
call('ZADD', P .. 'ends', now + number(ARGV[4]), 's' .. ARGV[3])
return 1
