-- What the scripts share that see a claim.
--
-- | key              | type   | holds                                                                     |
-- |------------------|--------|---------------------------------------------------------------------------|
-- | meta             | hash   | layout, store; epoch and life: of which it is a member; nonce and nlife:  |
-- |                  |        | made when it was met without membership; longest: lease and lock-delay, ms|
-- | counters         | hash   | the counter of each bucket of names                                       |
-- | absent:<nonce>   | string | since when (ms) this node knows that another one has lost its membership  |
-- | <lock's key>     | string | the claim that has it here, or 'lock-delay of <claim>'; ends by itself    |
-- | c:<claim>        | hash   | l lock; k its latest try here; for people: s session, h host, i pid, b    |
-- |                  |        | label, n name, a since (ms); while it has the lock: e epoch, t counter;   |
-- |                  |        | r: was asked to let go                                                    |
-- | w:<lock>         | zset   | claims that wait, by when their record ends; for people                   |
-- | x:<claim>        | string | tombstone: tries up to this number must take nothing when they arrive     |

local P = ARGV[1]
local call = redis.call
local function number(text) return tonumber(text) or 0 end
local function whole(value) return string.format('%.0f', value) end
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
