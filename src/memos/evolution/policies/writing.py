"""A policy as a memory: made of the lessons that teach it, and worded anew when they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.evolution.model_words import DRAWN
from memos.evolution.policies.against import AGAINST, broken
from memos.evolution.policies.common import Heads, heads_of, shared
from memos.evolution.policies.induce import (
    Induced,
    body_of,
    fits,
    is_instead,
    procedure_key,
    telling,
)
from memos.evolution.policies.lessons import Told, done_only, told
from memos.evolution.policies.refining import drawn
from memos.evolution.policies.text import policy_text, policy_title
from memos.memory.episode import Episode, Step
from memos.memory.ids import new_id, unique_key
from memos.memory.learned import BEREFT, Action, Form, PolicyBody, State
from memos.memory.model import TRUST_OF, Edge, EdgeType, Kind, Memory, Origin, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.lived import Lesson

LOOK_BACK = 32  # lessons of a bucket that are held against a new one
WAYS = 4  # policies that are remembered for one sequence of calls


def kept(tx: Any, found: Induced, episode: Episode) -> str:
    """A new policy, or the one there is that does the same."""
    key = procedure_key(episode.owner, found.body)
    known: str | None = tx.find_key(key)
    memory: Memory | None = None if known is None else tx.get(known)
    if memory is not None and memory.kind is Kind.POLICY and memory.status is not Status.RETRACTED:
        for one in found.members:
            lived.attach(tx, (one.lesson.number,), memory.id)
        restated(tx, memory)
        lived.tell(tx, "policy.merged", memory=memory.id, episode=episode.id)
        return memory.id
    made = Memory(
        id=new_id(),
        kind=Kind.POLICY,
        text=policy_text(found.body),
        title=policy_title(found.body),
        origin=Origin.AGENT,
        trust=TRUST_OF[Origin.AGENT],
        owner=episode.owner or None,
        body={**found.body.to_body(), DRAWN: drawn(found.body), **_against(tx, found.body, episode.owner)},
    )
    tx.put(made, "induce", key=key)
    _linked(tx, made.id, found.members)
    _way_to(tx, made.id, found.members[0])
    _contradict(tx, made.id, found)
    lived.tell(tx, "policy.induced", memory=made.id, episode=episode.id, numbers={"support": len(found.members)})
    return made.id


def _way_to(tx: Any, id: str, one: Told) -> None:
    for n in range(WAYS):
        key = way_key(one.lesson.form, one.tool, heads_of(one), n)
        if tx.find_key(key) in (None, id):
            tx.point(key, id)
            return


def way_key(form: str, tool: str, heads: Heads, n: int) -> bytes:
    """Under which the n-th policy for a sequence of calls is found."""
    return unique_key("way", form, tool, *heads, str(n))


def _contradict(tx: Any, id: str, found: Induced) -> None:
    """Note the policies that say something else about the same kind of error. Both live; what they gain decides."""
    if found.body.form is not Form.FIX:
        return
    buckets = {t.lesson.bucket for t in found.members}
    for other in sorted(lived.policies_of_buckets(tx.db, buckets)):
        memory = tx.get(other)
        if other != id and memory is not None and memory.body.get("form") == Form.FIX.value:
            tx.link(Edge(id, other, EdgeType.CONTRADICTS))


def restated(tx: Any, memory: Memory) -> None:
    """Take a policy's words from its evidence anew."""
    members = members_of(tx, memory)
    body = body_of(Form(str(memory.body.get("form"))), members) if members else None
    if body is not None:
        longer = len(body.procedure) > len(memory.body.get("procedure") or ())
        written(tx, memory, body, members, "policy.generalised")
        if longer:  # what did without the calls that make the difference is no evidence of it any more
            lessons = lived.lessons_for(tx.db, memory.id)
            lived.attach(tx, [t.lesson.number for t in read(tx, lessons) if fits(body, t) is None], None)


def told_again(tx: Any, id: str) -> None:
    """Take the words of a policy that lost them with a deletion from the evidence that is left; where that has too little in
    common the policy goes, but for what a person wrote.
    """
    memory: Memory = tx.get(id)
    members = members_of(tx, memory)
    body = body_of(Form(str(memory.body.get("form"))), members) if members else None
    if body is None:
        if not lived.is_due(tx.db, id):  # no other of its episodes is to be learned from again
            _given_up(tx, memory)
        return
    old = PolicyBody.of(memory)
    kept = {name: getattr(old, name) for name in ("state", "why", "strength", "scope", "forgiven", "edited")}
    body = replace(body, **kept)
    beside = {k: v for k, v in memory.body.items() if k not in (BEREFT, "policies")}
    stored = {**beside, **body.to_body(), DRAWN: drawn(body), **_against(tx, body, memory.owner or "")}
    status = Status.ARCHIVED if body.state is State.RETIRED else Status.ACTIVE
    text = memory.text if old.edited else policy_text(body)
    title = memory.title or policy_title(body)
    _linked(tx, id, members)
    tx.put(replace(memory, text=text, title=title, status=status, body=stored), "generalise")
    tx.point(procedure_key(memory.owner or "", body), id)
    _way_to(tx, id, members[0])
    lessons = lived.lessons_for(tx.db, id)
    lived.attach(tx, [t.lesson.number for t in read(tx, lessons) if fits(body, t) is None], None)
    lived.tell(tx, "policy.generalised", memory=id, numbers={"parameters": len(body.parameters)})


