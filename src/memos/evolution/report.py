"""What changed in a span of time, for people: how episodes went, what was learned, promoted and retired."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import apsw

from memos.memory.acting import LearningReport, Stretch
from memos.memory.episode import SUCCESS
from memos.memory.model import Memory
from memos.memory.time import from_micros, to_micros
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite import lived, reads

SHOWN = 20  # memories of each list
_MOST_EVENTS = 100_000
_LEAST_FOR_THIRDS = 6
_MADE = frozenset({"policy.induced", "policy.told", "world.stated", "skill.crystallised", "skill.imported"})
_PROMOTED = frozenset({"policy.active", "skill.active"})
_RETIRED = frozenset({"policy.retired", "skill.retired", "world.retired"})


@dataclass(frozen=True, slots=True)
class _Span:
    """How the episodes of a span went."""

    begun: int
    closed: int
    valued: int
    succeeded: int
    steps: int

    @property
    def success_rate(self) -> float | None:
        return self.succeeded / self.valued if self.valued else None

    @property
    def steps_per_episode(self) -> float | None:
        return self.steps / self.closed if self.closed else None


def report(db: apsw.Connection, cube: str, since: datetime, until: datetime) -> LearningReport:
    """The report of one cube for `since` <= t < `until` (aware UTC)."""
    former = since - min(until - since, since - from_micros(0))  # as long a span before it, as far as there is one
    now, before = _span(db, since, until), _span(db, former, since)
    events = [e for e in lived.events(db, since=since, limit=_MOST_EVENTS) if e.at < until]
    counts = Counter(e.what for e in events)
    passed = Counter(
        str(e.numbers.get("outcome")) for e in events if e.what.endswith(".trial") and e.numbers.get("outcome")
    )

    def told(whats: frozenset[str]) -> tuple[Memory, ...]:
        return _memories(db, [e.memory for e in reversed(events) if e.what in whats and e.memory is not None])

    return LearningReport(
        cube=cube,
        since=since,
        until=until,
        episodes=now.begun,
        closed=now.closed,
        success_rate=now.success_rate,
        success_rate_before=before.success_rate,
        steps_per_episode=now.steps_per_episode,
        steps_per_episode_before=before.steps_per_episode,
        counts=dict(sorted(counts.items())),
        trials=dict(sorted(passed.items())),
        learned=told(_MADE),
        promoted=told(_PROMOTED),
        retired=told(_RETIRED),
        closed_before=before.closed,
        thirds=_thirds(db, since, until),
    )


def _thirds(db: apsw.Connection, since: datetime, until: datetime) -> tuple[Stretch, ...]:
    """How the first, the middle and the last third of the episodes that ended in the span went; none of fewer than six."""
    between = (to_micros(since), to_micros(until))
    ends = [
        from_micros(int(str(at)))
        for (at,) in db.execute(
            "SELECT closed_at FROM episodes WHERE closed_at>=? AND closed_at<? ORDER BY closed_at", between
        )
    ]
    if len(ends) < _LEAST_FOR_THIRDS:
        return ()
    third = len(ends) // 3
    borders = (since, ends[third], ends[-third], until)
    if not borders[0] <= borders[1] < borders[2] < borders[3]:
        return ()  # they ended at the same moment, as in an import
    out = []
    for begin, end in pairwise(borders):
        of = _span(db, begin, end)
        out.append(Stretch(begin, end, of.closed, of.success_rate, of.steps_per_episode))
    return tuple(out)


def _span(db: apsw.Connection, since: datetime, until: datetime) -> _Span:
    between = (to_micros(since), to_micros(until))
    begun = db.execute("SELECT count(*) FROM episodes WHERE opened_at>=? AND opened_at<?", between).get
    found = db.execute(
        "SELECT count(*), count(reward), count(*) FILTER (WHERE reward>=?), "
        "coalesce(sum((SELECT count(*) FROM steps s WHERE s.episode=e.e AND s.role IN ('tool','subagent'))), 0) "
        "FROM episodes e WHERE closed_at>=? AND closed_at<?",
        (SUCCESS, *between),
    ).fetchone()
    closed, valued, succeeded, steps = (int(str(x)) for x in found or (0, 0, 0, 0))
    return _Span(int(str(begun)), closed, valued, succeeded, steps)


def _memories(db: apsw.Connection, ids: list[str]) -> tuple[Memory, ...]:
    return tuple(reads.get(db, [*dict.fromkeys(ids)][:SHOWN], View(statuses=ANY_STATUS)))
