"""The world model: declarative statements about an environment, each with its evidence, made by rules from policies and steps,
and corrected by what later episodes show.

Everything is counted from rows: `holds` are episodes that teach it, `fails` episodes with a step that contradicts it. Newer
episodes weigh more, so a world that changed is believed before the past is
outnumbered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memos.evolution.case import Case
from memos.evolution.world.facts import Fact, facts_of, gone_in
from memos.evolution.world.said import Learnt, Said, against, context_of, is_one_of, learnt, said_of, slot_of, worked
from memos.memory.episode import ToolUse
from memos.memory.ids import new_id
from memos.memory.learned import BEREFT, BY_HAND, Form, PolicyBody, WorldBody, is_bereft
from memos.memory.model import TRUST_OF, Edge, EdgeType, Kind, Memory, Origin, Status
from memos.storage.ports import WriteTx
from memos.storage.sqlite import lived, lived_world

NEWER = 0.8  # how much less each older episode weighs
BELIEVED = 0.5  # confidence from which a statement stands
EVIDENCE = 8  # steps that a statement is linked to, the newest
LOOK_BACK = 20  # episodes that are looked at for what speaks against a new statement
RULES = "rules"
Reader = Callable[[Memory], Learnt]
_STANDING = (Status.ACTIVE, Status.ARCHIVED)
_FROM, _AGAINST = {EdgeType.DERIVED_FROM}, {EdgeType.CONTRADICTS}


def restate(tx: WriteTx, case: Case, ids: Collection[str]) -> None:
    """Bring the statements about the world up to what the policies `ids` and an episode's steps say now."""
    changed: dict[str, None] = {}
    read = _reader(tx)
    for id in sorted(ids):
        policy = tx.get(id)
        if policy is not None and policy.kind is Kind.POLICY:
            changed |= dict.fromkeys(_from_policy(tx, read(policy)))
    changed |= dict.fromkeys(_contradict(tx, case, read))
    for id in changed:
        weigh(tx, id, case.episode.id, read)
    for fact in facts_of(_db(tx), case):
        _keep_fact(tx, fact, case)


# -- from policies -------------------------------------------------------------------------------------------------


def _from_policy(tx: WriteTx, it: Learnt) -> list[str]:
    """Say what a policy says; returns the statements that rest, or rested, on it."""
    all_ = statements_of(tx, it.memory.id)
    mine = [m for m in all_ if WorldBody.of(m).author == RULES]
    said = said_of(it) if it.stands else None
    if said is None:
        return [m.id for m in all_]
    kept = next(iter(tx.find_slot(said.slot, _STANDING)), None)
    if kept is None:
        kept = next((m for m in all_ if is_bereft(m)), None)
    if kept is None:
        kept = next(
            (m for m in mine if WorldBody.of(m).policies == (it.memory.id,) and not WorldBody.of(m).edited), None
        )
    kept = _new(tx, said, it) if kept is None else _reworded(tx, kept, said, it.memory.id)
    tx.link(
        Edge(kept.id, it.memory.id, EdgeType.DERIVED_FROM)
    )  # and by that from its steps: it goes when its policies go
    for other in mine:
        if other.id != kept.id and not WorldBody.of(other).edited:
            _leave(tx, other, it.memory.id, kept.id)
    return [kept.id, *(m.id for m in all_ if m.id != kept.id)]


def statements_of(tx: WriteTx, policy: str) -> list[Memory]:
    """The statements that rest on a policy, oldest first; also those that are to be told again."""
    found = [tx.get(edge.src) for edge in tx.edges(policy, "in", _FROM)]
    return sorted(
        (
            m
            for m in found
            if m is not None and m.kind is Kind.WORLD_MODEL and (m.status is not Status.RETRACTED or is_bereft(m))
        ),
        key=lambda m: m.id,
    )


def _new(tx: WriteTx, said: Said, it: Learnt) -> Memory:
    weight = _weighed(_evidence(tx, [it], []))
    body = WorldBody(
        said.section, said.environment, said.subject, (it.memory.id,), weight.holds, weight.fails, author=RULES
    )
    stored = tx.put(_memory(said, body, weight.confidence, it.memory.owner, it.since), "state")
    lived.tell(tx, "world.stated", memory=stored.id, numbers={"holds": weight.holds})
    for step in _looked_back(tx, it):
        tx.link(Edge(step, stored.id, EdgeType.CONTRADICTS))
    return stored