def _given_up(tx: Any, memory: Memory) -> None:
    if PolicyBody.of(memory).edited:
        lived.attach(tx, [it.number for it in lived.lessons_for(tx.db, memory.id)], None)
        body = {k: v for k, v in memory.body.items() if k != BEREFT}
        tx.put(replace(memory, body=body), "generalise")
    else:
        tx.purge([memory.id])


def members_of(tx: Any, memory: Memory) -> tuple[Told, ...]:
    """The good lessons that a policy's words are taken from."""
    lessons = read(tx, lived.lessons_good(tx.db, memory.id, LOOK_BACK))
    body = PolicyBody.of(memory)
    own = [t for t in lessons if fits(body, t) is not None] or lessons
    form = body.form
    if form is Form.AVOID:
        return telling(form, own)
    groups = grouped(form, own, in_vain(tx, form, own[0].lesson.bucket) if own else ())
    return telling(form, groups[0]) if groups else ()


def grouped(form: Form, pool: Sequence[Told], failed: Sequence[Told] = ()) -> list[tuple[Told, ...]]:
    """Lessons that may teach one policy, those that are worth most first."""
    if form is Form.AVOID:
        return [tuple(pool)]
    out: list[tuple[Told, ...]] = []
    for instead in (False, True):
        out += [s.members for s in shared([t for t in pool if is_instead(t) is instead], failed)]
    return out


def in_vain(tx: Any, form: Form, bucket: bytes) -> list[Told]:
    """What was done for nothing in tasks that began alike: paths only, for what resolves an error shows at once."""
    if form is not Form.PATH:
        return []
    lessons = lived.lessons_failed(tx.db, bucket, form.value, LOOK_BACK)
    there = lived.numbers_there(tx.db, {n for it in lessons for of in it.steps.values() for n in of})
    whole = [it for it in lessons if all(n in there for of in it.steps.values() for n in of)]
    steps = lived.steps_by_number(tx.db, {n for it in whole for n in it.steps.get("done", ())})
    return [done_only(it, steps) for it in whole]


def written(tx: Any, memory: Memory, body: PolicyBody, members: Sequence[Told], what: str) -> None:
    """A new version of a policy, where anything of it changed. Words that a model found stay while the procedure does."""
    old = PolicyBody.of(memory)
    kept = {name: getattr(old, name) for name in ("state", "why", "strength", "scope", "boundary")}
    body = replace(body, **kept)
    if old.author != "rules" and _bare(old.procedure) == _bare(body.procedure):
        about = {p.name: p.description for p in old.parameters}
        described = tuple(replace(p, description=about.get(p.name, "")) for p in body.parameters)
        body = replace(body, parameters=described, trigger=old.trigger, boundary=old.boundary, author=old.author)
    _linked(tx, memory.id, members)
    key = procedure_key(memory.owner or "", body)
    if tx.find_key(key) is None:
        tx.point(key, memory.id)
    if body.to_body() == old.to_body():
        return
    title = memory.title if body.author != "rules" else policy_title(body)
    stored = {**memory.body, **body.to_body(), DRAWN: drawn(body)}
    if _bare(old.procedure) != _bare(body.procedure):
        stored |= _against(tx, body, memory.owner or "")
    tx.put(replace(memory, text=policy_text(body), title=title, body=stored), "generalise")
    if _bare(old.procedure) != _bare(body.procedure):
        lived.tell(tx, what, memory=memory.id, numbers={"parameters": len(body.parameters)})


def _against(tx: Any, body: PolicyBody, owner: str) -> dict[str, str]:
    """The mark of a policy that does what the user forbade."""
    directive = broken(tx, body, owner)
    return {} if directive is None else {AGAINST: directive}


def _linked(tx: Any, id: str, members: Sequence[Told]) -> None:
    """Edges to the steps that a policy's words are from, and to no other."""
    wanted = dict.fromkeys(s.id for t in members for s in t.evidence)
    there = {e.dst for e in tx.edges(id, "out", (EdgeType.DERIVED_FROM,))}
    for gone in sorted(there - set(wanted)):
        tx.unlink(id, gone, EdgeType.DERIVED_FROM)
    for step in wanted:
        if step not in there:
            tx.link(Edge(id, step, EdgeType.DERIVED_FROM))


def read(tx: Any, lessons: Iterable[Lesson]) -> list[Told]:
    """Lessons with their words; without those of which a step is gone."""
    given = [*lessons]
    steps: Mapping[int, Step] = lived.steps_by_number(
        tx.db, {n for it in given for group in it.steps.values() for n in group}
    )
    places = lived.environments(tx.db, {it.episode for it in given})
    out = []
    for lesson in given:
        one = told(lesson, places[lesson.episode], steps) if lesson.episode in places else None
        if one is not None:
            out.append(one)
    return out


def unknowns(body: PolicyBody) -> int:
    """How many parameters nobody knows where to take from."""
    return sum(p.source == "unknown" for p in body.parameters)


def _bare(procedure: Sequence[Action]) -> tuple[tuple[str, str], ...]:
    return tuple((a.tool, a.input) for a in procedure)
