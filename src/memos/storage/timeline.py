"""The order of what was true: which value of a slot holds when, and what comes back when what replaced it goes away.

Works over a `WriteTx`, so arriving, retracting, deleting and undoing share the one rule, in every home. Guards law 5. The order
of arrival decides nothing but the words and the id of a run, and which of two values said at the same instant is the later.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memos.memory.clock import ZONE
from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Layer, Memory, Status
from memos.storage.evidence import told
from memos.storage.evidence import without as without_evidence
from memos.storage.ports import WAS_TRUE, WriteTx

_START = datetime(1, 1, 1, tzinfo=UTC)
_END = datetime(9999, 12, 31, tzinfo=UTC)
CONTESTED = "contested"  # in the body of a value that another contradicts
RIVAL = "rival"  # in the body of a value that contradicts another and is in no timeline until one of them is confirmed


def slot_of(memory: Memory) -> str | None:
    """The slot whose timeline a memory is part of; None where values add up or contradict, and for what has no slot."""
    if not memory.body.get("single") or memory.kind is Kind.EVENT or memory.body.get(RIVAL):
        return None
    return memory.slot


def settle(tx: WriteTx, slot: str, without: Collection[str] = ()) -> list[Memory]:
    """Tell the timeline of a slot that has one value at a time anew; returns the values that are current again.

    Values are ordered by when they were said; of two said at the same time, the one that arrived first is the former. What is
    said of one value with no other in between is one run. Each holds until a later said one begins, or until something said
    that it is over: at most one is current, and any day has at most one. `without`: ids that do not count, because they go
    away.
    """
    over = [m for m in tx.find_slot(slot, WAS_TRUE) if m.body.get("past") and m.id not in without]
    stays = stays_of(tx, slot, without)
    while cut := _interrupted(tx, stays, over, without):
        split(tx, *cut)
        stays = stays_of(tx, slot, without)
    while parts := _one_run(tx, stays, over, without):
        _join(tx, *parts)
        stays = stays_of(tx, slot, without)
    placed = [(stay, _settle_one(tx, stay, stays[:i], stays[i + 1 :], over, without)) for i, stay in enumerate(stays)]
    return [now for was, now in placed if was.status is not Status.ACTIVE and now.status is Status.ACTIVE]


def strangers(known: Memory, other: Memory) -> bool:
    """Whether a memory of "the user" is of another user of the cube than another one: nothing that she says of herself is over
    for him.
    """
    if known.owner is None or other.owner is None or known.owner == other.owner:
        return False
    subject = (known.slot or "").rpartition("|")[0]
    return subject == "user" or subject.startswith(("user's ", "user的", "用户的"))


def stays_of(tx: WriteTx, slot: str, without: Collection[str] = ()) -> list[Memory]:
    """The values a slot has or had, in the order they were said; not what is told as past ("until 2019")."""
    known = tx.find_slot(slot, WAS_TRUE)
    stays = [m for m in known if slot_of(m) == slot and not m.body.get("past") and m.id not in without]
    return sorted(stays, key=lambda m: (first_said(m), m.valid_to or _END, m.id))


def split(tx: WriteTx, stay: Memory, at: datetime) -> Memory:
    """Cut a run of the same value in two, since another was said in between; returns the later one, which begins as the
    evidence after `at` tells and takes over what the run was to others.
    """
    later = tuple(s for s in stay.sources if s.time is not None and s.time > at)
    moved = {s.memory_id for s in later if s.memory_id}
    rest = {s.memory_id for s in stay.sources if (s.time is None or s.time <= at) and s.memory_id}
    evidence = tx.edges(stay.id, "out", (EdgeType.DERIVED_FROM,))
    by_id = {edge.dst: edge for edge in evidence}
    start = min(begin for s in later if (begin := told(s, by_id)) is not None)
    new = replace(
        without_evidence(tx.get, stay, rest, by_id), id=new_id(), version=1, valid_from=start, seen=len(later)
    )
    new = tx.put(new, "split")
    old = without_evidence(tx.get, stay, moved, by_id)
    tx.put(
        replace(old, seen=max(1, len(old.sources)), status=Status.SUPERSEDED, valid_to=max(start, _begin(old))), "split"
    )
    for edge in evidence:
        if edge.dst in moved:
            tx.unlink(stay.id, edge.dst, EdgeType.DERIVED_FROM)
            tx.link(replace(edge, src=new.id))
    for edge in tx.edges(stay.id, "in", (EdgeType.SUPERSEDES,)):
        tx.unlink(edge.src, stay.id, EdgeType.SUPERSEDES)
        tx.link(Edge(edge.src, new.id, EdgeType.SUPERSEDES, valid_from=edge.valid_from))
    return new


def _join(tx: WriteTx, stay: Memory, later: Memory) -> None:
    """Make one of two runs of a value between which nothing else is said any more: what `split` does, the other way round. The
    former has the id, the later the words, and whatever somebody set by hand.
    """
    known = {s.memory_id for s in stay.sources if s.memory_id}
    more = tuple(s for s in later.sources if s.memory_id not in known)
    first = min((stay, later), key=_begin)
    whole = replace(
        later,
        id=stay.id,
        version=stay.version,
        owner=stay.owner,
        session=stay.session,
        origin=stay.origin,
        trust=stay.trust,
        sources=(*stay.sources, *more),
        seen=stay.seen + later.seen - (len(later.sources) - len(more)),
        tags=tuple(dict.fromkeys((*stay.tags, *later.tags))),
        confidence=max(stay.confidence, later.confidence),
        valid_from=first.valid_from,
        body={**later.body, **{k: v for k, v in first.body.items() if k == ZONE}},
    )
    tx.put(whole, "join")
    for edge in tx.edges(later.id, "both"):
        tx.unlink(edge.src, edge.dst, edge.type, edge.predicate)
        src, dst = (stay.id if id == later.id else id for id in (edge.src, edge.dst))
        if src != dst:
            tx.link(replace(edge, src=src, dst=dst))
    tx.put(replace(later, status=Status.RETRACTED, retracted_at=tx.now), "join")


def reinstate(tx: WriteTx, id: str, gone: Memory, without: Collection[str]) -> Memory | None:
    """Make memory `id`, which `gone` had superseded and which is in no timeline (see `settle`), current again; None when
    it stays superseded: by another memory too, by what superseded `gone`, or because it had ended on its own.

    `without`: ids that do not count, because they go away as well.
    """
    former = tx.get(id)
    if former is None or former.status is not Status.SUPERSEDED:
        return None
    if any(e.src not in without for e in tx.edges(id, "in", (EdgeType.SUPERSEDES,))):
        return None
    if former.version == 1 and gone.kind is not Kind.TRACE and former.valid_to != gone.valid_from:
        return None  # stored as a thing of the past from the start
    after = _next_of_chain(tx, gone, without)
    if after is None:
        return tx.put(replace(former, status=Status.ACTIVE, valid_to=None), "restore")
    until = after.valid_from or after.recorded_at
    if former.valid_to != until:
        tx.put(replace(former, valid_to=until), "restore")
    tx.link(Edge(after.id, former.id, EdgeType.SUPERSEDES))
    return None


def first_said(memory: Memory) -> datetime:
    """When a fact was first said."""
    return min((s.time for s in memory.sources if s.time is not None), default=memory.recorded_at or _START)


def last_said(memory: Memory) -> datetime:
    """When a fact was last said."""
    return max((s.time for s in memory.sources if s.time is not None), default=memory.recorded_at or _START)


def _interrupted(
    tx: WriteTx, stays: Sequence[Memory], over: Sequence[Memory], without: Collection[str]
) -> tuple[Memory, datetime] | None:
    """A run of one value, and when another was said within it, or that it is over."""
    for i, stay in enumerate(stays):
        key, begin, until = stay.body.get("key"), first_said(stay), last_said(stay)
        times = [first_said(m) for m in stays[i + 1 :] if m.body.get("key") != key]
        times += [max(first_said(m), end) for m, end in _ends_of(stay, over)]
        late = told_over(tx, stays[:i], key, begin, without)
        times += [max(told_at, end) for told_at, end in late if end >= _begin(stay)]
        if at := min((t for t in times if begin < t < until), default=None):
            return stay, at
    return None


def _one_run(
    tx: WriteTx, stays: Sequence[Memory], over: Sequence[Memory], without: Collection[str]
) -> tuple[Memory, Memory] | None:
    """Two stays, one after the other, of a value that was not over when it was said again."""
    for i, (stay, later) in enumerate(itertools.pairwise(stays)):
        if stay.body.get("key") is None or stay.body["key"] != later.body.get("key"):
            continue  # what has no key cannot be told to say the same
        own = _own_end(tx, stay, stays[:i], tx.edges(stay.id, "in", (EdgeType.SUPERSEDES,)), over, without)
        if own is None or first_said(later) < own:
            return stay, later
    return None


def _settle_one(
    tx: WriteTx,
    stay: Memory,
    before: Sequence[Memory],
    after: Sequence[Memory],
    over: Sequence[Memory],
    without: Collection[str],
) -> Memory:
    """Bring the end of one value, and what is said to have replaced it, in line with those said after it."""
    begin = _begin(stay)
    edges = tx.edges(stay.id, "in", (EdgeType.SUPERSEDES,))
    own = _own_end(tx, stay, before, edges, over, without)
    cut = max(begin, min(map(_begin, after))) if after else None
    until = min((t for t in (own, cut) if t is not None), default=None)
    by = after[0].id if cut is not None and (own is None or cut < own) else None
    for edge in edges:
        if edge.src != by and not _stands(tx, edge.src, without, stay.slot):
            tx.unlink(edge.src, stay.id, EdgeType.SUPERSEDES)
    if by is not None and all(edge.src != by for edge in edges):
        tx.link(Edge(by, stay.id, EdgeType.SUPERSEDES))
    dated = stay.status is Status.ACTIVE and stay.valid_to is not None and until == stay.valid_to
    status = Status.ACTIVE if until is None or dated else Status.SUPERSEDED
    if (status, until) == (stay.status, stay.valid_to):
        return stay
    return tx.put(replace(stay, status=status, valid_to=until), "restore" if status is Status.ACTIVE else "supersede")


def _own_end(
    tx: WriteTx,
    stay: Memory,
    before: Sequence[Memory],
    edges: Sequence[Edge],
    over: Sequence[Memory],
    without: Collection[str],
) -> datetime | None:
    """When a value ended, by what was said of it alone. `before`: the values said earlier."""
    ends = []
    replaced = False
    for edge in edges:
        by = tx.get(edge.src)
        says = by is not None and (by.layer is Layer.TRACE or by.slot != stay.slot)
        replaced = replaced or not says
        if by is not None and says and by.status is not Status.RETRACTED and by.id not in without:
            ends.append(edge.valid_from or by.happened_at or _START)
    if ends and not replaced and all(edge.valid_from is None for edge in edges):
        ends = [stay.valid_to or min(ends)]  # an older file does not say in the edge which end was told
    if stay.status is Status.ACTIVE and stay.valid_to is not None:
        ends.append(stay.valid_to)  # set by hand
    ends += [end for _, end in _ends_of(stay, over)]
    late = told_over(tx, before, stay.body.get("key"), first_said(stay), without)
    ends += [end for _, end in late if end >= _begin(stay)]
    return max(min(ends), _begin(stay)) if ends else None


def _ends_of(stay: Memory, over: Sequence[Memory]) -> list[tuple[Memory, datetime]]:
    """What was said later of a value that it is over, and when it was."""
    ends = [(m, m.valid_to) for m in over if m.body.get("key") == stay.body.get("key") and not strangers(stay, m)]
    return [(m, at) for m, at in ends if at is not None and at >= _begin(stay) and first_said(m) > first_said(stay)]


def told_over(
    tx: WriteTx, before: Sequence[Memory], key: object, said: datetime, without: Collection[str] = ()
) -> list[tuple[datetime, datetime]]:
    """When something was told after `said` of the runs `before` of a value, and when it was over: late runs are over too."""
    out = []
    for run in before:
        if key is None or run.body.get("key") != key:
            continue
        for edge in tx.edges(run.id, "in", (EdgeType.SUPERSEDES,)):
            by = None if edge.src in without else tx.get(edge.src)
            if by is None or by.layer is not Layer.TRACE or by.status is Status.RETRACTED or edge.valid_from is None:
                continue
            if (told_at := by.happened_at or _START) > said:
                out.append((told_at, edge.valid_from))
    return out


def _stands(tx: WriteTx, id: str, without: Collection[str], slot: str | None) -> bool:
    """Whether what is linked as having ended a value still says so: not when it is gone, or only another value of the
    slot, whose place `settle` decides.
    """
    memory = tx.get(id)
    if memory is None or id in without or memory.status is Status.RETRACTED:
        return False
    return memory.layer is Layer.TRACE or memory.slot != slot


def _next_of_chain(tx: WriteTx, gone: Memory, without: Collection[str]) -> Memory | None:
    """What superseded `gone`, or superseded that, and stays."""
    waiting, seen = [gone.id], {gone.id}
    while waiting:
        for edge in tx.edges(waiting.pop(0), "in", (EdgeType.SUPERSEDES,)):
            if edge.src in seen:
                continue
            seen.add(edge.src)
            if edge.src in without:
                waiting.append(edge.src)
            elif (memory := tx.get(edge.src)) is not None and memory.kind is not Kind.TRACE:
                return memory
    return None


def _begin(memory: Memory) -> datetime:
    return memory.valid_from or memory.recorded_at or _START
