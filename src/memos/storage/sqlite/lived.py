"""Episodes, steps, signals, lessons, trials, hints and what was learned, in a cube file: the statements about these tables, for
changes (functions over `SqliteTx`) and for reads (`Lived`, a part of `SqliteCube`).

They hold ids, numbers and names, never a text (law 1): the texts are memories. A hard deletion takes rows along (`forget`).
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import apsw

from memos.errors import NotFound
from memos.memory.episode import Episode, Signal, SignalSource, Step, StepRole, ToolUse, own_words_of
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.learned import LearningEvent, Trial
from memos.memory.model import EMPTY, Memory
from memos.memory.time import from_micros, to_micros
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite import memo, reads, rows

T = TypeVar("T")
USE = "use"  # in the body of a step's memory: the `ToolUse`
LEARNED_ANEW = 64  # episodes that are learned from again when what they teach is deleted
REFLECTION = "reflection"  # in the body of a step's memory

_EPISODE = (
    "e.id, e.session, e.agent, e.owner, e.environment, e.parent, e.opened_at, e.last_at, e.closed_at, e.reason, e.due_at, "
    "e.learned_at, e.reward, e.confidence, "
    "(SELECT m.text FROM steps s JOIN memories m ON m.id=s.id AND m.known_to IS NULL WHERE s.episode=e.e AND s.role='user' "
    "AND m.status<>'retracted' ORDER BY s.s LIMIT 1), "
    "(SELECT count(*) FROM steps s WHERE s.episode=e.e AND s.role='user'), "
    "(SELECT count(*) FROM steps s WHERE s.episode=e.e AND s.role IN ('tool','subagent')), "
    "(SELECT count(*) FROM steps s WHERE s.episode=e.e AND s.ok=0), "
    "(SELECT m.body->'injected' FROM steps s JOIN memories m ON m.id=s.id AND m.known_to IS NULL WHERE s.episode=e.e "
    "AND s.role='user' AND m.status<>'retracted' ORDER BY s.s LIMIT 1)"
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one episode teaches, before and after it is evidence of a policy. `steps`: numbers of steps by what they are in it
    (`failed`, `done`, `resolved`, `goal`). `episode`: the episode's id. `value` in [-1, 1].
    """

    episode: str
    form: str
    bucket: bytes
    steps: Mapping[str, tuple[int, ...]]
    value: float
    memory: str | None = None
    number: int = 0
    root: str = ""

    @property
    def task(self) -> str:
        """The episode, or, of a sub-agent's, the one that all its work was for: what was learned in one task is learned once."""
        return self.root or self.episode


_TASK = (
    "CASE WHEN e.parent IS NULL THEN e.id ELSE (WITH RECURSIVE up(id, far) AS (SELECT e.parent, 1 UNION ALL "
    "SELECT p.parent, far+1 FROM up JOIN episodes p ON p.id=up.id WHERE p.parent IS NOT NULL AND far<100) "
    "SELECT id FROM up ORDER BY far DESC LIMIT 1) END"
)  # of an episode: the one that it is, in the end, a part of


# -- changes -------------------------------------------------------------------------------------------------------


def open_episode(
    tx: Any, id: str, *, session: str, agent: str, owner: str, environment: str, at: datetime, parent: str | None = None
) -> None:
    """Begin an episode."""
    tx.db.execute(
        "INSERT INTO episodes(id, session, agent, owner, environment, parent, opened_at, last_at) VALUES(?,?,?,?,?,?,?,?)",
        (id_to_bytes(id), session, agent, owner, environment, _blob(parent), to_micros(at), to_micros(at)),
    )


def close_episode(tx: Any, id: str, reason: str, at: datetime, due_at: datetime) -> bool:
    """End an open episode, to be learned from at `due_at`; False when it was closed already."""
    tx.db.execute(
        "UPDATE episodes SET closed_at=?, reason=?, due_at=? WHERE id=? AND closed_at IS NULL",
        (to_micros(at), reason, to_micros(due_at), id_to_bytes(id)),
    )
    return bool(tx.db.changes())


def reopen_episode(tx: Any, id: str, at: datetime) -> None:
    """Go on with a closed episode; what was learned from it stays until it is learned from again."""
    tx.db.execute(
        "UPDATE episodes SET closed_at=NULL, reason=NULL, due_at=NULL, last_at=? WHERE id=?",
        (to_micros(at), id_to_bytes(id)),
    )


def learn_again(tx: Any, id: str, due_at: datetime) -> None:
    """Have a closed episode learned from (again) at `due_at`, or sooner where that was so; an open one waits to be closed."""
    tx.db.execute(
        "UPDATE episodes SET due_at=min(coalesce(due_at, ?1), ?1) WHERE id=?2 AND closed_at IS NOT NULL",
        (to_micros(due_at), id_to_bytes(id)),
    )


def add_step(
    tx: Any,
    episode: str,
    id: str,
    role: StepRole,
    turn: int,
    at: datetime,
    *,
    tool: str | None = None,
    ok: bool | None = None,
    signature: bytes | None = None,
    context: bytes | None = None,
) -> int:
    """Note that a memory is a step of an episode; returns its number. One that is noted already keeps its place."""
    number = tx.db.execute("SELECT s FROM steps WHERE id=?", (id_to_bytes(id),)).get
    if number is not None:
        return int(str(number))
    e = _e(tx.db, episode)
    tx.db.execute(
        "INSERT INTO steps(id, episode, turn, role, at, tool, ok, signature, context) VALUES(?,?,?,?,?,?,?,?,?)",
        (
            id_to_bytes(id),
            e,
            turn,
            role.value,
            to_micros(at),
            tool,
            None if ok is None else int(ok),
            signature,
            context,
        ),
    )
    number = tx.db.last_insert_rowid()
    tx.db.execute("UPDATE episodes SET last_at=max(last_at, ?) WHERE e=?", (to_micros(at), e))
    return int(number)


def set_value(tx: Any, number: int, alpha: float | None, value: float | None) -> None:
    """What a step was worth."""
    tx.db.execute("UPDATE steps SET alpha=?, value=? WHERE s=?", (alpha, value, number))
    tx.memo.revalued(number)


def set_reward(tx: Any, id: str, reward: float | None, confidence: float, at: datetime) -> None:
    """What an episode was worth; with that it is learned from."""
    tx.db.execute(
        "UPDATE episodes SET reward=?, confidence=?, learned_at=?, due_at=NULL WHERE id=?",
        (reward, confidence, to_micros(at), id_to_bytes(id)),
    )


def add_signal(tx: Any, episode: str, signal: Signal, key: str) -> bool:
    """Keep a piece of evidence; `key`: what makes it the same again, within its episode. False when it was there: a new score
    takes the place of the former.
    """
    digest = hashlib.sha256(f"{episode}\0{key}".encode()).digest()
    there = tx.db.execute("SELECT 1 FROM signals WHERE key=?", (digest,)).get is not None
    values = (signal.source.value, signal.what, signal.score, to_micros(signal.at), _blob(signal.memory))
    tx.db.execute(
        "INSERT INTO signals(episode, source, what, score, at, id, key) VALUES(?,?,?,?,?,?,?) ON CONFLICT(key) DO UPDATE SET "
        "source=excluded.source, what=excluded.what, score=excluded.score, at=excluded.at, id=excluded.id",
        (_e(tx.db, episode), *values, digest),
    )
    return not there


