"""L2: what several episodes teach alike becomes a policy, what fits one becomes its evidence, and its state follows from what is
counted. Everything is computed from rows within the one change that learns from an episode, so that doing it again ends the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.evolution import gain, reliability
from memos.evolution.against import AGAINST, broken, why_against
from memos.evolution.by_hand import is_by_hand
from memos.evolution.case import Case
from memos.evolution.common import Heads, contains, heads_of, realised, shared, worth
from memos.evolution.induce import (
    PLACES,
    TELLING,
    Induced,
    body_of,
    chosen,
    covers,
    fits,
    induce,
    is_instead,
    procedure_key,
    telling,
)
from memos.evolution.lessons import OPEN, Told, alike_errors, done_only, head, kind_of, lessons_of, said, told
from memos.evolution.model_words import DRAWN
from memos.evolution.policy_text import policy_text, policy_title
from memos.evolution.refining import drawn
from memos.evolution.reward import FAILURE, ended
from memos.memory.episode import Episode, Step
from memos.memory.ids import id_to_bytes, new_id, unique_key
from memos.memory.learned import Action, Form, PolicyBody, State
from memos.memory.model import TRUST_OF, Edge, EdgeType, Kind, Memory, Origin, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.lived import Lesson
from memos.text.template import fill

LOOK_BACK = 32  # lessons of a bucket that are held against a new one
CLAIMED = 256  # lessons of a bucket that a new policy takes for its evidence
PARTNERS = 4  # of them with which it is tried first whether they would make a policy
_IN = "in "  # how a boundary that was counted begins
_WAYS = 4  # policies that are remembered for one sequence of calls


def learn(tx: Any, case: Case) -> set[str]:
    """Take what an episode teaches in place of what it taught before: make it evidence of the policies that it is a case of, or,
    with lessons of other episodes, new policies. Returns the ids of all policies whose evidence changed. A pure function of the
    rows; to be called in the change that learns from the episode.
    """
    id = case.episode.id
    before, now = lived.lessons_of(tx.db, id), [] if lived.is_told_again(tx.db, id) else lessons_of(case)
    former = {it.memory for it in before if it.memory is not None}
    _note_what_works(tx, case)
    if [*map(_shape, before)] == [*map(_shape, now)]:  # it teaches what it taught: only what that is worth may be new
        lived.put_lessons(tx, id, [replace(it, memory=was.memory) for it, was in zip(now, before, strict=True)])
    else:
        lived.put_lessons(tx, id, [])
        for gone in sorted(
            former
        ):  # first as if it had taught nothing, so that the order of learning makes no difference
            _without_evidence(tx, gone)
        lived.put_lessons(tx, id, now)
    steps = {s.number: s for s in case.steps}
    touched = set(former)
    for lesson in lived.lessons_of(tx.db, id):
        one = told(lesson, case.episode.environment, steps) if lesson.memory is None and lesson.form != OPEN else None
        if one is not None:
            touched |= _placed(tx, one, case.episode, former)
    return {m for m in touched if tx.get(m) is not None}


def settle(tx: Any, ids: Collection[str]) -> set[str]:
    """Give policies the state that follows from what is counted of them, but where a person chose it; returns those changed."""
    changed = set()
    for id in sorted(ids):
        memory = tx.get(id)
        if memory is None or memory.kind is not Kind.POLICY or memory.status in (Status.RETRACTED, Status.QUARANTINED):
            continue
        body = PolicyBody.of(memory)
        if is_by_hand(body):
            continue
        state, why = _state(tx, id, body, bool(memory.body.get("shared_from")))
        if (forbidden := why_against(tx, memory)) is not None:
            state, why = State.RETIRED, forbidden
        where = _boundary(tx, id, body)
        if state is body.state and where == body.boundary:
            continue
        status = Status.ARCHIVED if state is State.RETIRED else Status.ACTIVE
        why = body.why if state is body.state else why
        text = memory.text if where == body.boundary else policy_text(replace(body, boundary=where))
        stored = {**memory.body, "state": state.value, "why": why, "boundary": where}
        tx.put(replace(memory, text=text, status=status, body=stored), "state")
        if state is body.state:
            continue
        lived.tell(tx, f"policy.{state.value}", memory=id, numbers={"support": lived.counted(tx.db, id).support})
        changed.add(id)
    return changed


def _boundary(tx: Any, id: str, body: PolicyBody) -> str:
    """Where a policy was followed and did not help, in other environments than those it was learned in; as it was where somebody
    or a model has put it into words.
    """
    if body.edited or body.author != "rules" or (body.boundary and not body.boundary.startswith(_IN)):
        return body.boundary
    places = sorted(set(lived.failed_in(tx.db, id)) - {"", *body.environments})
    return _IN + ", ".join(places[:PLACES]) if places and body.environments else ""


def _state(tx: Any, id: str, body: PolicyBody, is_copy: bool = False) -> tuple[State, str]:
    if body.form is Form.DIRECTIVE or is_copy:
        # it holds because somebody said so, or taught it elsewhere, until what it orders goes wrong again and again
        outcomes = lived.outcomes(tx.db, id)[body.forgiven :]
        state, why = reliability.policy_state(reliability.FEWEST_EPISODES, 1.0, outcomes)
        if state is State.RETIRED and not is_copy:
            state = state if reliability.worse_than_usual(outcomes, lived.usual_success(tx.db, id)) else body.state
        return (state, why) if state is State.RETIRED else (body.state, body.why)
    tool, _, avoided = body.avoid.partition(": ")
    if body.form is Form.AVOID and tx.find_key(_works_key(tool, kind_of(tool, avoided))) is not None:
        return State.RETIRED, "such a call worked"
    counted = lived.counted(tx.db, id)
    if not counted.values and (not counted.handed or body.state is State.RETIRED):
        return State.RETIRED, "nothing teaches it any more"
    badly = sum(v <= FAILURE for v in counted.values)
    if badly and counted.support < reliability.FEWEST_EPISODES:
        return State.RETIRED, "the tasks that taught it went badly"
    state, why = reliability.policy_state(counted.support, gain.gain_of(tx.db, id), lived.outcomes(tx.db, id))
    if state is State.ACTIVE and badly >= counted.support:
        return State.CANDIDATE, "as many tasks went badly with it as well"
    return state, why


# -- placing a lesson ----------------------------------------------------------------------------------------------


def _placed(tx: Any, one: Told, episode: Episode, former: Collection[str]) -> set[str]:
    """Make a lesson evidence of the policies it is a case of, or of a new one."""
    lesson, form = one.lesson, Form(one.lesson.form)
    if form is Form.AVOID and not _never_works(tx, one):
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
                _restated(tx, memory)
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
    for n in range(_WAYS):
        found = tx.find_key(_way_key(one.lesson.form, one.tool, heads_of(one), n))
        if found is None:
            break
        ids[found] = None
    out = []
    for memory in (tx.get(id) for id in ids):
        stands = memory is not None and memory.kind is Kind.POLICY and memory.status is not Status.RETRACTED
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
    members = _members(tx, memory)
    if not members or heads_of(members[0]) != heads:
        return False
    together = body_of(Form(one.lesson.form), chosen([*members, realised(one, heads)]))
    if together is None or _unknown(together) > _unknown(body) or len(together.procedure) != len(body.procedure):
        return False
    if fits(together, one) is None or any(fits(together, t) is None for t in members):
        return False
    lived.attach(tx, (one.lesson.number,), memory.id)
    _written(tx, memory, together, chosen([*members, realised(one, heads)]), "policy.generalised")
    wider = tx.get(memory.id)
    if wider is not None:
        _restated(tx, wider)
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
    for group in _groups(form, pool, _failed(tx, form, one.lesson.bucket)):
        for found in induce(form, group) if _is_promising(form, group, one) else ():
            if form is Form.AVOID and _has_fix(tx, one.lesson.bucket):
                continue
            id = _kept(tx, found, episode)
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
        lived.attach(tx, [t.lesson.number for t in _read(tx, free) if fits(body, t) is not None], id)


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
    return _read(tx, lessons)


def _absorbed(tx: Any, id: str, one: Told, body: PolicyBody) -> set[str]:
    """Policies that do the same with more calls, which are not needed as it now shows: their evidence is this one's."""
    out = set()
    for other in _candidates(tx, one, ()):
        longer = PolicyBody.of(other)
        if other.id == id or longer.edited or is_by_hand(longer) or len(longer.procedure) <= len(body.procedure):
            continue
        lessons = lived.lessons_for(tx.db, other.id)
        members = _read(tx, lessons[-LOOK_BACK:])
        if not members or any(fits(body, t) is None for t in members):
            continue
        failed, own = _failed(tx, body.form, one.lesson.bucket), [*members, one]
        if failed and worth(own, heads_of(one), failed) < worth(members, heads_of(members[0]), failed):
            continue  # less was done, and it came to nothing more often
        lived.attach(tx, [it.number for it in lessons], id)
        retired = {**other.body, "state": State.RETIRED.value, "why": f"replaced by a shorter one ({id[-8:]})"}
        tx.put(replace(other, status=Status.ARCHIVED, body=retired), "state")
        lived.tell(tx, "policy.retired", memory=other.id, numbers={"by": id})
        out.add(other.id)
    return out