def _memory(said: Said, body: WorldBody, confidence: float, owner: str | None, since: datetime | None) -> Memory:
    return Memory(
        id=new_id(),
        kind=Kind.WORLD_MODEL,
        text=said.text,
        slot=said.slot,
        valid_from=since,
        confidence=confidence,
        origin=Origin.AGENT,
        trust=TRUST_OF[Origin.AGENT],
        owner=owner,
        body=body.to_body(),
    )


def _reworded(tx: WriteTx, kept: Memory, said: Said, policy: str) -> Memory:
    """A statement with the words it would have now, and this policy among those that say so."""
    body = WorldBody.of(kept)
    policies = body.policies if policy in body.policies else tuple(sorted((*body.policies, policy)))
    text, slot = (kept.text, kept.slot) if body.edited else (said.text, said.slot)
    if not body.edited or is_bereft(kept):
        slot = said.slot
        body = replace(body, section=said.section, environment=said.environment, subject=said.subject)
    stored = {k: v for k, v in kept.body.items() if k != BEREFT} | replace(body, policies=policies).to_body()
    status = Status.ACTIVE if kept.status is Status.RETRACTED else kept.status
    new = replace(kept, text=text, slot=slot, status=status, body=stored)
    if (new.text, new.slot, {**new.body}) == (kept.text, kept.slot, {**kept.body}):
        return kept
    if new.text != kept.text:
        lived.tell(tx, "world.restated", memory=kept.id)
    return tx.put(new, "restate")


def _leave(tx: WriteTx, other: Memory, policy: str, kept: str) -> None:
    """A policy says something else now: a statement that no other says is superseded by the one it became."""
    body = WorldBody.of(other)
    left = tuple(p for p in body.policies if p != policy)
    tx.unlink(other.id, policy, EdgeType.DERIVED_FROM)
    status = other.status
    if not left:
        status = Status.SUPERSEDED
        tx.link(Edge(kept, other.id, EdgeType.SUPERSEDES))
        lived.tell(tx, "world.superseded", memory=other.id, numbers={"by": kept})
    ended = tx.now if status is Status.SUPERSEDED else other.valid_to
    tx.put(replace(other, status=status, valid_to=ended, body={**other.body, "policies": list(left)}), "restate")


def _looked_back(tx: WriteTx, it: Learnt) -> list[str]:
    """Steps of former episodes that speak against a statement that is new: it may be made from what came late."""
    out: list[str] = []
    for id in lived_world.episodes_with(_db(tx), sorted(it.failed_at), after=it.first, limit=LOOK_BACK):
        episode = lived.episode(_db(tx), id)
        if episode is not None and episode.learned_at is not None:
            step = against(it, id, episode.environment, lived.steps(_db(tx), id), episode.reward)
            out += [] if step is None else [step.id]
    return out


# -- against them --------------------------------------------------------------------------------------------------


def _contradict(tx: WriteTx, case: Case, read: Reader) -> list[str]:
    """Note what an episode shows against statements, and take back what it was noted to show before; returns the statements."""
    episode = case.episode
    found: dict[tuple[str, str], None] = {}
    for id in _doubtful(tx, case):
        statement = tx.get(id)
        if statement is None or statement.status is Status.RETRACTED:
            continue
        for policy in WorldBody.of(statement).policies:
            memory = tx.get(policy)
            if memory is None or memory.kind is not Kind.POLICY:
                continue
            step = against(read(memory), episode.id, episode.environment, case.steps, case.reward.value)
            if step is not None:
                found[step.id, id] = None
    before = [
        (step.id, e.dst) for step in case.steps if step.use is not None for e in tx.edges(step.id, "out", _AGAINST)
    ]
    old = [(s, t) for s, t in before if (m := tx.get(t)) is not None and _rests_on_policies(m)]
    for step_id, id in old:
        if (step_id, id) not in found:
            tx.unlink(step_id, id, EdgeType.CONTRADICTS)
    for step_id, id in found:
        if (step_id, id) not in old:
            tx.link(Edge(step_id, id, EdgeType.CONTRADICTS))
            lived.tell(tx, "world.contradicted", memory=id, episode=episode.id)
    return [*dict.fromkeys([*(id for _, id in found), *(id for _, id in old)])]


