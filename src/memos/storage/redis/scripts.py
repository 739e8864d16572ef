"""The scripts by which work goes through the Redis queue; each is one step. `scripts_base` says what the keys are.

KEYS[1] is the prefix of every key. ARGV[1] is the time in microseconds, or nothing for the server's.
"""

from __future__ import annotations

from memos.storage.redis.scripts_base import whole
from memos.storage.tasks import MERGE_AMONG

ENQUEUE = whole(
    """
-- now, per_user, total, tasks in JSON -> {false, tasks in JSON} or {'user' or 'total', how many are live}
local answers, new, made, more, asking = {}, {}, {}, {}, 0
local by_key, by_lane, kinds = {}, {}, {}
for _, t in ipairs(cjson.decode(ARGV[4])) do
  local in_key, in_lane = t.key and joined(t.kind, t.key), joined(t.kind, t.lane)
  local there = (made[t.id] or call('EXISTS', P .. 'task:' .. t.id) == 1) and t.id
  if not there and t.key then there = by_key[in_key] or call('HGET', P .. 'keys:' .. t.kind, t.key) end
  local as_this = joined(in_lane, t.payload)
  if not there and t.merge then
    for _, id in ipairs(call('ZREVRANGE', P .. 'wait:' .. in_lane, 0, %AMONG% - 1)) do
      if call('HGET', P .. 'task:' .. id, 'payload') == t.payload then there = id end -- the oldest, also when asked again
    end
    there = there or by_lane[as_this]
  end
  if not there then
    there = t.id
    new[#new + 1] = t
    made[t.id] = t
    if not t.admitted then
      more[t.user] = (more[t.user] or 0) + 1
      asking = asking + 1
    end
    if t.key then by_key[in_key] = t.id end
    by_lane[as_this] = by_lane[as_this] or t.id
  end
  answers[#answers + 1] = there
end

for user, n in pairs(more) do
  local there = tonumber(call('HGET', P .. 'live', user) or 0)
  if there + n > tonumber(ARGV[2]) then return {'user', there} end
end
local there = tonumber(call('HGET', P .. 'meta', 'live') or 0)
if asking > 0 and there + asking > tonumber(ARGV[3]) then return {'total', there} end

-- Something is written in any case, so that WAITAOF waits also for what was there already.
local n = call('HINCRBY', P .. 'meta', 'n', #new) - #new
timed()
for i, t in ipairs(new) do
  t.n = int(n + i)
  t.place, t.state, t.attempts, t.progress = t.n, 'waiting', '0', '0'
  t.enqueued, t.available, t.delay, t.merge = int(now), int(now + t.delay), nil, nil
  t.admitted = nil
  local fields = {}
  for field, value in pairs(t) do
    if value then
      fields[#fields + 1] = field
      fields[#fields + 1] = value
    end
  end
  call('HSET', P .. 'task:' .. t.id, unpack(fields))
  gather(come, P .. 'all', t.n, t.id)
  gather(come, P .. 'user:' .. t.user, t.n, t.id)
  if t.cube then gather(come, P .. 'cube:' .. t.cube, t.n, t.id) end
  if t.caller then gather(come, P .. 'caller:' .. t.caller, t.n, t.id) end
  if t.key then call('HSET', P .. 'keys:' .. t.kind, t.key, t.id) end
  if not kinds[t.kind] then call('SADD', P .. 'kinds', t.kind) end
  kinds[t.kind] = true
  live(t, 1)
  enter_state(t)
  if append(t) then place(t.lane) end
end
close()
local tasks = {}
for i, id in ipairs(answers) do tasks[i] = row(made[id] or load(id, ALL)) end
return {false, as_json(tasks)}
""".replace("%AMONG%", str(MERGE_AMONG))
)

