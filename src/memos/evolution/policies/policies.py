"""L2: what several episodes teach alike becomes a policy, and what fits one becomes its evidence. Everything is computed from
rows within the one change that learns from an episode, so that doing it again ends the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.evolution.by_hand import is_by_hand
from memos.evolution.case import Case
from memos.evolution.policies.common import Heads, contains, heads_of, realised, worth
from memos.evolution.policies.induce import (
    TELLING,
    body_of,
    chosen,
    covers,
    fits,
    induce,
)
from memos.evolution.policies.lessons import OPEN, Told, alike_errors, head, kind_of, lessons_of, said, told
from memos.evolution.policies.works import never_works, note_what_works
from memos.evolution.policies.writing import (
    LOOK_BACK,
    WAYS,
    grouped,
    in_vain,
    kept,
    members_of,
    read,
    restated,
    told_again,
    unknowns,
    way_key,
    written,
)
from memos.memory.episode import Episode
from memos.memory.ids import id_to_bytes
from memos.memory.learned import Form, PolicyBody, State, is_bereft
from memos.memory.model import Kind, Memory, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.lived import Lesson
from memos.text.template import fill

CLAIMED = 256  # lessons of a bucket that a new policy takes for its evidence
PARTNERS = 4  # of them with which it is tried first whether they would make a policy


def learn(tx: Any, case: Case) -> set[str]:
    """Take what an episode teaches in place of what it taught before: make it evidence of the policies that it is a case of, or,
    with lessons of other episodes, new policies. Returns the ids of all policies whose evidence changed. A pure function of the
    rows; to be called in the change that learns from the episode.
    """
    id = case.episode.id
    before, now = lived.lessons_of(tx.db, id), [] if lived.is_told_again(tx.db, id) else lessons_of(case)
    former = {it.memory for it in before if it.memory is not None}
    note_what_works(tx, case)
    heirs = {
        (it.form, it.bucket): it.memory for it in before if it.memory is not None and _is_to_be_told(tx, it.memory)
    }
    if [*map(_shape, before)] == [*map(_shape, now)]:  # it teaches what it taught: only what that is worth may be new
        lived.put_lessons(tx, id, [replace(it, memory=was.memory) for it, was in zip(now, before, strict=True)])
    else:
        lived.put_lessons(tx, id, [])
        for gone in sorted(
            former
        ):  # first as if it had taught nothing, so that the order of learning makes no difference
            _without_evidence(tx, gone)
        lived.put_lessons(tx, id, [replace(it, memory=heirs.get((it.form, it.bucket))) for it in now])
    for bereft in sorted({*heirs.values()}):
        told_again(tx, bereft)
    steps = {s.number: s for s in case.steps}
    touched = set(former)
    for lesson in lived.lessons_of(tx.db, id):
        one = told(lesson, case.episode.environment, steps) if lesson.memory is None and lesson.form != OPEN else None
        if one is not None:
            touched |= _placed(tx, one, case.episode, former)
    return {m for m in touched if tx.get(m) is not None}


def _placed(tx: Any, one: Told, episode: Episode, former: Collection[str]) -> set[str]:
    """Make a lesson evidence of the policies it is a case of, or of a new one."""
    lesson, form = one.lesson, Form(one.lesson.form)
    if form is Form.AVOID and not never_works(tx, one):
        return set()
    known = _candidates(tx, one, former)
    for memory in sorted(known, key=lambda m: len(PolicyBody.of(m).procedure)):  # what needs less
        body = PolicyBody.of(memory)
        values = fits(body, one)
        if values is not None:
            lived.attach(tx, (lesson.number,), memory.id)
            settled = covers(body, one, values) and _is_newest(tx, memory.id, lesson)
            # Which calls of a path make the difference is told by those that led nowhere, and by those that did more.
            differs = form is Form.PATH and (lesson.value <= 0 or len(one.actions) > len(body.procedure))
            if not body.edited and (differs or (lesson.value > 0 and not settled)):
                restated(tx, memory)
            return {memory.id}
    if lesson.value <= 0:
        return set()
    for memory in known:
        if _widened(tx, memory, one):
            return {memory.id}
    return _induced(tx, one, episode)


def _candidates(tx: Any, one: Told, former: Collection[str]) -> list[Memory]:
    """The policies that a lesson may be a case of: of its bucket, and those that do the same kinds of calls."""
    ids = dict.fromkeys(sorted(lived.policies_of_buckets(tx.db, [one.lesson.bucket])))
    ids.update(dict.fromkeys(sorted(former)))
    for n in range(WAYS):
        found = tx.find_key(way_key(one.lesson.form, one.tool, heads_of(one), n))
        if found is None:
            break
        ids[found] = None
    out = []
    for id in ids:
        if _is_to_be_told(tx, id):
            told_again(tx, id)
        memory = tx.get(id)
        stands = memory is not None and memory.kind is Kind.POLICY and memory.status is not Status.RETRACTED
        stands = stands and not is_bereft(memory)
        if memory is not None and stands and memory.body.get("form") == one.lesson.form:
            out.append(memory)
    return out


def _is_newest(tx: Any, id: str, lesson: Lesson) -> bool:
    """Whether a lesson comes after all those that a policy's words are taken from anyway."""
    sql = "SELECT count(DISTINCT episode), max(episode) FROM lessons WHERE memory=? AND value>0"
    count, newest = tx.db.execute(sql, (id_to_bytes(id),)).fetchone()
    own = tx.db.execute("SELECT episode FROM lessons WHERE l=?", (lesson.number,)).get
    return bool(count > TELLING and newest == own)


