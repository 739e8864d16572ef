"""Rows of these tables as the nouns they stand for, and what the other files of this room share."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import apsw

from memos.errors import NotFound
from memos.memory.episode import Episode, Step, StepRole, ToolUse, own_words_of
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import Memory
from memos.memory.time import from_micros
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite import reads, rows

T = TypeVar("T")


USE = "use"  # in the body of a step's memory: the `ToolUse`


REFLECTION = "reflection"  # in the body of a step's memory


EPISODE = (
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


TASK = (
    "CASE WHEN e.parent IS NULL THEN e.id ELSE (WITH RECURSIVE up(id, far) AS (SELECT e.parent, 1 UNION ALL "
    "SELECT p.parent, far+1 FROM up JOIN episodes p ON p.id=up.id WHERE p.parent IS NOT NULL AND far<100) "
    "SELECT id FROM up ORDER BY far DESC LIMIT 1) END"
)  # of an episode: the one that it is, in the end, a part of


LESSON = (
    f"l.l, e.id, l.form, l.bucket, l.steps, l.value, l.memory, {TASK} FROM lessons l JOIN episodes e ON e.e=l.episode"
)


def number_of(db: apsw.Connection, id: str) -> int:
    """The number of an episode. Raises NotFound."""
    e = db.execute("SELECT e FROM episodes WHERE id=?", (id_to_bytes(id),)).get
    if e is None:
        raise NotFound(f"episode {id} does not exist in this cube")
    return int(str(e))


def read_episode(row: Sequence[Any]) -> Episode:
    """An episode from the columns of `EPISODE`."""
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
        closed_at=time_of(closed),
        reason=reason,
        parent=None if parent is None else id_from_bytes(parent),
        due_at=time_of(due_at),
        learned_at=time_of(learned),
        reward=reward,
        reward_confidence=sure,
        turns=turns,
        steps=count,
        failed_steps=failed,
    )


def read_steps(db: apsw.Connection, where: str, values: tuple[Any, ...]) -> list[Step]:
    """Steps that stand, in order, by a condition over `s`."""
    found = db.execute(
        f"SELECT {rows.SELECT}, s.s, s.turn, s.role, s.at, s.alpha, s.value FROM steps s JOIN memories m ON m.id=s.id "
        f"AND m.known_to IS NULL WHERE {where} AND m.status<>'retracted' ORDER BY s.s",
        values,
    )
    return [read_step(row) for row in found]


def read_step(row: tuple[Any, ...]) -> Step:
    """A step from the columns of its memory and its own."""
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
def read_numbers(given: str) -> Mapping[str, tuple[int, ...]]:
    """The step numbers of a lesson, by what the steps are in it."""
    return MappingProxyType({k: tuple(v) for k, v in json.loads(given).items()})


def read_lesson(row: Any) -> Lesson:
    """A lesson from the columns of `LESSON`."""
    number, episode_id, form, bucket, given, value, memory, root = row
    return Lesson(
        id_from_bytes(episode_id),
        form,
        bucket,
        read_numbers(given),
        value,
        None if memory is None else id_from_bytes(memory),
        number,
        id_from_bytes(root),
    )


def blob(id: str | None) -> bytes | None:
    """An id as it is stored."""
    return None if id is None else id_to_bytes(id)


def time_of(micros: int | None) -> datetime | None:
    """A stored time."""
    return None if micros is None else from_micros(micros)


def truth(value: int | None) -> bool | None:
    """A stored yes, no or nobody knows."""
    return None if value is None else bool(value)


def memories(db: apsw.Connection, ids: builtins.list[str]) -> builtins.list[Memory]:
    """Memories by id, whatever their status, in the order asked."""
    return reads.get(db, ids, View(statuses=ANY_STATUS))