def _doubtful(tx: WriteTx, case: Case) -> list[str]:
    """Statements that say of a call which worked in an episode that it fails."""
    uses = [s.use for s in case.steps if s.use is not None and worked(s.use)]
    policies = lived_world.policies_of_failures(_db(tx), [*dict.fromkeys(map(context_of, uses))])
    found = dict.fromkeys(m.id for policy in policies for m in statements_of(tx, policy))
    for environment in dict.fromkeys((case.episode.environment, "")):
        for tool in dict.fromkeys(use.tool for use in uses):
            begin = slot_of(environment, "constraint", f"{tool.replace('|', '/')}|")
            for id in lived_world.ids_by_slot(_db(tx), begin):
                if id not in found and any(_is_avoided(tx, policy, uses) for policy in _policies_of(tx, id)):
                    found[id] = None
    return [*found]


def _policies_of(tx: WriteTx, statement: str) -> tuple[str, ...]:
    memory = tx.get(statement)
    return () if memory is None else WorldBody.of(memory).policies


def _is_avoided(tx: WriteTx, policy: str, uses: Sequence[ToolUse]) -> bool:
    """Whether one of these calls is what a policy says to avoid."""
    memory = tx.get(policy)
    if memory is None or memory.body.get("form") != Form.AVOID.value:
        return False
    body = PolicyBody.of(memory)
    return any(is_one_of(body, use) for use in uses)


def _rests_on_policies(memory: Memory) -> bool:
    return memory.kind is Kind.WORLD_MODEL and bool(WorldBody.of(memory).policies)


# -- weighing ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Weight:
    """What is counted of a statement, and how far it is believed, 0 to 1."""

    holds: int
    fails: int
    confidence: float


def weigh(tx: WriteTx, id: str, episode: str | None = None, read: Reader | None = None) -> None:
    """Count what speaks for and against a statement that rests on policies, and let it stand or not."""
    statement = tx.get(id)
    if statement is None or statement.status not in _STANDING:
        return
    body = WorldBody.of(statement)
    found = [m for p in body.policies if (m := tx.get(p)) is not None and m.kind is Kind.POLICY]
    policies = [*map(read or _reader(tx), found)]
    weight = _weighed(_evidence(tx, policies, tx.edges(id, "in", _AGAINST)))
    stands = any(p.stands for p in policies) and weight.confidence >= BELIEVED
    holds = max(weight.holds, lived_world.count_episodes(_db(tx), [p.memory.id for p in policies]))
    body = replace(body, holds=rounded(holds), fails=rounded(weight.fails))
    _settle(tx, statement, body, weight.confidence, stands, episode)


def _settle(tx: WriteTx, old: Memory, body: WorldBody, confidence: float, stands: bool, episode: str | None) -> None:
    """Write what became of a statement, if anything did. What a person decided stays."""
    status = Status.ACTIVE if stands else Status.ARCHIVED
    if str(old.body.get("why", "")).startswith(BY_HAND):
        status = old.status
    ended = None if status is Status.ACTIVE else (old.valid_to or tx.now)
    new = replace(old, status=status, confidence=confidence, valid_to=ended, body={**old.body, **body.to_body()})
    if (new.status, new.confidence, new.body) == (old.status, old.confidence, old.body):
        return
    tx.put(new, "weigh")
    if status is not old.status:
        what = "world.retired" if status is Status.ARCHIVED else "world.held_again"
        lived.tell(tx, what, memory=old.id, episode=episode, numbers={"holds": body.holds, "fails": body.fails})


def _evidence(tx: WriteTx, policies: Sequence[Learnt], against_it: Iterable[Edge]) -> dict[str, tuple[int, bool]]:
    """Of each episode that shows anything: its last step that does, and whether it speaks for the statement."""
    out: dict[str, tuple[int, bool]] = {}
    for edge in against_it:
        found = lived_world.place_of_step(_db(tx), edge.src)
        if found is not None:
            out[found[0]] = (found[1], False)
    for policy in policies:
        for lesson in policy.lessons:
            last = max((n for numbers in lesson.steps.values() for n in numbers), default=0)
            out[lesson.episode] = (last, True)
    return out