def _widened(tx: Any, memory: Memory, one: Told) -> bool:
    """Make a policy more general, so that a lesson is a case of it too; False where they have too little in common."""
    body = PolicyBody.of(memory)
    if body.edited:
        return False
    heads = _kinds(body)
    if not contains(one, heads) or (not heads and one.actions):
        return False
    members = members_of(tx, memory)
    if not members or heads_of(members[0]) != heads:
        return False
    together = body_of(Form(one.lesson.form), chosen([*members, realised(one, heads)]))
    if together is None or unknowns(together) > unknowns(body) or len(together.procedure) != len(body.procedure):
        return False
    if fits(together, one) is None or any(fits(together, t) is None for t in members):
        return False
    lived.attach(tx, (one.lesson.number,), memory.id)
    written(tx, memory, together, chosen([*members, realised(one, heads)]), "policy.generalised")
    wider = tx.get(memory.id)
    if wider is not None:
        restated(tx, wider)
    return True


def _kinds(body: PolicyBody) -> Heads:
    """The kinds of calls that a policy's lessons have in common: of its procedure, without the failed call made again."""
    if body.form is Form.AVOID:
        return ()
    actions = body.procedure[:-1] if body.form is Form.FIX and not body.avoid else body.procedure
    seen = {p.name: p.examples[0] for p in body.parameters if p.examples}
    return tuple(kind_of(a.tool, fill(a.input, seen)) for a in actions)


def _induced(tx: Any, one: Told, episode: Episode) -> set[str]:
    """New policies out of a lesson and those of its bucket that belong to none."""
    form = Form(one.lesson.form)
    pool = _pool(tx, one, form)
    out: set[str] = set()
    for group in grouped(form, pool, in_vain(tx, form, one.lesson.bucket)):
        for found in induce(form, group) if _is_promising(form, group, one) else ():
            if form is Form.AVOID and _has_fix(tx, one.lesson.bucket):
                continue
            id = kept(tx, found, episode)
            lived.attach(tx, [t.lesson.number for t in group if fits(found.body, t) is not None], id)
            _claimed(tx, id, one)
            out |= {id, *_absorbed(tx, id, one, found.body)}
    return out


def _claimed(tx: Any, id: str, one: Told) -> None:
    """Older lessons that were free too, as many are once a policy was deleted, are evidence of the new one."""
    memory = tx.get(id)
    free = lived.lessons_free(tx.db, one.lesson.bucket, one.lesson.form, CLAIMED)
    if memory is not None and free:
        body = PolicyBody.of(memory)
        lived.attach(tx, [t.lesson.number for t in read(tx, free) if fits(body, t) is not None], id)


