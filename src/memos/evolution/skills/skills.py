"""Skills from policies: crystallised when enough episodes bear one out, drawn anew when its policies change, and moved through
their states by trials. A pure function of rows and policies: settling twice changes nothing (law 2).

What a person edited or decided by hand is never overwritten.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from memos.evolution.by_hand import is_by_hand
from memos.evolution.model_words import DRAWN
from memos.evolution.skills.cases import Family, Learned, cases, family, leads, learned, support_of
from memos.evolution.skills.draft import draft, examples, refused
from memos.evolution.value import reliability
from memos.memory.ids import new_id, unique_key
from memos.memory.learned import BEREFT, OWN, SkillBody, State, is_bereft, skill_name
from memos.memory.model import Edge, EdgeType, Kind, Memory, Origin, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.tx import SqliteTx
from memos.text.guide import render

ENOUGH = 3  # distinct episodes that teach the lead of a skill, for one to be made of it
ENOUGH_TRIED = 2  # the same, where the policy itself was handed out and passed
PASSED = 1  # trials of the lead that must have passed for that
_LOST = "the policy that leads it was retired"
_MOST_NAMES = 10_000


def settle(tx: Any, ids: Collection[str]) -> None:
    """Bring the skills up to date that these policies and skills concern: made, drawn anew, moved to another state."""
    touched = learned(tx.db, ids)
    skills = {m.id for id in sorted(ids) if (m := tx.get(id)) is not None and m.kind is Kind.SKILL}
    for policy in touched:
        skills |= _made_of(tx, policy.id)
    for lead in _leads_of(tx, touched, skills):
        skill = _draw(tx, family(tx.db, lead))
        if skill is not None:
            skills.add(skill)
    for id in sorted(skills):
        settle_state(tx, id)


def settle_state(tx: Any, id: str) -> bool:
    """Give a skill the state that its trials and policies call for; False when nothing changed."""
    memory = tx.get(id)
    if memory is None or memory.kind is not Kind.SKILL or memory.status not in (Status.ACTIVE, Status.ARCHIVED):
        return False
    body = SkillBody.of(memory)
    if is_by_hand(body):
        return False
    state, why = _next(tx, memory, body)
    status = Status.ARCHIVED if state is State.RETIRED else Status.ACTIVE
    if state is body.state and status is memory.status:
        return False
    tx.put(replace(memory, status=status, body={**memory.body, "state": state.value, "why": why}), "state")
    counted = lived.counted(tx.db, id)
    numbers = {"was": body.state.value, "passes": counted.passes, "fails": counted.fails}
    lived.tell(tx, f"skill.{state.value}", memory=id, numbers=numbers)
    return True


def _next(tx: SqliteTx, memory: Memory, body: SkillBody) -> tuple[State, str]:
    if body.policies and not body.edited and not any(p.stands for p in learned(tx.db, body.policies[:1])):
        return State.RETIRED, _LOST
    return reliability.skill_state(support_of(tx.db, body.policies), lived.outcomes(tx.db, memory.id))


# -- making and drawing anew -----------------------------------------------------------------------------------------


def key_of(policy: str) -> bytes:
    """What the skill that a policy leads is stored once under."""
    return unique_key("skill", policy)


def unique_name(tx: Any, wanted: str, own: str | None = None) -> str:
    """A name that no other skill of the cube has: the wanted one, or with a number behind it. `own`: the skill that asks."""
    found = lived.learned_memories(tx.db, Kind.SKILL.value, limit=_MOST_NAMES)
    taken = {SkillBody.of(m).name for m in found if m.id != own}
    if wanted not in taken:
        return wanted
    for number in range(2, len(taken) + 3):
        suffix = f"-{number}"
        name = f"{skill_name(wanted, 64 - len(suffix))}{suffix}"
        if name not in taken:
            return name
    raise AssertionError("more names than skills")


def _leads_of(tx: SqliteTx, touched: Iterable[Learned], skills: Iterable[str]) -> list[Learned]:
    """The leads of the families of touched policies, and of the skills made of them."""
    led = [policies[0] for id in sorted(skills) if (policies := _body(tx, id).policies)]
    both = {p.id: p for p in (*leads(tx.db, touched), *learned(tx.db, led))}
    return [both[id] for id in sorted(both)]


def _draw(tx: SqliteTx, found: Family) -> str | None:
    """Make the skill of a family, or draw it anew; its id, None where there is none."""
    known = tx.find_key(key_of(found.lead.id))
    memory = None if known is None else tx.get(known)
    bereft = memory is not None and is_bereft(memory)
    if not found.lead.stands or (memory is None and (_covered(tx, found) or not _is_enough(tx, found.lead.id))):
        return known if memory is not None else None
    failed = [case for member in found.members for case in cases(tx.db, member.id, failed=True)]
    made = draft(found, failed)
    # other examples make no other skill
    digest = hashlib.sha256(json.dumps(made.to_body(), sort_keys=True).encode()).hexdigest()
    taken_back = memory is not None and memory.status is Status.RETRACTED and not bereft
    if memory is not None and (taken_back or memory.body.get(DRAWN) == digest):
        return known
    seen = [case for member in found.members for case in cases(tx.db, member.id)]
    why = refused(made, found, seen)
    if why:
        _tell_refused(tx, found, why, digest)
        return known if memory is not None else None
    made = replace(made, examples=examples(found, seen))
    if memory is None and (memory := _former(tx, made, found)) is not None:
        tx.point(key_of(found.lead.id), memory.id)
    id = _make(tx, found, made, digest) if memory is None else _redraw(tx, memory, found, made, digest)
    for case in (*seen, *failed):  # a deletion in their episodes takes what it shows of them, in every version
        tx.link(Edge((*case.done, *case.failed)[0].id, id, EdgeType.SUPPORTS))
    return id


def _former(tx: SqliteTx, made: SkillBody, found: Family) -> Memory | None:
    """The skill for the same that went with its policy, in whose place another has come: it lives on."""
    for memory in lived.learned_memories(tx.db, Kind.SKILL.value, limit=_MOST_NAMES):
        was = SkillBody.of(memory)
        if was.name != made.name:
            continue
        failed = was.state is State.RETIRED and was.why != _LOST
        lost = was.policies and not failed and not any(p.stands for p in learned(tx.db, was.policies[:1]))
        if lost and memory.owner == found.lead.memory.owner and not is_by_hand(was) and not was.edited:
            return memory
    return None


def _renamed(tx: SqliteTx, id: str, was: SkillBody, made: SkillBody) -> str:
    """The name of a skill drawn anew: as it was, but for what turned out to be a value of one case."""
    old, new = set(was.name.split("-")), set(made.name.split("-"))
    values = {w for p in made.parameters for e in p.examples for w in re.findall("[a-z0-9]+", e.lower())}
    return unique_name(tx, made.name, id) if new < old and old - new <= values else was.name


def _is_enough(tx: SqliteTx, lead: str) -> bool:
    support = support_of(tx.db, [lead])
    return support >= ENOUGH or (support >= ENOUGH_TRIED and lived.counted(tx.db, lead).passes >= PASSED)


def _covered(tx: SqliteTx, found: Family) -> bool:
    """Whether another skill that stands is made of this policy already."""
    made = (tx.get(id) for id in _made_of(tx, found.lead.id))
    return any(m is not None and m.status is Status.ACTIVE and found.lead.id in SkillBody.of(m).policies for m in made)


def _make(tx: SqliteTx, found: Family, made: SkillBody, digest: str) -> str:
    body = replace(made, name=unique_name(tx, made.name))
    lead = found.lead.memory
    memory = Memory(
        new_id(),
        Kind.SKILL,
        render(body),
        title=body.name,
        tags=("skill",),
        origin=Origin.AGENT,
        trust=min(p.memory.trust for p in found.members),
        owner=lead.owner,
        body={**body.to_body(), DRAWN: digest},
    )
    tx.put(memory, "crystallise", key=key_of(found.lead.id))
    _link(tx, memory.id, body.policies)
    support = support_of(tx.db, body.policies)
    lived.tell(tx, "skill.crystallised", memory=memory.id, numbers={"policies": len(body.policies), "support": support})
    return memory.id


def _redraw(tx: SqliteTx, memory: Memory, found: Family, made: SkillBody, digest: str) -> str:
    """A new version of a skill whose policies changed: name, state and trials stay. Of an edited one it is only proposed."""
    was = SkillBody.of(memory)
    name = was.name if was.edited else _renamed(tx, memory.id, was, made)
    made = replace(made, name=name, state=was.state, why=was.why)
    if was.edited and is_bereft(memory):
        made = _around_own(memory, was, made)
    elif was.edited:
        proposal = render(made)
        changed = {**memory.body, "proposal": "" if proposal == memory.text else proposal, DRAWN: digest}
        tx.put(replace(memory, body=changed), "propose")
        lived.tell(tx, "skill.proposed", memory=memory.id, numbers={"version": memory.version + 1})
        return memory.id
    trust = min(p.memory.trust for p in found.members)
    body = {**memory.body, **made.to_body(), DRAWN: digest}
    title, status = name if memory.title == was.name else memory.title, memory.status
    if body.pop(BEREFT, False):
        title, status = name, Status.ARCHIVED if made.state is State.RETIRED else Status.ACTIVE
    tx.put(replace(memory, text=render(made), title=title, status=status, trust=trust, body=body), "redraw")
    _link(tx, memory.id, made.policies)
    lived.tell(tx, "skill.changed", memory=memory.id, numbers={"version": memory.version + 1})
    return memory.id


def _around_own(memory: Memory, was: SkillBody, made: SkillBody) -> SkillBody:
    """What evidence says around what a person wrote, after a deletion took the words of what it had said before."""
    own = {name: getattr(was, name) for name in memory.body.get(OWN) or ()}
    return replace(made, **own, edited=True, why=was.why if is_by_hand(was) else "")


def _link(tx: SqliteTx, skill: str, policies: Collection[str]) -> None:
    for edge in tx.edges(skill, "out", (EdgeType.DERIVED_FROM,)):
        if edge.dst not in policies:
            tx.unlink(skill, edge.dst, EdgeType.DERIVED_FROM)
    for policy in policies:
        tx.link(Edge(skill, policy, EdgeType.DERIVED_FROM))


def _tell_refused(tx: SqliteTx, found: Family, why: str, digest: str) -> None:
    """Once for each draft: that a skill was not made."""
    numbers = {"why": why, "draft": digest[:16]}
    if not lived.was_told(tx.db, "skill.refused", found.lead.id, "draft", digest[:16]):
        lived.tell(tx, "skill.refused", memory=found.lead.id, numbers=numbers)


def _made_of(tx: SqliteTx, policy: str) -> set[str]:
    edges = tx.edges(policy, "in", (EdgeType.DERIVED_FROM,))
    found = ((e.src, tx.get(e.src)) for e in edges)
    return {id for id, memory in found if memory is not None and memory.kind is Kind.SKILL}


def _body(tx: SqliteTx, id: str) -> SkillBody:
    memory = tx.get(id)
    return SkillBody() if memory is None else SkillBody.of(memory)
