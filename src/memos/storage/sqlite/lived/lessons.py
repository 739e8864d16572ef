"""What episodes teach: lessons, the policies they are evidence of, and what is counted and compared of those."""

from __future__ import annotations

import builtins
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import apsw

from memos.memory.episode import FAILURE, SUCCESS
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.storage.sqlite.lived.rows_read import LESSON, TASK, Lesson, blob, number_of, read_lesson


def put_lessons(tx: Any, episode: str, lessons: Iterable[Lesson]) -> None:
    """What an episode teaches, in place of what it taught before."""
    e = number_of(tx.db, episode)
    tx.db.execute("DELETE FROM lessons WHERE episode=?", (e,))
    for it in lessons:
        steps = json.dumps({k: list(v) for k, v in sorted(it.steps.items())})
        tx.db.execute(
            "INSERT INTO lessons(episode, form, bucket, steps, value, memory) VALUES(?,?,?,?,?,?)",
            (e, it.form, it.bucket, steps, it.value, blob(it.memory)),
        )


def attach(tx: Any, numbers: Collection[int], memory: str | None) -> None:
    """Make lessons evidence of a policy (None: of none)."""
    for number in numbers:
        tx.db.execute("UPDATE lessons SET memory=? WHERE l=?", (blob(memory), number))


def lessons_of(db: apsw.Connection, id: str) -> list[Lesson]:
    """What an episode teaches."""
    return [*map(read_lesson, db.execute(f"SELECT {LESSON} WHERE e.id=? ORDER BY l.l", (id_to_bytes(id),)))]


def lessons_in(db: apsw.Connection, bucket: bytes, limit: int) -> list[Lesson]:
    """The lessons of a bucket of the newest episodes, oldest first (whenever they were learned from)."""
    found = db.execute(
        f"SELECT {LESSON} WHERE l.bucket=? ORDER BY l.episode DESC, l.l DESC LIMIT ?", (bucket, limit)
    ).fetchall()
    return [*map(read_lesson, reversed(found))]


def lessons_free(db: apsw.Connection, bucket: bytes, form: str, limit: int) -> list[Lesson]:
    """The newest good lessons of a form and bucket that are evidence of no policy, oldest first."""
    found = db.execute(
        f"SELECT {LESSON} WHERE l.bucket=? AND l.form=? AND l.memory IS NULL AND l.value>0 "
        "ORDER BY l.episode DESC, l.l DESC LIMIT ?",
        (bucket, form, limit),
    ).fetchall()
    return [*map(read_lesson, reversed(found))]


def lessons_failed(db: apsw.Connection, bucket: bytes, form: str, limit: int) -> list[Lesson]:
    """The newest lessons of a form and bucket that came to nothing, oldest first."""
    found = db.execute(
        f"SELECT {LESSON} WHERE l.bucket=? AND l.form=? AND l.value<0 ORDER BY l.episode DESC, l.l DESC LIMIT ?",
        (bucket, form, limit),
    ).fetchall()
    return [*map(read_lesson, reversed(found))]


def lessons_elsewhere(db: apsw.Connection, bucket: bytes, form: str, limit: int) -> list[Lesson]:
    """The newest good lessons of a form, of all buckets but one, that are evidence of no policy, newest first."""
    found = db.execute(
        f"SELECT {LESSON} WHERE l.form=? AND l.bucket<>? AND l.memory IS NULL AND l.value>0 ORDER BY l.l DESC LIMIT ?",
        (form, bucket, limit),
    )
    return [*map(read_lesson, found)]


def lessons_good(db: apsw.Connection, memory: str, most: int, of: int = 1_000) -> list[Lesson]:
    """Of the evidence of a policy from the newest episodes (`of`), what was worth something: the oldest, oldest first."""
    found = db.execute(
        "WITH newest AS (SELECT l FROM lessons WHERE memory=?1 ORDER BY episode DESC, l DESC LIMIT ?2) "
        f"SELECT {LESSON} WHERE l.l IN newest AND l.value>0 ORDER BY l.episode, l.l LIMIT ?3",
        (id_to_bytes(memory), of, most),
    )
    return [*map(read_lesson, found)]


def lessons_for(db: apsw.Connection, memory: str, limit: int = 1_000) -> list[Lesson]:
    """The evidence of a policy from the newest episodes, oldest first (whenever they were learned from)."""
    found = db.execute(
        f"SELECT {LESSON} WHERE l.memory=? ORDER BY l.episode DESC, l.l DESC LIMIT ?", (id_to_bytes(memory), limit)
    ).fetchall()
    return [*map(read_lesson, reversed(found))]


def lessons_newest(db: apsw.Connection, memory: str, limit: int) -> list[Lesson]:
    """The evidence of a policy from its newest episodes, in the order of these."""
    found = db.execute(
        f"SELECT {LESSON} WHERE l.memory=? ORDER BY l.episode DESC, l.l DESC LIMIT ?", (id_to_bytes(memory), limit)
    ).fetchall()
    return [*map(read_lesson, reversed(found))]