def put_lessons(tx: Any, episode: str, lessons: Iterable[Lesson]) -> None:
    """What an episode teaches, in place of what it taught before."""
    e = _e(tx.db, episode)
    tx.db.execute("DELETE FROM lessons WHERE episode=?", (e,))
    for it in lessons:
        steps = json.dumps({k: list(v) for k, v in sorted(it.steps.items())})
        tx.db.execute(
            "INSERT INTO lessons(episode, form, bucket, steps, value, memory) VALUES(?,?,?,?,?,?)",
            (e, it.form, it.bucket, steps, it.value, _blob(it.memory)),
        )


def attach(tx: Any, numbers: Collection[int], memory: str | None) -> None:
    """Make lessons evidence of a policy (None: of none)."""
    for number in numbers:
        tx.db.execute("UPDATE lessons SET memory=? WHERE l=?", (_blob(memory), number))


def hand_out(
    tx: Any, memory: str, episode: str, at: datetime, *, after: int = 0, cube: str = "", home: str = ""
) -> bool:
    """Begin a trial: something learned is handed out in an episode, after the step of that number. False when it was already.

    `cube`: of the episode, where that is another than this. `home`: the cube of the memory, where that is another than this;
    a copy's is where it was copied from. The trial counts there too, once it is resolved: see `uncarried`.
    """
    back = f"{home}/{memory}" if home else "" if cube else _shared_from(tx.db, memory)
    tx.db.execute(
        "INSERT OR IGNORE INTO trials(memory, cube, episode, handed_at, after, home) VALUES(?,?,?,?,?,?)",
        (id_to_bytes(memory), cube, id_to_bytes(episode), to_micros(at), after, back),
    )
    return bool(tx.db.changes())


def resolve_trial(
    tx: Any,
    memory: str,
    episode: str,
    outcome: str,
    reward: float | None,
    followed: bool | None,
    at: datetime,
    *,
    cube: str = "",
) -> bool:
    """Say what came of a trial; False when nothing changed."""
    values = (outcome, reward, None if followed is None else int(followed))
    tx.db.execute(
        "UPDATE trials SET outcome=?1, reward=?2, followed=?3, resolved_at=?4 WHERE memory=?5 AND cube=?6 AND episode=?7 "
        "AND (outcome<>?1 OR reward IS NOT ?2 OR followed IS NOT ?3)",
        (*values, to_micros(at), id_to_bytes(memory), cube, id_to_bytes(episode)),
    )
    return bool(tx.db.changes())


def tell(
    tx: Any, what: str, *, memory: str | None = None, episode: str | None = None, numbers: Mapping[str, Any] = EMPTY
) -> None:
    """Add to the stream of what is learned. `numbers`: numbers, ids and words of closed sets only."""
    tx.db.execute(
        "INSERT INTO learned(at, what, memory, episode, numbers) VALUES(?,?,?,?,?)",
        (tx.now_us, what, _blob(memory), _blob(episode), json.dumps(dict(numbers)) if numbers else None),
    )


def add_hint(
    tx: Any,
    *,
    session: str,
    episode: str,
    tool: str,
    context: bytes,
    failures: int,
    after: int,
    at: datetime,
    memory: str | None = None,
    prefer: str | None = None,
    avoid: str | None = None,
) -> int:
    """Keep a hint: `memory` is the policy it draws from, `prefer` and `avoid` are memories of steps that worked and did not."""
    tx.db.execute(
        "INSERT INTO hints(session, episode, tool, context, failures, after, memory, prefer, avoid, made_at) "
        "VALUES(?,?,?,?,?,?,?,?,?,?)",
        (
            *(session, _e(tx.db, episode), tool, context, failures, after),
            *(_blob(memory), _blob(prefer), _blob(avoid), to_micros(at)),
        ),
    )
    return int(tx.db.last_insert_rowid())


def mark_delivered(tx: Any, hint: int, at: datetime) -> None:
    """A hint was handed to its agent."""
    tx.db.execute("UPDATE hints SET delivered_at=? WHERE h=? AND delivered_at IS NULL", (to_micros(at), hint))


def mark_carried(tx: Any, trial: Uncarried) -> None:
    """The outcome of a trial was told to the memory's own cube, or nobody there is to be told."""
    tx.db.execute(
        "UPDATE trials SET carried=? WHERE memory=? AND cube='' AND episode=?",
        (trial.outcome, id_to_bytes(trial.memory), id_to_bytes(trial.episode)),
    )


def validate_hint(tx: Any, hint: int, good: bool, at: datetime) -> bool:
    """What happened after a hint; False when that was known."""
    tx.db.execute(
        "UPDATE hints SET validated=?, resolved_at=? WHERE h=? AND validated IS NULL", (int(good), to_micros(at), hint)
    )
    return bool(tx.db.changes())


def forget(db: apsw.Connection, idents: Collection[bytes]) -> None:
    """Take hard-deleted memories out of all tables. An episode without any step goes too; one that lost some is learned from
    again, as is one of which an opinion is gone.
    """
    for ident in idents:
        e = db.execute("SELECT episode FROM steps WHERE id=?", (ident,)).get
        db.execute("DELETE FROM steps WHERE id=?", (ident,))
        db.execute(
            "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE closed_at IS NOT NULL "
            "AND e IN (SELECT episode FROM signals WHERE id=?)",
            (ident,),
        )
        db.execute("DELETE FROM signals WHERE id=?", (ident,))
        db.execute("DELETE FROM trials WHERE memory=?", (ident,))
        _learn_anew(db, ident)
        db.execute("UPDATE lessons SET memory=NULL WHERE memory=?", (ident,))
        db.execute("DELETE FROM learned WHERE memory=?", (ident,))
        for column in ("memory", "prefer", "avoid"):
            db.execute(f"DELETE FROM hints WHERE {column}=?", (ident,))
        if e is None:
            continue
        if db.execute("SELECT 1 FROM steps WHERE episode=? LIMIT 1", (e,)).get is None:
            _drop(db, e)
        else:
            db.execute(
                "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE e=? AND closed_at IS NOT NULL", (e,)
            )


def taken_back(db: apsw.Connection, ident: bytes) -> None:
    """A memory was taken back, or came back: the episode of which it is a step, or an opinion, is learned from again, as are the
    newest that teach it.
    """
    db.execute(
        "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE closed_at IS NOT NULL AND e IN "
        "(SELECT episode FROM steps WHERE id=?1 UNION SELECT episode FROM signals WHERE id=?1)",
        (ident,),
    )
    _learn_anew(db, ident)


