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
    clock              hash    `at`: when a delay or lease was last given, µs
    wake               stream  of length one: a new entry says that a lane may have become ready

Writes that free memory come first in `lease` and `settle`, so that both go on when the server has none left for more.
"""

from __future__ import annotations

from memos.storage.redis.rows import FIELDS
from memos.storage.tasks import WORKER_STOPPED

BASE = """
local P, call = KEYS[1], redis.call
local SHOWN = {%FIELDS%}
local NEEDED = {
  'id', 'kind', 'user', 'lane', 'cube', 'caller', 'priority', 'state', 'attempts', 'max', 'available', 'n', 'place', 'key',
}
local ALL = {%FIELDS%, 'n', 'place', 'key'}
local GROUP, BACK = 'workers', 'returned'  -- BACK: the consumer that has what was begun and given back
local DUE, RUN_OUT = 200, 20  -- how many lanes are looked after in one step, so that none takes long
local OPEN = {waiting = true, in_progress = true, failed = true}

local function int(x) return string.format('%.0f', x) end
local function joined(a, b) return #a .. ':' .. a .. b end

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

-- Writes are gathered and done together, a key at a time: what leaves streams and sets, what enters sets, and counters.
local acked, gone, come, sums = {}, {}, {}, {}

local function gather(writes, key, a, b)
  local list = writes[key] or {}
  writes[key] = list
  list[#list + 1] = a
  if b then list[#list + 1] = b end
end

local function add(hash, field, by)
  sums[hash] = sums[hash] or {}
  sums[hash][field] = (sums[hash][field] or 0) + by
end

local function in_parts(list, act)
  for i = 1, #list, 1000 do act(unpack(list, i, math.min(i + 999, #list))) end
end

local function write()
  for stream, ids in pairs(acked) do
    in_parts(ids, function(...)
      call('XACK', stream, GROUP, ...)
      call('XDEL', stream, ...)
    end)
  end
  for set, ids in pairs(gone) do in_parts(ids, function(...) call('ZREM', set, ...) end) end
  for set, scored in pairs(come) do in_parts(scored, function(...) call('ZADD', set, ...) end) end
  for hash, fields in pairs(sums) do
    for field, by in pairs(fields) do
      if by ~= 0 and call('HINCRBY', hash, field, by) == 0 then call('HDEL', hash, field) end
    end
  end
  acked, gone, come, sums = {}, {}, {}, {}
end

local function is_live(state) return state == 'waiting' or state == 'in_progress' end

local function count(t, by)
  local field = t.state .. ':' .. t.kind
  add(P .. 'counts:u:' .. t.user, field, by)
  if t.cube then add(P .. 'counts:c:' .. t.cube, field, by) end
end

local function leave_state(t)
  gather(gone, P .. t.state .. ':' .. t.kind, t.id)
  if t.state == 'waiting' then gather(gone, P .. 'wait:' .. joined(t.kind, t.lane), t.id) end
  count(t, -1)
end

local function enter_state(t)
  gather(come, P .. t.state .. ':' .. t.kind, OPEN[t.state] and t.n or t.finished, t.id)
  if t.state == 'waiting' then gather(come, P .. 'wait:' .. joined(t.kind, t.lane), t.place, t.id) end
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

local function first_of(lane)
  local stream = P .. 'q:' .. lane
  while true do
    local first = call('XRANGE', stream, '-', '+', 'COUNT', 1)[1]
    local t = first and load(first[2][2])
    if t or not first then return t end
    call('XACK', stream, GROUP, first[1])  -- somebody else deleted the task; the lane must not stand still for that
    call('XDEL', stream, first[1])
  end
end

-- Where the clock was put back, delays and leases are moved with it, or they would last until the old time has come again.
local function keep_time()
  local by = tonumber(call('HGET', P .. 'clock', 'at') or 0) - now
  if by <= 1000000 then return end
  for _, kind in ipairs(call('SMEMBERS', P .. 'kinds')) do
    for _, state in ipairs({'waiting:', 'in_progress:'}) do
      for _, id in ipairs(call('ZRANGE', P .. state .. kind, 0, -1)) do
        local available = tonumber(call('HGET', P .. 'task:' .. id, 'available'))
        if available and available > now then call('HSET', P .. 'task:' .. id, 'available', int(available - by)) end
      end
    end
  end
  for _, key in ipairs({P .. 'delayed', P .. 'leases'}) do
    for _, lane in ipairs(call('ZRANGE', key, 0, -1)) do call('ZINCRBY', key, int(-by), lane) end
  end
  call('HSET', P .. 'clock', 'at', int(now))
end

-- A delay or lease is given by this clock.
local function timed()
  keep_time()
  call('HSET', P .. 'clock', 'at', int(now))
end

local function place(lane)
  timed()
  local t = first_of(lane)
  if not t then
    call('DEL', P .. 'q:' .. lane, P .. 'lane:' .. lane)
    return
  end
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

local function take_out(t) gather(acked, P .. 'q:' .. t.lane, t.place .. '-0') end

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
  write()
  local stream = P .. 'q:' .. lane
  local h = call('HMGET', P .. 'lane:' .. lane, 'worker', 'token')
  local held = entries_of(lane, h[1])
  if #held > 0 then
    for _, entry in ipairs(call('XCLAIM', stream, GROUP, BACK, 0, unpack(held))) do
      local t = load(entry[2][2])
      if t then left(t) end
    end
  end
  call('XGROUP', 'DELCONSUMER', stream, GROUP, consumer(h[1]))
  call('ZREM', P .. 'leases', lane)
  call('HDEL', P .. 'tokens', h[2])
  call('HDEL', P .. 'lane:' .. lane, 'token', 'worker')
  write()
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
  t.error = 'its %STOPPED% or hung in attempt ' .. t.attempts .. ' of ' .. t.max .. ': the lease ran out'
  if tonumber(t.attempts) >= tonumber(t.max) then
    bury(t)
  else
    t.worker, t.progress = false, '0'
    turn(t, 'waiting')
    save(t, 'state', 'worker', 'progress', 'error')
  end
end

-- End the leases that ran out. Every script that shows or changes tasks begins with it, so none is seen in progress for ever.
local function reclaim()
  keep_time()
  for _, lane in ipairs(call('ZRANGEBYSCORE', P .. 'leases', '-inf', int(now), 'LIMIT', 0, RUN_OUT)) do
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
  write()
  if woke then call('XADD', P .. 'wake', 'MAXLEN', 1, '*', 'w', '1') end
end
""".replace("%STOPPED%", WORKER_STOPPED).replace("%FIELDS%", ", ".join(f"'{field}'" for field in FIELDS))


def whole(body: str) -> str:
    """A script: the head and what it does."""
    return BASE + body