def _groups(form: Form, pool: Sequence[Told], failed: Sequence[Told] = ()) -> list[tuple[Told, ...]]:
    if form is Form.AVOID:
        return [tuple(pool)]
    out: list[tuple[Told, ...]] = []
    for instead in (False, True):
        out += [s.members for s in shared([t for t in pool if is_instead(t) is instead], failed)]
    return out


def _failed(tx: Any, form: Form, bucket: bytes) -> list[Told]:
    """What was done for nothing in tasks that began alike: paths only, for what resolves an error shows at once."""
    if form is not Form.PATH:
        return []
    lessons = lived.lessons_failed(tx.db, bucket, form.value, LOOK_BACK)
    there = lived.numbers_there(tx.db, {n for it in lessons for of in it.steps.values() for n in of})
    whole = [it for it in lessons if all(n in there for of in it.steps.values() for n in of)]
    steps = lived.steps_by_number(tx.db, {n for it in whole for n in it.steps.get("done", ())})
    return [done_only(it, steps) for it in whole]


def _has_fix(tx: Any, bucket: bytes) -> bool:
    """Whether some policy resolves this kind of error, which says more than to avoid it."""
    found = (tx.get(id) for id in lived.policies_of_buckets(tx.db, [bucket]))
    return any(m is not None and m.body.get("form") == Form.FIX.value for m in found)


