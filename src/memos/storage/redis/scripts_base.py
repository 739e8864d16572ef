"""The head of every script of the Redis queue: what is kept under which keys, and the moves that scripts are made of.

Keys, all below the prefix `{namespace}:` (P). A lane, a user, a kind or an id is opaque: it stands at the end of a key, and
where two stand together the first is preceded by its length, so nothing is ever cut at a separator.

    task:ID            hash    a task: `rows.FIELDS`, `key`, `n` (its number), `place` (its entry in the stream), `by` (the token
                               of the lease that settled it)
    q:LANE             stream  the live tasks of a lane in order; group `workers`. Gone with the last task.
    lane:LANE          hash    `at` (ready, delayed, leased) and what is needed to take it from there; `delivered`
    priorities:KIND    zset    priorities of the ready lanes whose first task is of this kind
    users:SPOT         zset    users with ready lanes of a kind and priority (a spot), by whose turn it is
    lanes:SPOT+USER    zset    those lanes, by the place of their first task
    spots:USER         set     the spots in which a user has ready lanes
    served             hash    user -> number of the last lease; forgotten with the user's last task
    delayed, leases    zsets   lanes by when their first task may start, and by when their lease ends
    tokens             hash    token of a lease -> its lane
    STATE:KIND         zset    tasks in this state by number (completed, cancelled: by when they ended)
    wait:KIND+LANE     zset    waiting tasks of a kind and lane by place (for `merge`)
    all, user:USER, cube:CUBE, caller:ID   zsets  tasks by number
    counts:u:USER, counts:c:CUBE           hashes how many tasks by state and kind
    live               hash    user -> how many live tasks
    keys:KIND          hash    key -> id of the task that was enqueued with it
    kinds              set     kinds that have tasks
    meta               hash    `n`: the last number given; `live`: how many live tasks
    wake               stream  of length one: a new entry says that a lane may have become ready

Writes that free memory come first in `lease` and `settle`, so that both go on when the server has none left for more.
"""

from __future__ import annotations

from memos.storage.redis.rows import FIELDS

