"""The scripts that look at the tasks of the Redis queue and take care of them; each is one step.

As in `scripts`. A value of a query that may be missing comes as `=` and the value, or as nothing.
"""

from __future__ import annotations

from memos.storage.redis.scripts_base import whole

QUERIES = """
-- ---- queries ----

local function given(value) return value ~= '' and string.sub(value, 2) end

local function names_at(i)
  local n = tonumber(ARGV[i])
  if n < 0 then return nil, nil, i + 1 end
  local list, set = {}, {}
  for j = 1, n do
    list[j] = ARGV[i + j]
    set[list[j]] = true
  end
  return list, set, i + n + 1
end

local function query_at(i)
  local q = {user = given(ARGV[i]), cube = given(ARGV[i + 1]), caller = given(ARGV[i + 2])}
  q.states, q.state_set, i = names_at(i + 3)
  q.kinds, q.kind_set, i = names_at(i)
  return q, i
end

local function matches(t, q)
  return (not q.user or t.user == q.user) and (not q.cube or t.cube == q.cube) and (not q.caller or t.caller == q.caller)
    and (not q.state_set or q.state_set[t.state]) and (not q.kind_set or q.kind_set[t.kind])
end

-- The smallest of the indexes that have every task meant: keys of sets scored by number.
local function indexes(q)
  local best, size
  local function offer(keys)
    local total = 0
    for _, key in ipairs(keys) do total = total + call('ZCARD', key) end
    if not size or total < size then best, size = keys, total end
  end
  offer({P .. 'all'})
  if q.user then offer({P .. 'user:' .. q.user}) end
  if q.cube then offer({P .. 'cube:' .. q.cube}) end
  if q.caller then offer({P .. 'caller:' .. q.caller}) end
  if q.states then
    local keys = {}
    for _, state in ipairs(q.states) do
      if not OPEN[state] then return best end
      for _, kind in ipairs(q.kinds or call('SMEMBERS', P .. 'kinds')) do keys[#keys + 1] = P .. state .. ':' .. kind end
    end
    offer(keys)
  end
  return best
end

-- Visit the tasks meant, newest first, from before a number; nil when all were seen, else the number to go on from.
local function scan(q, before, budget, fields, visit)
  local keys, size = indexes(q), 100
  while true do
    local page = {}
    for _, key in ipairs(keys) do
      local found = call('ZREVRANGEBYSCORE', key, '(' .. before, '-inf', 'WITHSCORES', 'LIMIT', 0, size)
      for i = 1, #found, 2 do page[#page + 1] = {found[i], tonumber(found[i + 1])} end
    end
    if #page == 0 then return nil end
    if #keys > 1 then table.sort(page, function(a, b) return a[2] > b[2] end) end
    for i = 1, math.min(#page, size) do
      budget = budget - 1
      before = int(page[i][2])
      local t = load(page[i][1], fields)
      if t and matches(t, q) and visit(t) then return before end
    end
    if budget <= 0 then return before end
  end
end

-- ---- taking tasks out ----

-- Lanes that were taken from their places while their tasks change; `put_back` gives them a place again.
local touched = {}

local function touch(lane)
  if touched[lane] == nil then touched[lane] = unplace(lane) or false end
end

local function put_back()
  write()
  for lane, at in pairs(touched) do
    if at == 'leased' then
      local worker = call('HGET', P .. 'lane:' .. lane, 'worker')
      if #entries_of(lane, worker) == 0 then end_lease(lane, run_out) end
    elseif at then
      place(lane)
    end
  end
end

-- Users and kinds that lost tasks, perhaps their last.
local users, kinds = {}, {}

local function drop(t)
  if is_live(t.state) then
    touch(t.lane)
    take_out(t)
    live(t, -1)
  end
  leave_state(t)
  gather(gone, P .. 'all', t.id)
  gather(gone, P .. 'user:' .. t.user, t.id)
  if t.cube then gather(gone, P .. 'cube:' .. t.cube, t.id) end
  if t.caller then gather(gone, P .. 'caller:' .. t.caller, t.id) end
  if t.key then call('HDEL', P .. 'keys:' .. t.kind, t.key) end
  call('DEL', P .. 'task:' .. t.id)
  users[t.user], kinds[t.kind] = true, true
end

local function drop_all(set, ids)
  for _, id in ipairs(ids) do
    local t = load(id)
    if t then drop(t) else gather(gone, set, id) end
  end
end

local function sweep()
  put_back()
  for user in pairs(users) do
    if call('EXISTS', P .. 'user:' .. user) == 0 then call('HDEL', P .. 'served', user) end
  end
  for kind in pairs(kinds) do
    local sets = {}
    for i, state in ipairs({'waiting', 'in_progress', 'failed', 'completed', 'cancelled'}) do
      sets[i] = P .. state .. ':' .. kind
    end
    if call('EXISTS', unpack(sets)) == 0 then call('SREM', P .. 'kinds', kind) end
  end
  close()
  if call('EXISTS', P .. 'all') == 0 then call('DEL', P .. 'meta', P .. 'wake', P .. 'clock') end
end
"""


def _asking(body: str) -> str:
    return whole(QUERIES + body)