LEASE = whole("""
-- now, token, worker, limit, seconds in us, kinds -> {lane, until, tasks in JSON} or {false, last wake, none}
local token, worker, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local ends = int(now + ARGV[5])
local tasks = {}

local lane = call('HGET', P .. 'tokens', token)  -- the answer to the first call was lost on its way
if lane then
  for _, place in ipairs(entries_of(lane, worker)) do
    tasks[#tasks + 1] = row(load(call('XRANGE', P .. 'q:' .. lane, place, place)[1][2][2], ALL))
  end
  return {lane, call('ZSCORE', P .. 'leases', lane), as_json(tasks)}
end

-- The ready lane whose turn it is: by priority, then by who was served least recently, then by the oldest task.
local function choose()
  local best
  for i = 6, #ARGV do
    local kind = ARGV[i]
    local top = call('ZREVRANGE', P .. 'priorities:' .. kind, 0, 0)[1]
    if top then
      local spot = joined(kind, top)
      local user = call('ZRANGE', P .. 'users:' .. spot, 0, 0, 'WITHSCORES')
      local first = call('ZRANGE', P .. 'lanes:' .. joined(spot, user[1]), 0, 0, 'WITHSCORES')
      local found = {-tonumber(top), tonumber(user[2]), tonumber(first[2]), lane = first[1], user = user[1]}
      local better = not best
      for j = 1, 3 do
        if better or found[j] > best[j] then break end
        better = found[j] < best[j]
      end
      if better then best = found end
    end
  end
  return best
end

reclaim()
open_due()
local best, stream, entries
while true do
  best = choose()
  if not best then
    close()
    return {false, last_wake(), '[]'}
  end
  lane, stream = best.lane, P .. 'q:' .. best.lane
  unplace(lane)
  entries = call('XRANGE', stream, '-', '+', 'COUNT', limit)
  if entries[1] and load(entries[1][2][2]) then break end
  place(lane)  -- its first task was deleted by somebody else
end
local delivered = tonumber(call('HGET', P .. 'lane:' .. lane, 'delivered'))
local begun, fresh, kind = {}, 0, nil
for i, entry in ipairs(entries) do
  local t = load(entry[2][2], ALL)
  if not t then break end
  local again = tonumber(t.attempts) > 0
  if i > 1 and (again or t.kind ~= kind or tonumber(t.available) > now) then break end
  kind = t.kind
  if tonumber(t.place) <= delivered then
    begun[#begun + 1] = entry[1]
  else
    fresh = fresh + 1
    delivered = tonumber(t.place)
  end
  turn(t, 'in_progress')
  t.attempts, t.started, t.worker, t.progress = int(t.attempts + 1), int(now), worker, '0'
  save(t, 'state', 'attempts', 'started', 'worker', 'progress')
  tasks[i] = row(t)
  if again then break end
end
if #begun > 0 then call('XCLAIM', stream, GROUP, consumer(worker), 0, unpack(begun)) end
if fresh > 0 then call('XREADGROUP', 'GROUP', GROUP, consumer(worker), 'COUNT', fresh, 'STREAMS', stream, '>') end

call('HSET', P .. 'lane:' .. lane, 'at', 'leased', 'token', token, 'worker', worker, 'delivered', int(delivered))
call('ZADD', P .. 'leases', ends, lane)
timed()
call('HSET', P .. 'tokens', token, lane)
call('HSET', P .. 'served', best.user, number())
for _, spot in ipairs(call('SMEMBERS', P .. 'spots:' .. best.user)) do take_turn(spot, best.user) end
close()
return {lane, ends, as_json(tasks)}
""")

EXTEND = whole("""
-- now, lane, token, seconds in us -> when it ends, or false
if not holds(ARGV[2], ARGV[3]) then return false end
timed()
local ends = int(now + ARGV[4])
call('ZADD', P .. 'leases', ends, ARGV[2])
return ends
""")

REPORT = whole("""
-- now, lane, token, id, progress -> 1, or false
local t = holds(ARGV[2], ARGV[3]) and load(ARGV[4])
if not t or t.lane ~= ARGV[2] or t.state ~= 'in_progress' then return false end
call('HSET', P .. 'task:' .. t.id, 'progress', ARGV[5])
return 1
""")

SETTLE = whole("""
-- now, lane, token, whether this is a repeated call, outcomes in JSON -> 1, or false
local lane, token, ends = ARGV[2], ARGV[3], cjson.decode(ARGV[5])
if not holds(lane, token) then
  if ARGV[4] ~= '1' then return false end
  for _, outcome in ipairs(ends) do  -- the answer to the first call was lost on its way: every task says who settled it
    if call('HGET', P .. 'task:' .. outcome.id, 'by') ~= token then return false end
  end
  return 1
end

call('ZREM', P .. 'leases', lane)  -- frees memory first, see `scripts_base`
timed()
for _, outcome in ipairs(ends) do
  local t = load(outcome.id)
  if t and t.lane == lane and t.state == 'in_progress' then
    local verdict = outcome.verdict
    if verdict == 'retry' and tonumber(t.attempts) >= tonumber(t.max) then verdict = 'dead' end
    t.by, t.error = token, outcome.error
    if verdict == 'done' then
      finish(t, 'completed')
      t.progress, t.result, t.error = '1', outcome.result, false
      save(t, 'state', 'finished', 'progress', 'error', 'result', 'by')
    elseif verdict == 'dead' then
      bury(t)
    elseif verdict == 'retry' then
      turn(t, 'waiting')
      t.available, t.worker, t.progress = int(now + outcome.delay), false, '0'
      save(t, 'state', 'error', 'available', 'worker', 'progress', 'by')
    else
      t.available = int(math.max(tonumber(t.available), now + outcome.delay))
      if outcome.error then save(t, 'error') end
      release(t)
    end
  end
end
end_lease(lane, function(t)
  if t.state == 'in_progress' then
    t.by = token
    release(t)
  end
end)
close()
return 1
""")

LOOK = whole("""
-- now -> {last wake, us until a lane is due or -1, whether a lane is ready}
local due = -1
for _, set in ipairs({'delayed', 'leases'}) do
  local first = call('ZRANGE', P .. set, 0, 0, 'WITHSCORES')[2]
  if first then
    local left = math.max(0, first - now)
    if due < 0 or left < due then due = left end
  end
end
local ready = 0
for _, kind in ipairs(call('SMEMBERS', P .. 'kinds')) do
  if call('EXISTS', P .. 'priorities:' .. kind) == 1 then ready = 1 end
end
return {last_wake(), due, ready}
""")

ROOM = whole("""
-- now, user -> {live tasks of the user, live tasks}
return {tonumber(call('HGET', P .. 'live', ARGV[2]) or 0), tonumber(call('HGET', P .. 'meta', 'live') or 0)}
""")

GET = whole("""
-- now, ids -> tasks in JSON
reclaim()
local tasks = {}
for i = 2, #ARGV do
  local t = load(ARGV[i], ALL)
  if t then tasks[#tasks + 1] = row(t) end
end
close()
return as_json(tasks)
""")
