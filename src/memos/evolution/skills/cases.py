"""The policies that belong together in one skill, and the cases that they rest on: which steps were taken for which goal.

Everything is counted from rows: the same rows make the same family, in whatever order they came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from memos.memory.episode import Step
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.learned import Form, PolicyBody, State
from memos.memory.model import Kind, Memory, Status
from memos.storage.sqlite import lived, reads

INSIDE = 0.5  # the share of a fix's episodes that must be those of a path for the fix to be part of it
CASES = 24  # lessons of each policy, those of the newest episodes
GOAL = 1_000  # characters of what was asked for
RECENT = 200  # episodes of a policy that are looked at for what else they teach, the newest
_OF_A_FAILURE = ("failed", "done", "resolved")
_OF_A_CASE = ("goal", *_OF_A_FAILURE)


@dataclass(frozen=True, slots=True)
class Learned:
    """A policy: its memory, and its body with types."""

    memory: Memory
    body: PolicyBody

    @property
    def id(self) -> str:
        """The id of its memory."""
        return self.memory.id

    @property
    def stands(self) -> bool:
        """Whether it is active: what a skill may be made of."""
        return self.body.state is State.ACTIVE and self.memory.status is Status.ACTIVE


@dataclass(frozen=True, slots=True)
class Case:
    """What one episode shows of a policy: the words that asked for it, the steps that failed and those that did it."""

    policy: str
    episode: str
    goal: str
    failed: tuple[Step, ...]
    done: tuple[Step, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Family:
    """The policies of one skill. `lead`: what it does, a path or, for want of one, a fix; `fixes`: what helps on the way;
    `avoids`: what never works there.
    """

    lead: Learned
    fixes: tuple[Learned, ...] = ()
    avoids: tuple[Learned, ...] = ()

    @property
    def members(self) -> tuple[Learned, ...]:
        """All policies, the lead first."""
        return (self.lead, *self.fixes, *self.avoids)


def learned(db: apsw.Connection, ids: Iterable[str]) -> list[Learned]:
    """These policies, in the order of their ids; ids that are of no policy are left out."""
    found = reads.current(db, sorted(set(ids)))
    return [Learned(m, PolicyBody.of(m)) for m in found if m.kind is Kind.POLICY]


def leads(db: apsw.Connection, policies: Iterable[Learned]) -> list[Learned]:
    """The policies that lead the families of these: the path that a fix or an avoid is seen inside, else a fix itself."""
    found: dict[str, Learned] = {}
    for one in policies:
        lead = one if one.body.form is Form.PATH else _path_around(db, one)
        if lead is None and one.body.form is Form.FIX:
            lead = one
        if lead is not None:
            found[lead.id] = lead
    return [found[id] for id in sorted(found)]


def family(db: apsw.Connection, lead: Learned) -> Family:
    """What belongs to a lead: active fixes and avoids that are seen inside it."""
    if lead.body.form is not Form.PATH:
        return Family(lead)
    others = learned(db, _beside(db, lead.id))
    inside = [o for o in others if o.stands and (path := _path_around(db, o)) is not None and path.id == lead.id]
    return Family(
        lead,
        tuple(o for o in inside if o.body.form is Form.FIX),
        tuple(o for o in inside if o.body.form is Form.AVOID),
    )


def support_of(db: apsw.Connection, policies: Iterable[str]) -> int:
    """How many distinct episodes that went well teach any of these policies."""
    wanted = json.dumps([id_to_bytes(p).hex() for p in policies])
    lessons, task = lived.by_task(db)
    sql = f"SELECT count(DISTINCT {task}) FROM {lessons} WHERE l.value>0 AND l.memory IN (SELECT unhex(value) FROM json_each(?))"
    return int(str(db.execute(sql, (wanted,)).get))


def cases(db: apsw.Connection, policy: str, *, failed: bool = False) -> list[Case]:
    """The newest cases of a policy, in the order of their episodes, the best of each episode; those whose steps are gone are
    left out. `failed`: only those in which something failed, without what was asked for.
    """
    best: dict[str, lived.Lesson] = {}
    for lesson in lived.lessons_newest(db, policy, CASES):
        known = best.get(lesson.episode)
        if known is None or lesson.value > known.value:
            best[lesson.episode] = lesson
    named = _OF_A_FAILURE if failed else _OF_A_CASE
    best = {episode: it for episode, it in best.items() if not failed or it.steps.get("failed")}
    steps = lived.steps_by_number(db, {n for it in best.values() for of in named for n in it.steps.get(of, ())})
    out = []
    for episode, lesson in best.items():

        def of(*whats: str, lesson: lived.Lesson = lesson) -> tuple[Step, ...]:
            numbers = sorted({n for what in whats for n in lesson.steps.get(what, ())})
            return tuple(steps[n] for n in numbers if n in steps)

        done = of("done", "resolved")
        if done:
            goal = "" if failed else " ".join(s.words for s in of("goal"))
            asked = "" if failed else (goal or _goal(db, episode))[:GOAL]
            out.append(Case(policy, episode, asked, of("failed"), done, lesson.value))
    return out


def _goal(db: apsw.Connection, episode: str) -> str:
    found = lived.episode(db, episode)
    return "" if found is None else found.goal


_RECENT = "(SELECT DISTINCT episode FROM lessons WHERE memory=?1 ORDER BY episode DESC LIMIT ?2)"


def _path_around(db: apsw.Connection, one: Learned) -> Learned | None:
    """The active path that at least half of a policy's newest episodes took; the one of the most, then the oldest."""
    recent = (id_to_bytes(one.id), RECENT)
    needed = INSIDE * int(str(db.execute(f"SELECT count(*) FROM {_RECENT}", recent).get))
    sql = (
        f"SELECT p.memory, count(DISTINCT p.episode) FROM {_RECENT} r JOIN lessons p ON p.episode=r.episode "
        "AND p.form='path' AND p.memory IS NOT NULL AND p.memory<>?1 GROUP BY p.memory"
    )
    counts = {id_from_bytes(id): n for id, n in db.execute(sql, recent)}
    for id, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        path = next(iter(learned(db, [id])), None)
        if count >= max(needed, 1) and path is not None and path.stands:
            return path
    return None


def _beside(db: apsw.Connection, policy: str) -> set[str]:
    """The policies that this one's newest episodes teach too."""
    sql = (
        f"SELECT DISTINCT o.memory FROM {_RECENT} r JOIN lessons o ON o.episode=r.episode AND o.memory IS NOT NULL "
        "AND o.memory<>?1"
    )
    return {id_from_bytes(id) for (id,) in db.execute(sql, (id_to_bytes(policy), RECENT))}