def _weighed(evidence: dict[str, tuple[int, bool]]) -> _Weight:
    """Holds and fails, and (1/2 + the weight of those that hold) / (1 + all weight), each older episode weighing `NEWER` of the
    next.
    """
    held = all_ = 0.0
    for age, (_, is_for) in enumerate(sorted(evidence.values(), reverse=True)):
        weight = NEWER**age
        all_ += weight
        held += weight if is_for else 0.0
    holds = sum(is_for for _, is_for in evidence.values())
    return _Weight(holds, len(evidence) - holds, round((0.5 + held) / (1 + all_), 2))


# -- what is there -------------------------------------------------------------------------------------------------


def _keep_fact(tx: WriteTx, fact: Fact, case: Case) -> None:
    """State something that is there in an environment, or weigh it anew."""
    kept = next(iter(tx.find_slot(fact.said.slot, _STANDING)), None)
    gone = gone_in(case, fact)
    if kept is not None and gone is not None:
        tx.link(Edge(gone.id, kept.id, EdgeType.CONTRADICTS))
    edges = [] if kept is None else tx.edges(kept.id, "in", _AGAINST)
    evidence = {
        place[0]: (place[1], False) for e in edges if (place := lived_world.place_of_step(_db(tx), e.src)) is not None
    }
    evidence |= {id: (number, True) for id, number in fact.episodes.items() if id not in evidence}
    weight = _weighed(evidence)
    holds = 1 << (weight.holds.bit_length() - 1) if weight.holds else 0
    if kept is not None and not weight.fails:
        holds = max(holds, WorldBody.of(kept).holds)  # a window that slides is no news
    body = WorldBody("environment", fact.said.environment, fact.said.subject, (), holds, weight.fails)
    confidence = round(weight.confidence, 1)
    if kept is None:
        if len(fact.episodes) < 2:
            return
        owner, since = case.episode.owner, _since(fact.steps)
        kept = tx.put(_memory(fact.said, body, confidence, owner, since), "state")
        lived.tell(tx, "world.stated", memory=kept.id, episode=case.episode.id, numbers={"holds": weight.holds})
    old = WorldBody.of(kept)
    news = old.holds != body.holds or kept.status is not Status.ACTIVE  # a share that wavers is no news
    if news and not old.edited and fact.said.text != kept.text and gone is None:
        kept = tx.put(replace(kept, text=fact.said.text), "restate")
        lived.tell(tx, "world.restated", memory=kept.id, episode=case.episode.id)
    if old.edited:
        body = replace(old, holds=body.holds, fails=body.fails)
    _link_steps(tx, kept.id, fact.steps)
    _settle(tx, kept, body, confidence, weight.confidence >= BELIEVED, case.episode.id)


def rounded(count: int) -> int:
    """A count, down to a power of two above eight: what is seen in every episode needs no new version with every episode."""
    return count if count <= 8 else 1 << (count.bit_length() - 1)


# -- inside --------------------------------------------------------------------------------------------------------


def _link_steps(tx: WriteTx, statement: str, steps: Sequence[Any]) -> None:
    """Link a statement to the newest steps it is seen in; older links stay, up to twice as many."""
    linked = {e.dst for e in tx.edges(statement, "out", _FROM)}
    if len(linked) >= 2 * EVIDENCE:
        return
    for step in sorted(steps, key=lambda s: s.number)[-EVIDENCE:]:
        if step.id not in linked:
            tx.link(Edge(statement, step.id, EdgeType.DERIVED_FROM))


def _since(steps: Iterable[Any]) -> datetime | None:
    return min((s.at for s in steps), default=None)


def _reader(tx: WriteTx) -> Reader:
    """Policies with their evidence, each read once."""
    known: dict[str, Learnt] = {}

    def read(policy: Memory) -> Learnt:
        if policy.id not in known:
            known[policy.id] = learnt(_db(tx), policy)
        return known[policy.id]

    return read


def _db(tx: Any) -> Any:
    return tx.db