def policies_of_buckets(db: apsw.Connection, buckets: Collection[bytes]) -> list[str]:
    """The policies of which lessons of these buckets are evidence."""
    found: set[bytes] = set()
    for bucket in buckets:  # from one policy to the next, not through all their lessons
        next_ = "SELECT min(memory) FROM lessons WHERE bucket=?1 AND memory IS NOT NULL AND memory>"
        sql = (
            f"WITH RECURSIVE up(memory) AS ({next_}x'' UNION ALL SELECT ({next_}up.memory) FROM up WHERE up.memory IS NOT NULL) "
            "SELECT memory FROM up WHERE memory IS NOT NULL"
        )
        found.update(id for (id,) in db.execute(sql, (bucket,)))
    return [id_from_bytes(id) for id in sorted(found)]


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted of something learned: see `memos.memory.learned.Record`. `values`: of its lessons, the best of each
    task (an episode with those of its sub-agents); `support`: how many of these are above 0.
    """

    support: int
    values: tuple[float, ...]
    passes: int
    fails: int
    handed: int


def by_task(db: apsw.Connection) -> tuple[str, str]:
    """SQL of the lessons `l`, and of the task that each belongs to: see `Lesson.task`."""
    if db.execute("SELECT 1 FROM episodes WHERE parent IS NOT NULL LIMIT 1").get is None:
        return "lessons l", "l.episode"
    return "lessons l JOIN episodes e ON e.e=l.episode", TASK


def counted(db: apsw.Connection, memory: str) -> Counted:
    """Support and trials of a policy or skill."""
    ident = id_to_bytes(memory)
    lessons, task = by_task(db)
    values = [
        v for (v,) in db.execute(f"SELECT max(l.value) FROM {lessons} WHERE l.memory=? GROUP BY {task}", (ident,))
    ]
    tried: Any = db.execute(
        "SELECT count(*) FILTER (WHERE outcome='pass'), count(*) FILTER (WHERE outcome='fail'), count(*) FROM trials "
        "WHERE memory=?",
        (ident,),
    ).fetchone()
    return Counted(sum(v > 0 for v in values), tuple(values), *tried)


def failed_in(db: apsw.Connection, memory: str) -> builtins.list[str]:
    """The environments of episodes in which something learned was tried and did not help, or the task failed."""
    found = db.execute(
        "SELECT DISTINCT e.environment FROM trials t JOIN episodes e ON e.id=t.episode WHERE t.memory=? AND t.cube='' "
        "AND t.followed IS NOT 0 AND (t.outcome='fail' OR (t.outcome='unknown' AND t.reward<=?))",
        (id_to_bytes(memory), FAILURE),
    )
    return [environment for (environment,) in found]


def usual_success(db: apsw.Connection, memory: str, limit: int = 50) -> float:
    """The share of success among the newest episodes up to the last trial of something, of those in which it was not tried and
    whose outcome is clear; .5 where there are fewer than five.
    """
    ident = id_to_bytes(memory)
    last = db.execute(
        "SELECT max(e.e) FROM trials t JOIN episodes e ON e.id=t.episode WHERE t.memory=? "
        "AND t.outcome IN ('pass', 'fail')",
        (ident,),
    ).get
    found: Any = db.execute(
        "SELECT reward FROM episodes WHERE e<=? AND (reward>=? OR reward<=?) AND NOT EXISTS(SELECT 1 FROM trials t "
        "WHERE t.memory=? AND t.episode=episodes.id AND t.outcome IN ('pass', 'fail')) ORDER BY e DESC LIMIT ?",
        (last, SUCCESS, FAILURE, ident, limit),
    ).fetchall()
    return sum(reward > 0 for (reward,) in found) / len(found) if len(found) >= 5 else 0.5


@dataclass(frozen=True, slots=True)
class Compared:
    """Values of episodes with a policy (those that teach it, the best of each, and those it was tried in), and of comparable ones
    without it; of each the newest, oldest first.
    """

    with_it: tuple[float, ...]
    without: tuple[float, ...]


def compared(db: apsw.Connection, memory: str, limit: int) -> Compared:
    """What the gain of a policy is made of."""
    ident = id_to_bytes(memory)
    taught: Any = db.execute(
        "SELECT episode, max(value) FROM lessons WHERE memory=? GROUP BY episode ORDER BY episode DESC LIMIT ?",
        (ident, limit),
    ).fetchall()
    good: dict[int, float] = dict(taught)
    tried: Any = db.execute(
        "SELECT e.e, t.reward FROM trials t JOIN episodes e ON e.id=t.episode WHERE t.memory=? AND t.cube='' "
        "AND t.reward IS NOT NULL AND t.outcome<>'pending' AND t.followed IS NOT 0 ORDER BY e.e DESC LIMIT ?",
        (ident, limit),
    ).fetchall()
    for e, reward in tried:
        good.setdefault(e, reward)
    others: Any = db.execute(
        "SELECT episode, max(value) FROM lessons WHERE bucket IN (SELECT DISTINCT bucket FROM lessons WHERE memory=?1) "
        "AND memory IS NULL AND form='open' GROUP BY episode ORDER BY episode DESC LIMIT ?2",
        (ident, limit + len(good)),
    ).fetchall()
    without = [(e, value) for e, value in others if e not in good]
    return Compared(
        tuple(good[e] for e in sorted(good)[-limit:]), tuple(value for _, value in reversed(without[:limit]))
    )