def _learn_anew(db: apsw.Connection, ident: bytes) -> None:
    """The newest episodes that teach what is deleted are learned from again: what they say without it is not lost."""
    db.execute(
        "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE closed_at IS NOT NULL AND e IN "
        "(SELECT DISTINCT episode FROM lessons WHERE memory=? ORDER BY episode DESC LIMIT ?)",
        (ident, LEARNED_ANEW),
    )


def _drop(db: apsw.Connection, e: int) -> None:
    id = db.execute("SELECT id FROM episodes WHERE e=?", (e,)).get
    for table in ("signals", "lessons", "hints"):
        db.execute(f"DELETE FROM {table} WHERE episode=?", (e,))
    db.execute("DELETE FROM trials WHERE episode=? AND cube=''", (id,))
    db.execute("DELETE FROM learned WHERE episode=?", (id,))
    db.execute("DELETE FROM episodes WHERE e=?", (e,))


# -- reads, within a change or outside -------------------------------------------------------------------------------


def episode(db: apsw.Connection, id: str) -> Episode | None:
    """An episode; None when there is none of this id."""
    found = db.execute(f"SELECT {_EPISODE} FROM episodes e WHERE e.id=?", (id_to_bytes(id),)).fetchone()
    return None if found is None else _episode(found)


def last_episode(db: apsw.Connection, session: str, *, agent: str | None = None) -> Episode | None:
    """The last episode of a session, open or closed."""
    found = db.execute(
        f"SELECT {_EPISODE} FROM episodes e WHERE e.session=?1 AND (?2 IS NULL OR e.agent=?2) ORDER BY e.e DESC LIMIT 1",
        (session, agent),
    ).fetchone()
    return None if found is None else _episode(found)


def episodes(
    db: apsw.Connection,
    *,
    limit: int,
    before: int | None = None,
    session: str | None = None,
    agent: str | None = None,
    is_open: bool | None = None,
) -> tuple[list[Episode], int | None]:
    """A page of episodes, newest first, and where the next begins."""
    found = db.execute(
        f"SELECT {_EPISODE}, e.e FROM episodes e WHERE (?1 IS NULL OR e.e<?1) AND (?2 IS NULL OR e.session=?2) "
        "AND (?3 IS NULL OR e.agent=?3) AND (?4 IS NULL OR (e.closed_at IS NULL)=?4) ORDER BY e.e DESC LIMIT ?5",
        (before, session, agent, None if is_open is None else int(is_open), limit + 1),
    ).fetchall()
    rows_: list[Any] = found
    return [_episode(row[:-1]) for row in rows_[:limit]], (rows_[limit - 1][-1] if len(rows_) > limit else None)