FIND = _asking("""
-- now, before, limit, query -> {where to go on or false, tasks, their numbers}
reclaim()
local q = query_at(4)
local limit, tasks, numbers = tonumber(ARGV[3]), {}, {}
local rest = scan(q, ARGV[2], 2000, ALL, function(t)
  tasks[#tasks + 1] = row(t)
  numbers[#numbers + 1] = t.n
  return #tasks >= limit
end)
close()
return {rest or false, as_json(tasks), numbers}
""")

COUNTS = _asking("""
-- now, before, query -> {where to go on or false, state, how many, ...}
reclaim()
local q = query_at(3)
local found, rest = {}, nil
local function one(state, kind, n)
  if (not q.state_set or q.state_set[state]) and (not q.kind_set or q.kind_set[kind]) then
    found[state] = (found[state] or 0) + n
  end
end
if q.caller or (q.user and q.cube) then
  rest = scan(q, ARGV[2], 5000, NEEDED, function(t) one(t.state, t.kind, 1) end)
elseif q.user or q.cube then
  local all = call('HGETALL', P .. (q.user and 'counts:u:' .. q.user or 'counts:c:' .. q.cube))
  for i = 1, #all, 2 do
    local cut = string.find(all[i], ':', 1, true)  -- a state has no colon
    one(string.sub(all[i], 1, cut - 1), string.sub(all[i], cut + 1), tonumber(all[i + 1]))
  end
else
  for _, kind in ipairs(call('SMEMBERS', P .. 'kinds')) do
    for _, state in ipairs({'waiting', 'in_progress', 'failed', 'completed', 'cancelled'}) do
      one(state, kind, call('ZCARD', P .. state .. ':' .. kind))
    end
  end
end
local answer = {rest or false}
for state, n in pairs(found) do
  answer[#answer + 1] = state
  answer[#answer + 1] = n
end
close()
return answer
""")

STATS = _asking("""
-- now -> for each kind: {kind, how many in each of five states, us the oldest waits, done in a minute, latencies in us}
reclaim()
local answer = {}
for _, kind in ipairs(call('SMEMBERS', P .. 'kinds')) do
  local line = {kind}
  for _, state in ipairs({'waiting', 'in_progress', 'completed', 'failed', 'cancelled'}) do
    line[#line + 1] = call('ZCARD', P .. state .. ':' .. kind)
  end
  local id = call('ZRANGE', P .. 'waiting:' .. kind, 0, 0)[1]
  local oldest = id and tonumber(call('HGET', P .. 'task:' .. id, 'enqueued'))
  line[#line + 1] = oldest and int(math.max(0, now - oldest)) or '0'
  local done = P .. 'completed:' .. kind
  line[#line + 1] = call('ZCOUNT', done, '(' .. int(now - 60000000), '+inf')
  local took = {}
  for i, id in ipairs(call('ZREVRANGEBYSCORE', done, '+inf', '(' .. int(now - 3600000000), 'LIMIT', 0, 1000)) do
    local t = call('HMGET', P .. 'task:' .. id, 'finished', 'enqueued')
    took[i] = int(t[1] - t[2])
  end
  line[#line + 1] = took
  answer[#answer + 1] = line
end
close()
return answer
""")

RETRY = _asking("""
-- now, query, ids from the oldest on -> how many
reclaim()
local q, i = query_at(2)
local n = 0
for j = i, #ARGV do
  local t = load(ARGV[j])
  if t and t.state == 'failed' and matches(t, q) then
    t.place = number()
    t.attempts, t.available = '0', int(now)
    t.started, t.finished, t.error, t.worker, t.progress, t.by = false, false, false, false, '0', false
    turn(t, 'waiting')
    save(t, 'state', 'place', 'attempts', 'available', 'started', 'finished', 'error', 'worker', 'progress', 'by')
    if append(t) then place(t.lane) end
    n = n + 1
  end
end
close()
return n
""")

CANCEL = _asking("""
-- now, query, ids -> how many
reclaim()
local q, i = query_at(2)
local n = 0
for j = i, #ARGV do
  local t = load(ARGV[j])
  if t and (t.state == 'waiting' or t.state == 'failed') and matches(t, q) then
    if t.state == 'waiting' then touch(t.lane) end
    finish(t, 'cancelled')
    save(t, 'state', 'finished')
    n = n + 1
  end
end
sweep()
return n
""")

FORGET = _asking("""
-- now, cube, how many at most -> how many
reclaim()
local cube = P .. 'cube:' .. ARGV[2]
local ids = call('ZRANGE', cube, 0, ARGV[3] - 1)
drop_all(cube, ids)
sweep()
return #ids
""")

PRUNE = _asking("""
-- now, age in us, how many at most of a state -> how many
local n = 0
for _, kind in ipairs(call('SMEMBERS', P .. 'kinds')) do
  for _, state in ipairs({'completed', 'cancelled'}) do
    local set = P .. state .. ':' .. kind
    local ids = call('ZRANGEBYSCORE', set, '-inf', int(now - ARGV[2]), 'LIMIT', 0, ARGV[3])
    drop_all(set, ids)
    n = n + #ids
  end
end
sweep()
return n
""")