BASE = """
local P, call = KEYS[1], redis.call
local SHOWN = {%FIELDS%}
local NEEDED = {
  'id', 'kind', 'user', 'lane', 'cube', 'caller', 'priority', 'state', 'attempts', 'max', 'available', 'n', 'place', 'key',
}
local ALL = {%FIELDS%, 'n', 'place', 'key'}
local GROUP, BACK = 'workers', 'returned'  -- BACK: the consumer that has what was begun and given back
local DUE = 1000                           -- lanes that are looked after in one step
local OPEN = {waiting = true, in_progress = true, failed = true}

local function int(x) return string.format('%.0f', x) end
local function joined(a, b) return #a .. ':' .. a .. b end
local function given(value) return value ~= '' and string.sub(value, 2) end

local now = tonumber(ARGV[1])
if not now then
  local t = call('TIME')
  now = t[1] * 1000000 + t[2]
end

-- ---- tasks ----

-- A task: what is needed to move it, or also all that is shown of it.
local function load(id, fields)
  fields = fields or NEEDED
  local values = call('HMGET', P .. 'task:' .. id, unpack(fields))
  if not values[1] then return nil end
  local t = {}
  for i, field in ipairs(fields) do t[field] = values[i] end
  return t
end

local function row(t)
  local values = {}
  for i, field in ipairs(SHOWN) do values[i] = t[field] or false end
  return values
end

local function as_json(rows) return #rows == 0 and '[]' or cjson.encode(rows) end

local function save(t, ...)
  local set, gone = {}, {}
  for _, field in ipairs({...}) do
    if t[field] then
      set[#set + 1] = field
      set[#set + 1] = t[field]
    else
      gone[#gone + 1] = field
    end
  end
  if #gone > 0 then call('HDEL', P .. 'task:' .. t.id, unpack(gone)) end
  if #set > 0 then call('HSET', P .. 'task:' .. t.id, unpack(set)) end
end

-- Counters are summed up and written once, by `close`.
local sums = {}

local function add(hash, field, by)
  sums[hash] = sums[hash] or {}
  sums[hash][field] = (sums[hash][field] or 0) + by
end

local function write_sums()
  for hash, fields in pairs(sums) do
    for field, by in pairs(fields) do
      if by ~= 0 and call('HINCRBY', hash, field, by) == 0 then call('HDEL', hash, field) end
    end
  end
end

local function is_live(state) return state == 'waiting' or state == 'in_progress' end

local function count(t, by)
  local field = t.state .. ':' .. t.kind
  add(P .. 'counts:u:' .. t.user, field, by)
  if t.cube then add(P .. 'counts:c:' .. t.cube, field, by) end
end

local function leave_state(t)
  call('ZREM', P .. t.state .. ':' .. t.kind, t.id)
  if t.state == 'waiting' then call('ZREM', P .. 'wait:' .. joined(t.kind, t.lane), t.id) end
  count(t, -1)
end

local function enter_state(t)
  call('ZADD', P .. t.state .. ':' .. t.kind, OPEN[t.state] and t.n or t.finished, t.id)
  if t.state == 'waiting' then call('ZADD', P .. 'wait:' .. joined(t.kind, t.lane), t.place, t.id) end
  count(t, 1)
end

local function live(t, by)
  add(P .. 'live', t.user, by)
  add(P .. 'meta', 'live', by)
end

local function turn(t, state)
  leave_state(t)
  if is_live(t.state) ~= is_live(state) then live(t, is_live(state) and 1 or -1) end
  t.state = state
  enter_state(t)
end

-- ---- lanes: ready, delayed or leased ----

local woke = false

local function take_turn(spot, user)
  -- Who was never served comes before all others, by the oldest task.
  local served = call('HGET', P .. 'served', user)
  local oldest = call('ZRANGE', P .. 'lanes:' .. joined(spot, user), 0, 0, 'WITHSCORES')[2]
  call('ZADD', P .. 'users:' .. spot, served or int(tonumber(oldest) - 2 ^ 52), user)
end

local function make_ready(lane, t)
  local spot = joined(t.kind, t.priority)
  call('HSET', P .. 'lane:' .. lane, 'at', 'ready', 'kind', t.kind, 'priority', t.priority, 'user', t.user)
  call('ZADD', P .. 'lanes:' .. joined(spot, t.user), t.place, lane)
  call('ZADD', P .. 'priorities:' .. t.kind, t.priority, t.priority)
  call('SADD', P .. 'spots:' .. t.user, spot)
  take_turn(spot, t.user)
end

local function unready(lane, kind, priority, user)
  local spot = joined(kind, priority)
  local lanes, users = P .. 'lanes:' .. joined(spot, user), P .. 'users:' .. spot
  call('ZREM', lanes, lane)
  if call('EXISTS', lanes) == 1 then return take_turn(spot, user) end
  call('ZREM', users, user)
  call('SREM', P .. 'spots:' .. user, spot)
  if call('EXISTS', users) == 0 then call('ZREM', P .. 'priorities:' .. kind, priority) end
end

local function unplace(lane)
  local h = call('HMGET', P .. 'lane:' .. lane, 'at', 'kind', 'priority', 'user')
  if h[1] == 'ready' then unready(lane, h[2], h[3], h[4]) end
  if h[1] == 'delayed' then call('ZREM', P .. 'delayed', lane) end
  return h[1]
end

local function place(lane)
  local first = call('XRANGE', P .. 'q:' .. lane, '-', '+', 'COUNT', 1)[1]
  if not first then
    call('DEL', P .. 'q:' .. lane, P .. 'lane:' .. lane)
    return
  end
  local t = load(first[2][2])
  if tonumber(t.available) > now then
    call('ZADD', P .. 'delayed', t.available, lane)
    call('HSET', P .. 'lane:' .. lane, 'at', 'delayed')
  else
    make_ready(lane, t)
  end
  woke = true
end

local function append(t)
  local stream = P .. 'q:' .. t.lane
  local new = call('EXISTS', P .. 'lane:' .. t.lane) == 0
  if new then
    call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
    call('HSET', P .. 'lane:' .. t.lane, 'at', 'new', 'delivered', '0')
  end
  call('XADD', stream, t.place .. '-0', 'id', t.id)
  return new
end

local function take_out(t)
  call('XACK', P .. 'q:' .. t.lane, GROUP, t.place .. '-0')
  call('XDEL', P .. 'q:' .. t.lane, t.place .. '-0')
end

local function finish(t, state)
  take_out(t)
  t.finished = int(now)
  turn(t, state)
end

local function number() return int(call('HINCRBY', P .. 'meta', 'n', 1)) end

-- ---- leases ----

local function holds(lane, token)
  local ends = call('ZSCORE', P .. 'leases', lane)
  return ends and tonumber(ends) > now and call('HGET', P .. 'lane:' .. lane, 'token') == token
end

local function consumer(worker) return 'worker:' .. worker end

local function entries_of(lane, worker)
  local pending = call('XPENDING', P .. 'q:' .. lane, GROUP, '-', '+', 1000, consumer(worker))
  local ids = {}
  for i, entry in ipairs(pending) do ids[i] = entry[1] end
  return ids
end

-- End the lease of a lane. What it still holds is handed to `left`, then waits in its old place, and the lane is open again.
local function end_lease(lane, left)
  local stream = P .. 'q:' .. lane
  local h = call('HMGET', P .. 'lane:' .. lane, 'worker', 'token')
  local held = entries_of(lane, h[1])
  if #held > 0 then
    for _, entry in ipairs(call('XCLAIM', stream, GROUP, BACK, 0, unpack(held))) do left(load(entry[2][2])) end
  end
  call('XGROUP', 'DELCONSUMER', stream, GROUP, consumer(h[1]))
  call('ZREM', P .. 'leases', lane)
  call('HDEL', P .. 'tokens', h[2])
  call('HDEL', P .. 'lane:' .. lane, 'token', 'worker')
  place(lane)
end

local function release(t)
  t.attempts = int(math.max(0, t.attempts - 1))
  t.worker, t.progress = false, '0'
  turn(t, 'waiting')
  save(t, 'state', 'attempts', 'available', 'worker', 'progress', 'by')
  if t.attempts == '0' then save(t, 'started') end
end

local function bury(t)
  finish(t, 'failed')
  save(t, 'state', 'finished', 'error', 'by')
end

local function run_out(t)
  if tonumber(t.attempts) >= tonumber(t.max) then
    t.error = 'the worker stopped or took too long, at the last of ' .. t.max .. ' attempts'
    bury(t)
  else
    t.worker, t.progress = false, '0'
    turn(t, 'waiting')
    save(t, 'state', 'worker', 'progress')
  end
end

-- End the leases that ran out. Every script that shows or changes tasks begins with it, so none is seen in progress for ever.
local function reclaim()
  for _, lane in ipairs(call('ZRANGEBYSCORE', P .. 'leases', '-inf', int(now), 'LIMIT', 0, DUE / 10)) do
    end_lease(lane, run_out)
  end
end

-- Open the lanes whose time has come.
local function open_due()
  for _, lane in ipairs(call('ZRANGEBYSCORE', P .. 'delayed', '-inf', int(now), 'LIMIT', 0, DUE)) do
    call('ZREM', P .. 'delayed', lane)
    place(lane)
  end
end

local function last_wake()
  local last = call('XREVRANGE', P .. 'wake', '+', '-', 'COUNT', 1)[1]
  return last and last[1] or '0-0'
end

-- What every script that changed something ends with.
local function close()
  write_sums()
  if woke then call('XADD', P .. 'wake', 'MAXLEN', 1, '*', 'w', '1') end
end

-- ---- queries ----

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
      if matches(t, q) and visit(t) then return before end
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
  for lane, at in pairs(touched) do
    if at == 'leased' then
      local worker = call('HGET', P .. 'lane:' .. lane, 'worker')
      if #entries_of(lane, worker) == 0 then end_lease(lane, run_out) end
    elseif at then
      place(lane)
    end
  end
end

local function drop(t)
  if is_live(t.state) then
    touch(t.lane)
    take_out(t)
    live(t, -1)
  end
  leave_state(t)
  call('ZREM', P .. 'all', t.id)
  call('ZREM', P .. 'user:' .. t.user, t.id)
  if t.cube then call('ZREM', P .. 'cube:' .. t.cube, t.id) end
  if t.caller then call('ZREM', P .. 'caller:' .. t.caller, t.id) end
  if t.key then call('HDEL', P .. 'keys:' .. t.kind, t.key) end
  call('DEL', P .. 'task:' .. t.id)
  if call('EXISTS', P .. 'user:' .. t.user) == 0 then call('HDEL', P .. 'served', t.user) end
  local sets = {}
  for i, state in ipairs({'waiting', 'in_progress', 'failed', 'completed', 'cancelled'}) do
    sets[i] = P .. state .. ':' .. t.kind
  end
  if call('EXISTS', unpack(sets)) == 0 then call('SREM', P .. 'kinds', t.kind) end
end

local function sweep()
  put_back()
  close()
  if call('EXISTS', P .. 'all') == 0 then call('DEL', P .. 'meta', P .. 'wake') end
end
""".replace("%FIELDS%", ", ".join(f"'{field}'" for field in FIELDS))


def whole(body: str) -> str:
    """A script: the head and what it does."""
    return BASE + body