def idle(db: apsw.Connection, before: datetime, limit: int = 100) -> list[str]:
    """Open episodes in which nothing happened since, oldest first."""
    found = db.execute(
        "SELECT id FROM episodes WHERE closed_at IS NULL AND last_at<? ORDER BY last_at LIMIT ?",
        (to_micros(before), limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def due(db: apsw.Connection, now: datetime | None, limit: int = 1) -> list[str]:
    """Episodes to be learned from by now (None: whenever they are due), in the order they were closed."""
    found = db.execute(
        "SELECT id FROM episodes WHERE due_at IS NOT NULL AND (?1 IS NULL OR due_at<=?1) ORDER BY closed_at, e LIMIT ?2",
        (None if now is None else to_micros(now), limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def next_due(db: apsw.Connection) -> datetime | None:
    """When the next episode is due; None when none is."""
    found = db.execute("SELECT min(due_at) FROM episodes WHERE due_at IS NOT NULL").get
    return None if found is None else from_micros(found)


def steps(db: apsw.Connection, id: str) -> list[Step]:
    """The steps of an episode, in order, without those that were taken back."""
    return _steps(db, "s.episode=(SELECT e FROM episodes WHERE id=?)", (id_to_bytes(id),))


def steps_by_number(db: apsw.Connection, numbers: Collection[int]) -> dict[int, Step]:
    """Steps by number; those that are gone or were taken back are left out."""
    kept = memo.of(db)
    known = {} if kept is None else {n: step for n in numbers if (step := kept.steps.get(n)) is not None}
    wanted = [n for n in numbers if n not in known]
    for step in _steps(db, "s.s IN (SELECT value FROM json_each(?))", (json.dumps(wanted),)) if wanted else ():
        known[step.number] = step
        if kept is not None:
            kept.keep_step(step)
    return {n: known[n] for n in sorted(known)}


def numbers_there(db: apsw.Connection, numbers: Collection[int]) -> set[int]:
    """Those of these numbers that are of steps which are there and were not taken back."""
    found = db.execute(
        "SELECT s.s FROM steps s JOIN memories m ON m.id=s.id AND m.known_to IS NULL "
        "WHERE s.s IN (SELECT value FROM json_each(?)) AND m.status<>'retracted'",
        (json.dumps([*numbers]),),
    )
    return {int(n) for (n,) in found}


def episode_of_step(db: apsw.Connection, id: str) -> str | None:
    """The episode that a memory is a step of."""
    found = db.execute("SELECT e.id FROM steps s JOIN episodes e ON e.e=s.episode WHERE s.id=?", (id_to_bytes(id),)).get
    return None if found is None else id_from_bytes(found)


def last_step(db: apsw.Connection, id: str) -> int:
    """The number of an episode's last step; 0 when it has none."""
    sql = "SELECT coalesce(max(s), 0) FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?)"
    return int(str(db.execute(sql, (id_to_bytes(id),)).get))


def failures_in_a_row(
    db: apsw.Connection, session: str, tool: str, context: bytes, window: int
) -> list[tuple[int, str]]:
    """Number and id of the failed steps of a tool in a context, of the session's last `window` steps with that tool and context,
    newest first, up to the first that did not fail.
    """
    found = db.execute(
        "SELECT s.s, s.id, s.ok FROM steps s JOIN episodes e ON e.e=s.episode WHERE s.tool=? AND s.context=? AND e.session=? "
        "ORDER BY s.s DESC LIMIT ?",
        (tool, context, session, window),
    )
    out = []
    for number, ident, ok in found:
        if ok != 0:
            break
        out.append((number, id_from_bytes(ident)))
    return out


def signals(db: apsw.Connection, id: str) -> list[Signal]:
    """What was said of an episode's outcome, in order, without what was taken back."""
    found = db.execute(
        "SELECT source, what, score, at, id FROM signals s WHERE episode=(SELECT e FROM episodes WHERE id=?) AND NOT EXISTS "
        "(SELECT 1 FROM memories m WHERE m.id=s.id AND m.known_to IS NULL AND m.status='retracted') ORDER BY n",
        (id_to_bytes(id),),
    )
    return [
        Signal(SignalSource(source), what, score, from_micros(at), None if m is None else id_from_bytes(m))
        for source, what, score, at, m in found
    ]


_LESSON = (
    f"l.l, e.id, l.form, l.bucket, l.steps, l.value, l.memory, {_TASK} FROM lessons l JOIN episodes e ON e.e=l.episode"
)


def lessons_of(db: apsw.Connection, id: str) -> list[Lesson]:
    """What an episode teaches."""
    return [*map(_lesson, db.execute(f"SELECT {_LESSON} WHERE e.id=? ORDER BY l.l", (id_to_bytes(id),)))]


def lessons_in(db: apsw.Connection, bucket: bytes, limit: int) -> list[Lesson]:
    """The lessons of a bucket of the newest episodes, oldest first (whenever they were learned from)."""
    found = db.execute(
        f"SELECT {_LESSON} WHERE l.bucket=? ORDER BY l.episode DESC, l.l DESC LIMIT ?", (bucket, limit)
    ).fetchall()
    return [*map(_lesson, reversed(found))]


def lessons_free(db: apsw.Connection, bucket: bytes, form: str, limit: int) -> list[Lesson]:
    """The newest good lessons of a form and bucket that are evidence of no policy, oldest first."""
    found = db.execute(
        f"SELECT {_LESSON} WHERE l.bucket=? AND l.form=? AND l.memory IS NULL AND l.value>0 "
        "ORDER BY l.episode DESC, l.l DESC LIMIT ?",
        (bucket, form, limit),
    ).fetchall()
    return [*map(_lesson, reversed(found))]


def lessons_failed(db: apsw.Connection, bucket: bytes, form: str, limit: int) -> list[Lesson]:
    """The newest lessons of a form and bucket that came to nothing, oldest first."""
    found = db.execute(
        f"SELECT {_LESSON} WHERE l.bucket=? AND l.form=? AND l.value<0 ORDER BY l.episode DESC, l.l DESC LIMIT ?",
        (bucket, form, limit),
    ).fetchall()
    return [*map(_lesson, reversed(found))]


def lessons_elsewhere(db: apsw.Connection, bucket: bytes, form: str, limit: int) -> list[Lesson]:
    """The newest good lessons of a form, of all buckets but one, that are evidence of no policy, newest first."""
    found = db.execute(
        f"SELECT {_LESSON} WHERE l.form=? AND l.bucket<>? AND l.memory IS NULL AND l.value>0 ORDER BY l.l DESC LIMIT ?",
        (form, bucket, limit),
    )
    return [*map(_lesson, found)]


def environments(db: apsw.Connection, ids: Collection[str]) -> dict[str, str]:
    """Where episodes took place, by id."""
    found = db.execute(
        "SELECT id, environment FROM episodes WHERE id IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([id.replace("-", "") for id in sorted(set(ids))]),),
    )
    return {id_from_bytes(id): environment for id, environment in found}


def episodes_by_id(db: apsw.Connection, ids: Collection[str]) -> dict[str, Episode]:
    """Episodes by id."""
    found = db.execute(
        f"SELECT {_EPISODE} FROM episodes e WHERE e.id IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([id.replace("-", "") for id in sorted(set(ids))]),),
    )
    return {e.id: e for e in map(_episode, found)}


def lessons_good(db: apsw.Connection, memory: str, most: int, of: int = 1_000) -> list[Lesson]:
    """Of the evidence of a policy from the newest episodes (`of`), what was worth something: the oldest, oldest first."""
    found = db.execute(
        "WITH newest AS (SELECT l FROM lessons WHERE memory=?1 ORDER BY episode DESC, l DESC LIMIT ?2) "
        f"SELECT {_LESSON} WHERE l.l IN newest AND l.value>0 ORDER BY l.episode, l.l LIMIT ?3",
        (id_to_bytes(memory), of, most),
    )
    return [*map(_lesson, found)]


def lessons_for(db: apsw.Connection, memory: str, limit: int = 1_000) -> list[Lesson]:
    """The evidence of a policy from the newest episodes, oldest first (whenever they were learned from)."""
    found = db.execute(
        f"SELECT {_LESSON} WHERE l.memory=? ORDER BY l.episode DESC, l.l DESC LIMIT ?", (id_to_bytes(memory), limit)
    ).fetchall()
    return [*map(_lesson, reversed(found))]


def lessons_newest(db: apsw.Connection, memory: str, limit: int) -> list[Lesson]:
    """The evidence of a policy from its newest episodes, in the order of these."""
    found = db.execute(
        f"SELECT {_LESSON} WHERE l.memory=? ORDER BY l.episode DESC, l.l DESC LIMIT ?", (id_to_bytes(memory), limit)
    ).fetchall()
    return [*map(_lesson, reversed(found))]


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
    return "lessons l JOIN episodes e ON e.e=l.episode", _TASK


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


_TRIAL = "memory, episode, handed_at, outcome, reward, resolved_at, followed, cube FROM trials"


def trials(
    db: apsw.Connection,
    *,
    memory: str | None = None,
    episode: str | None = None,
    pending: bool = False,
    limit: int = 1_000,
) -> list[Trial]:
    """Trials of something learned, or in an episode of this cube, newest first."""
    asked = [("memory=:memory", memory), ("episode=:episode AND cube=''", episode)]
    conditions = [sql for sql, given in asked if given is not None] + ["outcome='pending'"] * pending
    where = " AND ".join(conditions) or "1"
    found = db.execute(
        f"SELECT {_TRIAL} WHERE {where} ORDER BY t DESC LIMIT :limit",
        {"memory": _blob(memory), "episode": _blob(episode), "limit": limit},
    )
    return [
        Trial(
            id_from_bytes(m), id_from_bytes(e), from_micros(at), outcome, reward, _time(resolved), _bool(followed), cube
        )
        for m, e, at, outcome, reward, resolved, followed, cube in found
    ]


@dataclass(frozen=True, slots=True)
class Uncarried:
    """A resolved trial of this cube that counts in another, `home`, for the memory `source` there, and was not told there yet.
    `owner`: on whose right to read there it is told: who made the copy, else whose episode it was.
    """

    memory: str
    episode: str
    owner: str
    home: str
    source: str
    handed_at: datetime
    outcome: str
    reward: float | None
    followed: bool | None


def uncarried(db: apsw.Connection, limit: int = 100) -> list[Uncarried]:
    """The trials whose outcome is to be told to other cubes, oldest first."""
    found = db.execute(
        "SELECT t.memory, t.episode, coalesce((SELECT m.owner FROM memories m WHERE m.id=t.memory AND m.known_to IS NULL), "
        "e.owner), t.home, t.handed_at, t.outcome, t.reward, t.followed FROM trials t "
        "JOIN episodes e ON e.id=t.episode WHERE t.home<>'' AND t.carried<>t.outcome ORDER BY t.t LIMIT ?",
        (limit,),
    )
    out = []
    for m, e, owner, back, at, outcome, reward, followed in found:
        home, _, source = back.rpartition("/")
        ids = (id_from_bytes(m), id_from_bytes(e))
        out.append(Uncarried(*ids, owner, home, source, from_micros(at), outcome, reward, _bool(followed)))
    return out


def handed_after(db: apsw.Connection, memory: str, episode: str, *, cube: str = "") -> int:
    """The number of the step after which something was handed out in an episode."""
    sql = "SELECT after FROM trials WHERE memory=? AND episode=? AND cube=?"
    after = db.execute(sql, (id_to_bytes(memory), id_to_bytes(episode), cube)).get
    return 0 if after is None else int(str(after))


@dataclass(frozen=True, slots=True)
class StoredHint:
    """A hint as it is stored: what it refers to is not read yet."""

    id: int
    session: str
    episode: str
    tool: str
    context: bytes
    failures: int
    after: int
    memory: str | None
    prefer: str | None
    avoid: str | None
    made_at: datetime
    delivered_at: datetime | None
    validated: bool | None


_HINT = (
    "h.h, h.session, e.id, h.tool, h.context, h.failures, h.after, h.memory, h.prefer, h.avoid, h.made_at, "
    "h.delivered_at, h.validated FROM hints h JOIN episodes e ON e.e=h.episode"
)


def hint(db: apsw.Connection, number: int) -> StoredHint | None:
    """A hint as it is stored; None when there is none."""
    found = db.execute(f"SELECT {_HINT} WHERE h.h=?", (number,)).fetchone()
    return None if found is None else _hint(found)


def hints(
    db: apsw.Connection,
    *,
    session: str | None = None,
    episode: str | None = None,
    open_only: bool = False,
    limit: int = 20,
) -> list[StoredHint]:
    """Hints of a session or an episode, newest first. `open_only`: those not validated yet."""
    asked = [("h.session=:session", session), ("h.episode=(SELECT e FROM episodes WHERE id=:episode)", episode)]
    conditions = [sql for sql, given in asked if given is not None] + ["h.validated IS NULL"] * open_only
    where = " AND ".join(conditions) or "1"
    found = db.execute(
        f"SELECT {_HINT} WHERE {where} ORDER BY h.h DESC LIMIT :limit",
        {"session": session, "episode": _blob(episode), "limit": limit},
    )
    return [*map(_hint, found)]


def events(
    db: apsw.Connection, *, after: int = 0, limit: int = 100, memory: str | None = None, since: datetime | None = None
) -> list[LearningEvent]:
    """What was learned after a number of the stream, in order."""
    found = db.execute(
        "SELECT n, at, what, memory, episode, numbers FROM learned WHERE n>?1 AND (?2 IS NULL OR memory=?2) "
        "AND (?3 IS NULL OR at>=?3) ORDER BY n LIMIT ?4",
        (after, _blob(memory), None if since is None else to_micros(since), limit),
    )
    return [
        LearningEvent(
            n,
            from_micros(at),
            what,
            None if m is None else id_from_bytes(m),
            None if e is None else id_from_bytes(e),
            json.loads(numbers) if numbers else EMPTY,
        )
        for n, at, what, m, e, numbers in found
    ]


def was_told(db: apsw.Connection, what: str, memory: str, name: str, value: str) -> bool:
    """Whether this was told of something learned before, with this value among the numbers."""
    sql = "SELECT 1 FROM learned WHERE memory=? AND what=? AND numbers->>?=? LIMIT 1"
    return db.execute(sql, (id_to_bytes(memory), what, f"$.{name}", value)).get is not None


def last_event(db: apsw.Connection) -> int:
    """The number of the last event; 0 before the first."""
    return int(str(db.execute("SELECT coalesce(max(n), 0) FROM learned").get))


_LEARNED = "m.kind IN ('policy','world_model','skill')"  # in these words, so that the index of them is used


@dataclass(frozen=True, slots=True)
class Stamp:
    """Up to where a file was read: the highest row of a memory, and the last hard deletion."""

    row: int = 0
    deletion: int = 0


def learned_since(db: apsw.Connection, known: Stamp) -> tuple[Stamp, list[Memory]]:
    """What is learned (policies, statements of the world, skills) and was written after `known`, oldest first, whatever its
    status; and up to where that is. After a deletion everything is read again: `known.deletion` differs from the answer's.
    """
    row, deletion = reads.newest(db)
    after = known.row if deletion == known.deletion else 0
    if after == row and deletion == known.deletion:
        return known, []
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE {_LEARNED} AND m.n>? AND m.known_to IS NULL ORDER BY m.n", (after,)
    )
    return Stamp(row, deletion), [*map(rows.memory_from_row, found)]


def learned_memories(
    db: apsw.Connection, kind: str, *, states: Collection[str] | None = None, limit: int = 10_000
) -> list[Memory]:
    """The memories of a kind (policy, world_model, skill) that stand, newest first, by the `state` of their body."""
    wanted = None if states is None else json.dumps(sorted(states))
    retired = states is None or "retired" in states
    status = "m.status IN ('active','archived')" if retired else "m.status='active'"
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind=?1 AND {_LEARNED} AND m.known_to IS NULL AND {status} "
        "AND (?2 IS NULL OR m.body->>'state' IN (SELECT value FROM json_each(?2))) ORDER BY m.id DESC LIMIT ?3",
        (kind, wanted, limit),
    )
    return [*map(rows.memory_from_row, found)]


def skills_named(db: apsw.Connection, name: str) -> list[Memory]:
    """The skills that stand under a name, those in use first, then the newest."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind='skill' AND m.known_to IS NULL "
        "AND m.status IN ('active','archived') AND m.body->>'name'=? ORDER BY m.status, m.id DESC",
        (name,),
    )
    return [*map(rows.memory_from_row, found)]


class Lived:
    """The part of `SqliteCube` that reads these. A function above, with the same arguments after the connection."""

    async def _read(self, fn: Callable[[apsw.Connection], T]) -> T:
        raise NotImplementedError

    async def lived(self, fn: Callable[..., T], *args: Any, **named: Any) -> T:
        """One of the reading functions of this module, on one state of the file."""
        return await self._read(lambda db: fn(db, *args, **named))

    async def read_lived(self, fn: Callable[[apsw.Connection], T]) -> T:
        """Several of them, on one state of the file."""
        return await self._read(fn)


# -- inside --------------------------------------------------------------------------------------------------------


def _e(db: apsw.Connection, id: str) -> int:
    e = db.execute("SELECT e FROM episodes WHERE id=?", (id_to_bytes(id),)).get
    if e is None:
        raise NotFound(f"episode {id} does not exist in this cube")
    return int(str(e))


def _episode(row: Sequence[Any]) -> Episode:
    id, session, agent, owner, environment, parent, opened, last, closed, reason, due_at, learned, reward, sure = row[
        :14
    ]
    goal, turns, count, failed, injected = row[14:19]
    return Episode(
        id=id_from_bytes(id),
        session=session,
        agent=agent,
        owner=owner,
        environment=environment,
        goal=own_words_of(goal or "", json.loads(injected)) if injected else goal or "",
        opened_at=from_micros(opened),
        last_at=from_micros(last),
        closed_at=_time(closed),
        reason=reason,
        parent=None if parent is None else id_from_bytes(parent),
        due_at=_time(due_at),
        learned_at=_time(learned),
        reward=reward,
        reward_confidence=sure,
        turns=turns,
        steps=count,
        failed_steps=failed,
    )


def _steps(db: apsw.Connection, where: str, values: tuple[Any, ...]) -> list[Step]:
    found = db.execute(
        f"SELECT {rows.SELECT}, s.s, s.turn, s.role, s.at, s.alpha, s.value FROM steps s JOIN memories m ON m.id=s.id "
        f"AND m.known_to IS NULL WHERE {where} AND m.status<>'retracted' ORDER BY s.s",
        values,
    )
    return [_step(row) for row in found]


def _step(row: tuple[Any, ...]) -> Step:
    memory = rows.memory_from_row(row)
    number, turn, role, at, alpha, value = row[rows.WIDTH : rows.WIDTH + 6]
    said = memory.body.get(REFLECTION)
    return Step(
        *(number, memory, StepRole(role), turn, from_micros(at), tool_use(memory)),
        *(said if isinstance(said, str) else None, alpha, value),
    )


def tool_use(memory: Memory) -> ToolUse | None:
    """The `ToolUse` in the body of a step's memory."""
    given = memory.body.get(USE)
    if not isinstance(given, Mapping) or not isinstance(given.get("tool"), str):
        return None
    wanted, printed, error, call_id = (given.get(k) for k in ("input", "output", "error", "call_id"))
    ok, duration = given.get("ok"), given.get("duration")
    return ToolUse(
        given["tool"],
        wanted if isinstance(wanted, str) else "",
        printed if isinstance(printed, str) else "",
        error if isinstance(error, str) else None,
        ok if isinstance(ok, bool) else None,
        float(duration) if isinstance(duration, (int, float)) and not isinstance(duration, bool) else None,
        call_id if isinstance(call_id, str) else None,
    )


@lru_cache(4_096)
def _numbers(given: str) -> Mapping[str, tuple[int, ...]]:
    return MappingProxyType({k: tuple(v) for k, v in json.loads(given).items()})


def _lesson(row: Any) -> Lesson:
    number, episode_id, form, bucket, given, value, memory, root = row
    return Lesson(
        id_from_bytes(episode_id),
        form,
        bucket,
        _numbers(given),
        value,
        None if memory is None else id_from_bytes(memory),
        number,
        id_from_bytes(root),
    )


def _hint(row: Any) -> StoredHint:
    number, session, e, tool, context, failures, after, memory, prefer, avoid, made, delivered, validated = row
    policy, good, bad = (None if x is None else id_from_bytes(x) for x in (memory, prefer, avoid))
    times = (from_micros(made), _time(delivered), _bool(validated))
    return StoredHint(number, session, id_from_bytes(e), tool, context, failures, after, policy, good, bad, *times)


def _blob(id: str | None) -> bytes | None:
    return None if id is None else id_to_bytes(id)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _shared_from(db: apsw.Connection, memory: str) -> str:
    sql = "SELECT body->>'shared_from' FROM memories WHERE id=? AND known_to IS NULL"
    found = db.execute(sql, (id_to_bytes(memory),)).get
    return found if isinstance(found, str) else ""


def _bool(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def memories(db: apsw.Connection, ids: builtins.list[str]) -> builtins.list[Memory]:
    """Memories by id, whatever their status, in the order asked."""
    return reads.get(db, ids, View(statuses=ANY_STATUS))


# -- where an agent stands: for reports (`memos.evolution.ongoing`) ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """The last episode of an agent in a session, as far as a report needs it: no texts. `turn`: of its last step, 0 before the
    first.
    """

    id: str
    environment: str
    last_at: datetime
    closed_at: datetime | None
    reason: str | None
    turn: int


def standing(db: apsw.Connection, session: str, agent: str) -> Standing | None:
    """Where an agent stands in a session; None before its first episode."""
    found: Any = db.execute(
        "SELECT e.id, e.environment, e.last_at, e.closed_at, e.reason, "
        "coalesce((SELECT s.turn FROM steps s WHERE s.episode=e.e ORDER BY s.s DESC LIMIT 1), 0) "
        "FROM episodes e WHERE e.session=? AND e.agent=? ORDER BY e.e DESC LIMIT 1",
        (session, agent),
    ).fetchone()
    if found is None:
        return None
    id, environment, last, closed, reason, turn = found
    return Standing(id_from_bytes(id), environment, from_micros(last), _time(closed), reason, turn)


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a memory stands as a step."""

    episode: str
    turn: int
    number: int


def placed(db: apsw.Connection, id: str) -> Placed | None:
    """Where a memory stands as a step; None when it is none."""
    found: Any = db.execute(
        "SELECT e.id, s.turn, s.s FROM steps s JOIN episodes e ON e.e=s.episode WHERE s.id=?", (id_to_bytes(id),)
    ).fetchone()
    return None if found is None else Placed(id_from_bytes(found[0]), found[1], found[2])


def last_of(db: apsw.Connection, id: str, role: StepRole, *, first: bool = False) -> Memory | None:
    """The last (or `first`) message of a role in an episode that was not taken back."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM steps s JOIN memories m ON m.id=s.id AND m.known_to IS NULL "
        "WHERE s.episode=(SELECT e FROM episodes WHERE id=?) AND s.role=? AND m.status<>'retracted' "
        f"ORDER BY s.s {'ASC' if first else 'DESC'} LIMIT 1",
        (id_to_bytes(id), role.value),
    ).fetchone()
    return None if found is None else rows.memory_from_row(found)


def amend_step(
    tx: Any, id: str, *, ok: bool | None, signature: bytes | None = None, context: bytes | None = None
) -> None:
    """What came of a step is known now."""
    tx.db.execute(
        "UPDATE steps SET ok=?, signature=?, context=coalesce(?, context) WHERE id=?",
        (None if ok is None else int(ok), signature, context, id_to_bytes(id)),
    )
    tx.memo.changed(id)


def place_in(tx: Any, episode: str, environment: str) -> None:
    """Say where an episode takes place, where nobody did."""
    tx.db.execute(
        "UPDATE episodes SET environment=? WHERE id=? AND environment=''", (environment, id_to_bytes(episode))
    )


def open_in(db: apsw.Connection, session: str, agent: str | None = None) -> list[str]:
    """The open episodes of a session (and an agent), in order."""
    found = db.execute(
        "SELECT id FROM episodes WHERE session=?1 AND closed_at IS NULL AND (?2 IS NULL OR agent=?2) ORDER BY e",
        (session, agent),
    )
    return [id_from_bytes(id) for (id,) in found]


def has_verdict(db: apsw.Connection, id: str) -> bool:
    """Whether somebody said how an episode went."""
    sql = "SELECT 1 FROM signals WHERE episode=(SELECT e FROM episodes WHERE id=?) AND source IN ('user','verifier') LIMIT 1"
    return db.execute(sql, (id_to_bytes(id),)).get is not None


def signal_under(db: apsw.Connection, episode: str, key: str) -> Signal | None:
    """The signal that `add_signal` kept under this key."""
    found: Any = db.execute(
        "SELECT source, what, score, at, id FROM signals WHERE key=?",
        (hashlib.sha256(f"{episode}\0{key}".encode()).digest(),),
    ).fetchone()
    if found is None:
        return None
    source, what, score, at, memory = found
    said = None if memory is None else id_from_bytes(memory)
    return Signal(SignalSource(source), what, score, from_micros(at), said)


def outcomes(db: apsw.Connection, memory: str) -> builtins.list[bool]:
    """Whether the trials that count of something learned passed, in the order it was handed out."""
    sql = "SELECT outcome FROM trials WHERE memory=? AND outcome IN ('pass', 'fail') ORDER BY handed_at, episode, cube"
    return [outcome == "pass" for (outcome,) in db.execute(sql, (id_to_bytes(memory),))]


def failed_in(db: apsw.Connection, memory: str) -> builtins.list[str]:
    """The environments of episodes in which something learned was tried and did not help, or the task failed."""
    found = db.execute(
        "SELECT DISTINCT e.environment FROM trials t JOIN episodes e ON e.id=t.episode WHERE t.memory=? AND t.cube='' "
        "AND t.followed IS NOT 0 AND (t.outcome='fail' OR (t.outcome='unknown' AND t.reward<=-0.5))",
        (id_to_bytes(memory),),
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
        "SELECT reward FROM episodes WHERE e<=? AND abs(reward)>=0.5 AND NOT EXISTS(SELECT 1 FROM trials t "
        "WHERE t.memory=? AND t.episode=episodes.id AND t.outcome IN ('pass', 'fail')) ORDER BY e DESC LIMIT ?",
        (last, ident, limit),
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


def set_judge(tx: Any, id: str, at: datetime | None) -> None:
    """When a model is to be asked (again) about an episode; None: not any more."""
    tx.db.execute("UPDATE episodes SET judge_at=? WHERE id=?", (None if at is None else to_micros(at), id_to_bytes(id)))


def to_judge(db: apsw.Connection, now: datetime, limit: int = 1) -> builtins.list[str]:
    """Closed episodes about which a model is to be asked by now, oldest first."""
    found = db.execute(
        "SELECT id FROM episodes WHERE judge_at IS NOT NULL AND judge_at<=? ORDER BY judge_at LIMIT ?",
        (to_micros(now), limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def next_judge(db: apsw.Connection) -> datetime | None:
    """When a model is to be asked next; None when it is not."""
    found = db.execute("SELECT min(judge_at) FROM episodes WHERE judge_at IS NOT NULL").get
    return None if found is None else from_micros(found)


def waiting(db: apsw.Connection) -> int:
    """How many closed episodes wait to be learned from."""
    return int(str(db.execute("SELECT count(*) FROM episodes WHERE due_at IS NOT NULL").get))


def set_values(tx: Any, values: Mapping[int, tuple[float, float]], id: str) -> None:
    """What the steps of an episode were worth (alpha and value by number); of those not named it is not known any more."""
    known = {
        s: (alpha, value)
        for s, alpha, value in tx.db.execute(
            "SELECT s, alpha, value FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?)", (id_to_bytes(id),)
        ).fetchall()
    }
    for number, former in known.items():
        alpha, value = values.get(number, (None, None))
        if (alpha, value) != former:
            set_value(tx, number, alpha, value)


def directives_of_owner(db: apsw.Connection, owner: str, limit: int = 1_000) -> list[Memory]:
    """What an owner told an agent, whether it still holds or not, newest first."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind='policy' AND {_LEARNED} AND m.known_to IS NULL "
        "AND m.status IN ('active','archived') AND m.body->>'form'='directive' AND m.owner=? ORDER BY m.id DESC LIMIT ?",
        (owner, limit),
    )
    return [*map(rows.memory_from_row, found)]


def procedures_of_owner(db: apsw.Connection, owner: str, limit: int) -> list[Memory]:
    """The paths and fixes learned for an owner, also those that were retired, newest first."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind='policy' AND {_LEARNED} AND m.known_to IS NULL "
        "AND m.status IN ('active','archived') AND m.body->>'form' IN ('path','fix') AND m.owner=? ORDER BY m.id DESC LIMIT ?",
        (owner, limit),
    )
    return [*map(rows.memory_from_row, found)]


NEXT_WORK = (
    "SELECT min(at) FROM (SELECT min(due_at) AS at FROM episodes WHERE due_at IS NOT NULL "
    "UNION ALL SELECT min(judge_at) FROM episodes WHERE ?2 AND judge_at IS NOT NULL "
    "UNION ALL SELECT min(last_at)+?1 FROM episodes WHERE closed_at IS NULL "
    "UNION ALL SELECT 0 FROM trials WHERE home<>'' AND carried<>outcome)"
)
"""When something is to be done next, µs: an episode is due, may be judged (?2), is idle for so many µs (?1), or a trial is to be
carried to another cube (0: at once).
"""


def next_work(db: apsw.Connection, gap: int, judging: bool) -> int | None:
    """When learning has something to do next, in µs since 1970; None when it has nothing. `gap` in µs: see `NEXT_WORK`."""
    found = db.execute(NEXT_WORK, (gap, int(judging))).get
    return None if found is None else int(str(found))


def postpone(tx: Any, id: str, due_at: datetime) -> None:
    """Learn from an episode later: what kept it from being learned from may pass."""
    tx.db.execute(
        "UPDATE episodes SET due_at=? WHERE id=? AND due_at IS NOT NULL", (to_micros(due_at), id_to_bytes(id))
    )


def told_since(db: apsw.Connection, after: int) -> dict[str, int]:
    """How often what was told after a number of the stream."""
    found: Any = db.execute("SELECT what, count(*) FROM learned WHERE n>? GROUP BY what", (after,)).fetchall()
    return dict(found)


def put_off_judging(tx: Any, now: datetime, later: datetime, closed_before: datetime) -> None:
    """Ask a model later about all episodes it would be asked about by now; about those closed before then not any more."""
    tx.db.execute(
        "UPDATE episodes SET judge_at=CASE WHEN closed_at<?3 THEN NULL ELSE ?2 END WHERE judge_at<=?1",
        (to_micros(now), to_micros(later), to_micros(closed_before)),
    )


def episodes_of(db: apsw.Connection, ids: Collection[str]) -> dict[str, str]:
    """Which episode each of these memories is a step of; those that are none are left out."""
    found = db.execute(
        "SELECT s.id, e.id FROM steps s JOIN episodes e ON e.e=s.episode "
        "WHERE s.id IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([id_to_bytes(id).hex() for id in ids]),),
    )
    return {id_from_bytes(step): id_from_bytes(e) for step, e in found}


def steps_in_context(
    db: apsw.Connection, tool: str, context: bytes, *, ok: bool, but: str | None = None, limit: int = 1
) -> builtins.list[tuple[str, Step]]:
    """The newest steps of a tool in a context that worked (or failed), each with its episode, those of the episode `but` left
    out.
    """
    found = db.execute(
        f"SELECT {rows.SELECT}, s.s, s.turn, s.role, s.at, s.alpha, s.value, e.id FROM steps s "
        "JOIN memories m ON m.id=s.id AND m.known_to IS NULL JOIN episodes e ON e.e=s.episode "
        "WHERE s.tool=?1 AND s.context=?2 AND s.tool IS NOT NULL AND s.ok=?3 AND (?4 IS NULL OR e.id<>?4) "
        "AND m.status<>'retracted' ORDER BY s.s DESC LIMIT ?5",
        (tool, context, int(ok), _blob(but), limit),
    )
    return [(id_from_bytes(row[-1]), _step(row)) for row in found]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step stands, and what kind of call it is. `signature`: of a failed one."""

    number: int
    id: str
    session: str
    episode: str
    tool: str | None
    ok: bool | None
    context: bytes | None
    signature: bytes | None


_PLACE = (
    "s.s, s.id, e.session, e.id, s.tool, s.ok, s.context, s.signature FROM steps s JOIN episodes e ON e.e=s.episode"
)


def place(db: apsw.Connection, number: int) -> Place | None:
    """The step of this number."""
    found = db.execute(f"SELECT {_PLACE} WHERE s.s=?", (number,)).fetchone()
    return None if found is None else _place(found)


def failed_like(db: apsw.Connection, tool: str, signature: bytes, *, but: str, limit: int = 5) -> builtins.list[Place]:
    """The newest steps that failed in the same way in other episodes."""
    found = db.execute(
        f"SELECT {_PLACE} WHERE s.signature=? AND s.tool=? AND e.id<>? ORDER BY s.s DESC LIMIT ?",
        (signature, tool, id_to_bytes(but), limit),
    )
    return [*map(_place, found)]


def calls_after(db: apsw.Connection, episode: str, number: int, limit: int = 20) -> builtins.list[Place]:
    """The calls of tools in an episode after a step, in order."""
    found = db.execute(
        f"SELECT {_PLACE} WHERE e.id=? AND s.s>? AND s.tool IS NOT NULL ORDER BY s.s LIMIT ?",
        (id_to_bytes(episode), number, limit),
    )
    return [*map(_place, found)]


def hint_made(db: apsw.Connection, session: str, tool: str, context: bytes, since: datetime) -> bool:
    """Whether a hint on a tool in a context was made in a session since then."""
    sql = "SELECT 1 FROM hints WHERE session=? AND tool=? AND context=? AND made_at>? LIMIT 1"
    return db.execute(sql, (session, tool, context, to_micros(since))).get is not None


def hint_after(db: apsw.Connection, number: int) -> int | None:
    """The hint that was made after the step of this number; None when none was."""
    sql = (
        "SELECT h.h FROM steps s JOIN episodes e ON e.e=s.episode JOIN hints h ON h.session=e.session AND h.after=s.s "
        "WHERE s.s=?"
    )
    found = db.execute(sql, (number,)).get
    return None if found is None else int(str(found))


def settle_hint(tx: Any, hint: int, good: bool | None) -> bool:
    """Judge a hint by how its episode went, unless what was done next told already; False when nothing changed."""
    value = None if good is None else int(good)
    tx.db.execute(
        "UPDATE hints SET validated=?1 WHERE h=?2 AND resolved_at IS NULL AND validated IS NOT ?1", (value, hint)
    )
    return bool(tx.db.changes())


def disproved(db: apsw.Connection, episode: str, memory: str) -> bool:
    """Whether hints drawn from a policy were followed by the same failure in an episode, and none by a success."""
    sql = (
        "SELECT count(*) FILTER (WHERE validated=0), count(*) FILTER (WHERE validated=1) FROM hints "
        "WHERE memory=? AND resolved_at IS NOT NULL AND episode=(SELECT e FROM episodes WHERE id=?)"
    )
    found: Any = db.execute(sql, (id_to_bytes(memory), id_to_bytes(episode))).fetchone()
    return bool(found[0]) and not found[1]


def _place(row: Any) -> Place:
    number, id, session, e, tool, ok, context, signature = row
    return Place(number, id_from_bytes(id), session, id_from_bytes(e), tool, _bool(ok), context, signature)


def last_step_id(db: apsw.Connection, episode: str) -> str | None:
    """The memory of an episode's last step; None when it has none."""
    sql = "SELECT id FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?) ORDER BY s DESC LIMIT 1"
    found = db.execute(sql, (id_to_bytes(episode),)).get
    return None if found is None else id_from_bytes(found)


def episode_of(db: apsw.Connection, id: str | None, session: str, agent: str | None) -> str | None:
    """The id of an episode that is there: this one, or (None) the last of a session (and an agent)."""
    if id is not None:
        found = db.execute("SELECT id FROM episodes WHERE id=?", (id_to_bytes(id),)).get
    else:
        sql = "SELECT id FROM episodes WHERE session=?1 AND (?2 IS NULL OR agent=?2) ORDER BY e DESC LIMIT 1"
        found = db.execute(sql, (session, agent)).get
    return None if found is None else id_from_bytes(found)


def due_of(db: apsw.Connection, id: str) -> datetime | None:
    """When an episode is learned from; None while it is open, or when it was."""
    return _time(db.execute("SELECT due_at FROM episodes WHERE id=?", (id_to_bytes(id),)).get)


def last_calls(db: apsw.Connection, id: str, limit: int) -> builtins.list[Step]:
    """The last calls of tools in an episode, the newest first."""
    numbers = [
        n
        for (n,) in db.execute(
            "SELECT s FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?) AND tool IS NOT NULL ORDER BY s DESC LIMIT ?",
            (id_to_bytes(id), limit),
        )
    ]
    found = steps_by_number(db, numbers)
    return [found[n] for n in numbers if n in found]


_TWINS = (
    "SELECT b.episode, count(DISTINCT a.s) FROM steps a JOIN steps b ON b.tool=a.tool AND b.context=a.context AND b.at=a.at "
    "AND b.ok IS a.ok WHERE a.episode=?1 AND a.tool IS NOT NULL AND b.episode<?1 {} GROUP BY b.episode"
)


def is_told_again(db: apsw.Connection, id: str) -> bool:
    """Whether all calls of an episode are those of an earlier one: the same things done at the very same moments, which somebody
    reported again under other names.
    """
    found: Any = db.execute(
        "SELECT e, (SELECT min(s) FROM steps WHERE episode=e AND tool IS NOT NULL), "
        "(SELECT count(*) FROM steps WHERE episode=e AND tool IS NOT NULL) FROM episodes WHERE id=?",
        (id_to_bytes(id),),
    ).fetchone()
    if found is None or found[1] is None:
        return False
    e, first, calls = found
    if db.execute(_TWINS.format("AND a.s=?2"), (e, first)).get is None:
        return False
    return any(count == calls for _, count in db.execute(_TWINS.format(""), (e,)))
