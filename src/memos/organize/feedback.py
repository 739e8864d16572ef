"""From what feedback asks for to what is changed: a plan, found by reading, and its application in one change.

All or nothing: where one thing that is asked for is not certain, nothing is done. The record of the feedback is put anew with
what came of it, so that undoing that record undoes everything, and the same feedback again does nothing twice (law 2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memos.errors import Conflict
from memos.memory.feedback import FeedbackDone, FeedbackIntent, FeedbackReading, Made, Operation, Told
from memos.memory.filter import Compare, Field, Op
from memos.memory.model import Edge, EdgeType, Kind, Layer, Memory, Status
from memos.memory.statement import Ending, Mention, Reading, Statement
from memos.organize.contradict import resolve
from memos.organize.correct import corrected, not_before
from memos.organize.forget import retract
from memos.organize.reconcile import Outcome, mention, reconcile
from memos.organize.rename import Renaming, rename, renaming
from memos.organize.targets import KIN, SHOWN, agreed_to, current, forgettable, with_evidence
from memos.storage.ports import ANY_STATUS, CubeStore, Purged, View, WriteTx
from memos.storage.timeline import last_said, slot_of, strangers

_ANY = View(statuses=ANY_STATUS)
_SURER = 0.5  # of what is missing to certainty, how much an agreement adds
_NOTHING = "nothing is asked for that is surely about something remembered; the words are kept"


class Stale(Conflict):
    """What the plan was made of changed meanwhile; it is to be made again."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation. `brings`: statements, each with the record that says it. The others are memories as they were found."""

    operation: Operation
    start: int
    end: int
    brings: tuple[tuple[Memory, Statement], ...] = ()
    confirms: tuple[Memory, ...] = ()
    forgets: tuple[Memory, ...] = ()
    passages: tuple[Memory, ...] = ()  # records that stay, with a note of what is forgotten of them
    renames: Renaming | None = None

    @property
    def is_news(self) -> bool:
        """Whether there is something to do only as long as it was not done: the same words may ask for it again."""
        return bool(self.forgets) or (self.operation is Operation.CORRECT and bool(self.brings))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done; where it is not certain, no `steps`, but `why`, and what may have been meant."""

    steps: tuple[Step, ...] = ()
    why: str = ""
    candidates: tuple[Memory, ...] = ()
    notes: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()


@dataclass(slots=True)
class Applied:
    """What was done. `purged` is the report of a hard deletion, whose traces on the disk are still to be cleared."""

    done: list[FeedbackDone] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)  # of the targets, before
    restored: list[str] = field(default_factory=list)
    purged: Purged | None = None


async def plan(
    store: CubeStore, trace: Memory, reading: FeedbackReading, me: Collection[str], named: Sequence[str] = ()
) -> Plan:
    """What is to be done for a record of feedback. `me`: what its speaker is called in facts; `named`: ids the caller gave."""
    if reading.unclear:
        return Plan(why=reading.unclear)
    steps: list[Step] = []
    notes: list[str] = []
    for intent in reading.intents:
        step, why, candidates = await _step(store, trace, intent, me, intent.ids or named, notes)
        if step is not None:
            steps.append(step)
        elif not _is_aside(intent, reading):
            return Plan(why=f"{why}; nothing was changed", candidates=candidates)
    return Plan(tuple(steps), notes=tuple(notes), mentions=reading.mentions) if steps else Plan(why=_NOTHING)


def _is_aside(intent: FeedbackIntent, reading: FeedbackReading) -> bool:
    """Whether a "yes" stands only beside what is really said."""
    return intent.operation is Operation.CONFIRM and not intent.statements and len(reading.intents) > 1


_Found = tuple[Step | None, str, tuple[Memory, ...]]


async def _step(
    store: CubeStore, trace: Memory, intent: FeedbackIntent, me: Collection[str], named: Sequence[str], notes: list[str]
) -> _Found:
    """The step for one intent; None, with the reason and what may have been meant, where there is none."""
    at = (intent.operation, intent.start, intent.end)
    if intent.topic is not None:
        found = await forgettable(store, trace, intent.topic, me, named)
        if found.mixed:
            say = "1 message says" if len(found.mixed) == 1 else f"{len(found.mixed)} messages say"
            notes.append(f"{say} it among other things and stays; give its id to have all of it forgotten")
        step = Step(*at, forgets=found.memories, passages=found.mixed) if found.memories else None
        return step, found.why, found.candidates
    if intent.operation is Operation.FORGET:
        there = await with_evidence(store, intent.ids)
        step = Step(*at, forgets=there.memories, passages=there.mixed) if there.memories else None
        return step, "what is to be forgotten is not there", ()
    if intent.operation is Operation.REPLACE:
        name = await renaming(store, trace, intent.old, intent.new)
        return (Step(*at, renames=name) if name is not None else None), f"no memory holds {intent.old!r:.60}", ()
    if intent.corrections:
        return await _correction(store, trace, intent, named)
    if intent.statements:
        return Step(*at, brings=await _in_place(store, trace, intent)), "", ()
    if intent.operation is Operation.CONFIRM and intent.ids:
        right = tuple(m for m in await store.get(list(intent.ids)) if m.layer is Layer.DERIVED)
        return (Step(*at, confirms=right) if right else None), "what is confirmed is not there", ()
    if intent.operation is Operation.CONFIRM:
        agreed = await agreed_to(store, trace, me, named)
        return (Step(*at, confirms=agreed.memories) if agreed.memories else None), agreed.why, agreed.candidates
    near = await agreed_to(store, trace, me, named)
    return None, "what is right instead is not said", near.memories[:SHOWN]


async def _correction(store: CubeStore, trace: Memory, intent: FeedbackIntent, named: Sequence[str]) -> _Found:
    """Words for words, in the one fact or sentence that is surely meant."""
    aimed = replace(trace, body={**trace.body, "corrects": list(named)})
    made = await corrected(store, aimed, Reading(corrections=intent.corrections))
    if made.first:
        return Step(intent.operation, intent.start, intent.end, brings=made.first), "", ()
    old = next((c.old for c in intent.corrections if c.old), None)
    holds = await current(store, Compare(Field("text"), Op.LIKE, old)) if old is not None else []
    what = f"which memory says {old!r:.60}" if old is not None else "what the right word stands for"
    return None, f"it is not certain {what}", tuple(holds[:SHOWN])


async def _in_place(store: CubeStore, trace: Memory, intent: FeedbackIntent) -> tuple[tuple[Memory, Statement], ...]:
    """The statements; of what is called wrong each takes the place of what was thought, for the whole time (law 5)."""
    out = []
    for statement in intent.statements:
        by = trace
        if intent.refused and not statement.ended:
            where = Compare(Field("slot"), Op.EQ, statement.slot)
            known = [m for m in await current(store, where) if not strangers(m, trace)]
            others = [m for m in known if m.body.get("key") != statement.key]
            wrong = others if statement.single else [m for m in others if _only_named_otherwise(m, statement)]
            if len(wrong) == 1:
                end = Ending(statement.slot, str(wrong[0].body.get("key", "")))
                body = {**statement.body, "corrects": wrong[0].id}
                statement = replace(statement, valid_from=wrong[0].valid_from, ends=(*statement.ends, end), body=body)
                by = not_before(trace, last_said(wrong[0]))
        out.append((by, statement))
    return tuple(out)


def _only_named_otherwise(fact: Memory, statement: Statement) -> bool:
    """Whether a statement says of somebody just what a fact says, but for the name: "a cat named Mia" of "a cat named Lia"."""
    if (statement.slot.rpartition("|")[2]) not in KIN:
        return False
    value = str(fact.body.get("value", ""))
    return bool(value) and fact.text.replace(value, "", 1) == statement.text.replace(statement.value, "", 1)


def apply(tx: WriteTx, trace: Memory, plan: Plan, *, hard: bool) -> Applied:
    """Do what is planned. Raises Stale when a memory is not any more as it was found."""
    applied = Applied()
    for step in plan.steps:
        if step.brings:
            _bring(tx, trace, step, applied)
        if step.confirms:
            _confirm(tx, trace, step, applied)
        if step.renames is not None:
            targets, made = rename(tx, trace, step.renames)
            if targets:
                _note(applied, trace, step, targets, made)
        if step.forgets:
            _forget(tx, trace, step, applied, hard=hard)
    if applied.done:
        for named in plan.mentions:
            mention(tx, trace, named, Outcome())
    return applied


def _bring(tx: WriteTx, trace: Memory, step: Step, applied: Applied) -> None:
    """Bring statements in, and tell by what they did to their slots which memories were replaced, made or told again."""
    slots = dict.fromkeys(slot for _, s in step.brings for slot in (s.slot, *(e.slot for e in s.ends)))
    before = {m.id: m for slot in slots for m in tx.find_slot(slot, ANY_STATUS)}
    rested = {edge.src for edge in tx.edges(trace.id, "in", (EdgeType.DERIVED_FROM,))}
    for record, statement in step.brings:
        reconcile(tx, record, [statement], Outcome())
    after = {m.id: m for slot in slots for m in tx.find_slot(slot, ANY_STATUS)}
    for edge in tx.edges(trace.id, "in", (EdgeType.DERIVED_FROM,)):  # what says it in another slot
        other = tx.get(edge.src) if edge.src not in rested and edge.src not in after else None
        if other is not None:
            after[other.id] = other
            before[other.id] = replace(other, version=other.version - 1)
    was_active = {id for id, m in before.items() if m.status is Status.ACTIVE}
    past = {id for id, m in after.items() if id not in before and m.body.get("past")}  # told as over: new all the same
    ended = [id for id, m in after.items() if m.status is Status.SUPERSEDED and id not in past]
    over = [after[id] for id in ended if id in was_active or id not in before]
    active = [id for id, m in after.items() if m.status is Status.ACTIVE]
    new = [after[id] for id in (*active, *past) if id not in was_active]
    again = [after[id] for id in active if id in was_active and after[id].version > before[id].version]
    replaced = {e.src: e.dst for m in new for e in tx.edges(m.id, "out", (EdgeType.SUPERSEDES,))}
    operation = _operation_of(step, over, new)
    if operation is Operation.CONFIRM:
        again = [_surer(tx, m) for m in again]
    targets = [before.get(m.id, m) for m in (over or ([] if new else again))]
    made = [Made(m.id, m.text, replaced.get(m.id) or _replaces(m, over)) for m in new]
    if targets or made:
        _note(applied, trace, replace(step, operation=operation), targets, made)


def _replaces(new: Memory, over: Sequence[Memory]) -> str | None:
    return next((m.id for m in over if m.slot == new.slot), None)


def _operation_of(step: Step, over: Sequence[Memory], new: Sequence[Memory]) -> Operation:
    """What bringing statements in turned out to be."""
    if step.operation is Operation.PREFER or (step.operation is Operation.CORRECT and over):
        return step.operation
    if over:
        return Operation.CORRECT
    if not new:
        return Operation.CONFIRM
    wishes = all(m.kind is Kind.PREFERENCE and (m.slot or "").endswith(("|always", "|never")) for m in new)
    return Operation.PREFER if wishes else Operation.SUPPLEMENT


def _confirm(tx: WriteTx, trace: Memory, step: Step, applied: Applied) -> None:
    """Agreement makes surer; a mere "yes" supports a fact, but does not keep it when what it was read from is deleted."""
    targets = [_as_found(tx, m) for m in step.confirms]
    for memory in targets:
        _surer(tx, memory)
        tx.link(Edge(trace.id, memory.id, EdgeType.SUPPORTS))
        resolve(tx, memory.id, trace.valid_from or tx.now)
    _note(applied, trace, step, targets, [])


def _surer(tx: WriteTx, memory: Memory) -> Memory:
    confidence = round(memory.confidence + (1 - memory.confidence) * _SURER, 4)
    return tx.put(replace(memory, confidence=confidence), "confirm") if confidence > memory.confidence else memory


def _forget(tx: WriteTx, trace: Memory, step: Step, applied: Applied, *, hard: bool) -> None:
    targets = [_as_found(tx, m) for m in step.forgets]
    ids = [m.id for m in targets]
    for record in step.passages:
        if record.body != _as_found(tx, record).body:
            tx.put(record, "forget")
            derived = [tx.get(e.src) for e in tx.edges(record.id, "in", (EdgeType.DERIVED_FROM,))]
            ids += [m.id for m in derived if m is not None and m.kind is Kind.SUMMARY]  # it retells all of the record
    slots = {slot for m in targets if (slot := slot_of(m)) is not None}
    before = {m.body.get("key") for slot in slots for m in tx.find_slot(slot)}
    if hard:
        applied.purged = tx.purge(ids)
    else:
        retract(tx, ids)
    applied.restored += [m.id for slot in slots for m in tx.find_slot(slot) if m.body.get("key") not in before]
    _note(applied, trace, step, targets, [])


def _as_found(tx: WriteTx, memory: Memory) -> Memory:
    now = tx.get(memory.id)
    if now is None or (now.text, now.status) != (memory.text, memory.status):
        raise Stale(f"memory {memory.id} changed while the feedback was read; give it again")
    return now


def _note(applied: Applied, trace: Memory, step: Step, targets: Sequence[Memory], made: Sequence[Made]) -> None:
    applied.versions |= {m.id: m.version for m in targets}
    told = tuple(Told(m.id, m.text) for m in targets)
    applied.done.append(FeedbackDone(step.operation, told, tuple(made), trace.text[step.start : step.end].strip()))


def kept(plan: Plan, applied: Applied) -> dict[str, Any]:
    """What the record of the feedback keeps of what came of it: ids and versions, never the words of a memory."""
    return {
        "understood": bool(applied.done),
        "message": message(plan, applied),
        "candidates": [m.id for m in plan.candidates],
        "done": [
            {
                "operation": done.operation.value,
                "evidence": done.evidence,
                "targets": [[t.id, applied.versions.get(t.id, 1)] for t in done.targets],
                "made": [[m.id, m.replaces] for m in done.made],
            }
            for done in applied.done
        ],
    }


_DID = {
    Operation.CORRECT: "corrected {n}",
    Operation.SUPPLEMENT: "noted {n}",
    Operation.REPLACE: "replaced it in {n}",
    Operation.FORGET: "forgot {n}",
    Operation.CONFIRM: "confirmed {n}",
    Operation.PREFER: "noted how to answer",
    Operation.RATE: "rated {n}",
}


def message(plan: Plan, applied: Applied) -> str:
    """What was done, or why nothing was, in a sentence."""
    if not applied.done:
        return plan.why or "this is known already; nothing was changed"
    did = []
    for done in applied.done:
        count = len(done.made) if done.operation is Operation.SUPPLEMENT else len(done.targets)
        did.append(_DID[done.operation].format(n=f"{count} memor{'y' if count == 1 else 'ies'}"))
    more = [f"{len(applied.restored)} earlier values are current again"] if applied.restored else []
    return "; ".join([", ".join(did), *plan.notes, *more])


async def recalled(store: CubeStore, kept: dict[str, Any]) -> tuple[tuple[FeedbackDone, ...], tuple[Told, ...]]:
    """The operations and candidates of feedback that was applied before, in the words its memories had then or have now."""
    rows = kept.get("done", [])
    ids = [id for row in rows for id, _ in (*row["targets"], *row["made"])] + list(kept.get("candidates", []))
    now = {m.id: m for m in await store.get(list(dict.fromkeys(ids)), _ANY)}
    out = []
    for row in rows:
        targets = [Told(id, await _text_then(store, id, version, now)) for id, version in row["targets"]]
        made = [Made(id, now[id].text if id in now else "", replaces) for id, replaces in row["made"]]
        out.append(FeedbackDone(Operation(row["operation"]), tuple(targets), tuple(made), str(row.get("evidence", ""))))
    shown = tuple(Told(id, now[id].text) for id in kept.get("candidates", []) if id in now)
    return tuple(out), shown


async def _text_then(store: CubeStore, id: str, version: int, now: dict[str, Memory]) -> str:
    """What a memory said in some version; "" when it is gone for good."""
    if id not in now or now[id].version == version:
        return now[id].text if id in now else ""
    return next((v.memory.text for v in await store.history(id) if v.memory.version == version), now[id].text)