def _is_promising(form: Form, group: Sequence[Told], one: Told) -> bool:
    """Whether a lesson and one of a few others of its group would make a policy: most that come to nothing are done with here."""
    own = next((t for t in group if t.lesson.number == one.lesson.number), None)
    others = {t.lesson.task: t for t in group if t.lesson.task != one.lesson.task}
    return own is not None and any(body_of(form, [t, own]) is not None for t in [*others.values()][-PARTNERS:])


def _pool(tx: Any, one: Told, form: Form) -> list[Told]:
    """The lessons of no policy that may teach the same: of the bucket, and, of what resolves an error, those in which the same
    kind of call failed with an error put in other words.
    """
    lessons = lived.lessons_free(tx.db, one.lesson.bucket, form.value, LOOK_BACK)
    if one.lesson.number not in {it.number for it in lessons}:
        lessons.insert(0, one.lesson)
    if form is Form.FIX:
        elsewhere = lived.lessons_elsewhere(tx.db, one.lesson.bucket, form.value, 2 * LOOK_BACK)
        failed = lived.steps_by_number(tx.db, {n for it in elsewhere for n in it.steps.get("failed", ())})
        kind = kind_of(one.tool, one.input)
        for it in elsewhere:
            step = failed.get(it.steps.get("failed", (0,))[0])
            if step is not None and head(step) == kind and alike_errors(said(step), one.error):
                lessons.append(it)
        lessons.sort(key=lambda it: it.number)
    return read(tx, lessons)


def _absorbed(tx: Any, id: str, one: Told, body: PolicyBody) -> set[str]:
    """Policies that do the same with more calls, which are not needed as it now shows: their evidence is this one's."""
    out = set()
    for other in _candidates(tx, one, ()):
        longer = PolicyBody.of(other)
        if other.id == id or longer.edited or is_by_hand(longer) or len(longer.procedure) <= len(body.procedure):
            continue
        lessons = lived.lessons_for(tx.db, other.id)
        members = read(tx, lessons[-LOOK_BACK:])
        if not members or any(fits(body, t) is None for t in members):
            continue
        failed, own = in_vain(tx, body.form, one.lesson.bucket), [*members, one]
        if failed and worth(own, heads_of(one), failed) < worth(members, heads_of(members[0]), failed):
            continue  # less was done, and it came to nothing more often
        lived.attach(tx, [it.number for it in lessons], id)
        retired = {**other.body, "state": State.RETIRED.value, "why": f"replaced by a shorter one ({id[-8:]})"}
        tx.put(replace(other, status=Status.ARCHIVED, body=retired), "state")
        lived.tell(tx, "policy.retired", memory=other.id, numbers={"by": id})
        out.add(other.id)
    return out


def _has_fix(tx: Any, bucket: bytes) -> bool:
    """Whether some policy resolves this kind of error, which says more than to avoid it."""
    found = (tx.get(id) for id in lived.policies_of_buckets(tx.db, [bucket]))
    return any(m is not None and m.body.get("form") == Form.FIX.value for m in found)


def _without_evidence(tx: Any, id: str) -> None:
    """A policy whose last lesson went loses its claim; `settle` retires it. Its words are taken from what still teaches it."""
    memory = tx.get(id)
    stands = memory is not None and memory.kind is Kind.POLICY and not is_bereft(memory)
    if memory is not None and stands and not PolicyBody.of(memory).edited:
        restated(tx, memory)


def _is_to_be_told(tx: Any, id: str) -> bool:
    memory = tx.get(id)
    return memory is not None and memory.kind is Kind.POLICY and is_bereft(memory)


def _shape(lesson: Lesson) -> tuple[str, bytes, Mapping[str, tuple[int, ...]], bool]:
    """What a lesson teaches, whatever it is worth."""
    return lesson.form, lesson.bucket, {k: v for k, v in lesson.steps.items() if v}, lesson.value > 0