def _without_evidence(tx: Any, id: str) -> None:
    """A policy whose last lesson went loses its claim; `settle` retires it. Its words are taken from what still teaches it."""
    memory = tx.get(id)
    if memory is not None and memory.kind is Kind.POLICY and not PolicyBody.of(memory).edited:
        _restated(tx, memory)


# -- what works ----------------------------------------------------------------------------------------------------


def _note_what_works(tx: Any, case: Case) -> None:
    """Remember for each kind of call one that worked: nobody is told to avoid those."""
    for step in case.steps:
        if step.use is not None and ended(step):
            key = _works_key(step.use.tool, head(step))
            if tx.find_key(key) is None:
                tx.point(key, step.id)


def _never_works(tx: Any, one: Told) -> bool:
    return tx.find_key(_works_key(one.tool, kind_of(one.tool, one.input))) is None


def _works_key(tool: str, kind: str) -> bytes:
    return unique_key("works", tool, kind)


def _way_key(form: str, tool: str, heads: Heads, n: int) -> bytes:
    return unique_key("way", form, tool, *heads, str(n))


# -- writing policies ----------------------------------------------------------------------------------------------


def _kept(tx: Any, found: Induced, episode: Episode) -> str:
    """A new policy, or the one there is that does the same."""
    key = procedure_key(episode.owner, found.body)
    known: str | None = tx.find_key(key)
    memory: Memory | None = None if known is None else tx.get(known)
    if memory is not None and memory.kind is Kind.POLICY and memory.status is not Status.RETRACTED:
        for one in found.members:
            lived.attach(tx, (one.lesson.number,), memory.id)
        _restated(tx, memory)
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
    for n in range(_WAYS):
        key = _way_key(one.lesson.form, one.tool, heads_of(one), n)
        if tx.find_key(key) in (None, id):
            tx.point(key, id)
            return


def _contradict(tx: Any, id: str, found: Induced) -> None:
    """Note the policies that say something else about the same kind of error. Both live; what they gain decides."""
    if found.body.form is not Form.FIX:
        return
    buckets = {t.lesson.bucket for t in found.members}
    for other in sorted(lived.policies_of_buckets(tx.db, buckets)):
        memory = tx.get(other)
        if other != id and memory is not None and memory.body.get("form") == Form.FIX.value:
            tx.link(Edge(id, other, EdgeType.CONTRADICTS))


def _restated(tx: Any, memory: Memory) -> None:
    """Take a policy's words from its evidence anew."""
    members = _members(tx, memory)
    body = body_of(Form(str(memory.body.get("form"))), members) if members else None
    if body is not None:
        longer = len(body.procedure) > len(memory.body.get("procedure") or ())
        _written(tx, memory, body, members, "policy.generalised")
        if longer:  # what did without the calls that make the difference is no evidence of it any more
            lessons = lived.lessons_for(tx.db, memory.id)
            lived.attach(tx, [t.lesson.number for t in _read(tx, lessons) if fits(body, t) is None], None)


def _members(tx: Any, memory: Memory) -> tuple[Told, ...]:
    """The good lessons that a policy's words are taken from."""
    lessons = _read(tx, lived.lessons_good(tx.db, memory.id, LOOK_BACK))
    body = PolicyBody.of(memory)
    own = [t for t in lessons if fits(body, t) is not None] or lessons
    form = body.form
    if form is Form.AVOID:
        return telling(form, own)
    groups = _groups(form, own, _failed(tx, form, own[0].lesson.bucket) if own else ())
    return telling(form, groups[0]) if groups else ()


def _written(tx: Any, memory: Memory, body: PolicyBody, members: Sequence[Told], what: str) -> None:
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


def _read(tx: Any, lessons: Iterable[Lesson]) -> list[Told]:
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


def _shape(lesson: Lesson) -> tuple[str, bytes, Mapping[str, tuple[int, ...]], bool]:
    """What a lesson teaches, whatever it is worth."""
    return lesson.form, lesson.bucket, {k: v for k, v in lesson.steps.items() if v}, lesson.value > 0


def _unknown(body: PolicyBody) -> int:
    return sum(p.source == "unknown" for p in body.parameters)


def _bare(procedure: Sequence[Action]) -> tuple[tuple[str, str], ...]:
    return tuple((a.tool, a.input) for a in procedure)
