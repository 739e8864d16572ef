"""Retention: which memories the rules of a cube name, what goes along with them, and taking them away in bounded changes.

Nothing goes that no rule names, and raw records only where a rule names their kinds (law 1). What carries a tag of `KEEP`, and
what that rests on, stays; this is decided inside the change itself.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memos.memory.filter import And, Compare, Field, Filter, Not, Op, matches
from memos.memory.model import LAYER_OF, EdgeType, Kind, Layer, Memory, Status
from memos.memory.upkeep import Expiring, RetentionPlan, RetentionRule
from memos.organize.forget import retract
from memos.storage.ports import ANY_STATUS, Change, Purged, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube

KEEP = ("keep", "pinned")
BATCH = 500  # memories of one change
LISTED = 1_000  # memories that a plan lists
_PAGE = 500
_EVIDENCE = (EdgeType.DERIVED_FROM, EdgeType.PART_OF)
_STANDING = frozenset(Status) - {Status.RETRACTED}


# -- what goes -------------------------------------------------------------------------------------------------


def named_by(rule: RetentionRule, now: datetime) -> Filter:
    """The memories that a rule is about; of a rule with an age, those that are older."""
    kinds = rule.kinds or tuple(k.value for k in Kind if LAYER_OF[k] is Layer.DERIVED)
    parts: list[Filter] = [
        Compare(Field("kind"), Op.IN, kinds),
        Not(Compare(Field("tags"), Op.IN, KEEP)),
    ]
    if rule.tags:
        parts.append(Compare(Field("tags"), Op.IN, rule.tags))
    if rule.max_age_days is not None:
        try:
            before = now - timedelta(days=rule.max_age_days)
        except OverflowError:  # older than anything can be
            before = datetime.min.replace(tzinfo=now.tzinfo)
        parts.append(Compare(Field("known_from"), Op.LT, before))
    return And(tuple(parts))


def _view(rule: RetentionRule) -> View:
    """What was taken back counts only where it is to be deleted for good."""
    return View(statuses=ANY_STATUS if rule.hard else _STANDING)


async def going(
    store: SqliteCube, rule: RetentionRule, now: datetime, taken: Mapping[str, Memory] | None = None
) -> AsyncIterator[Memory]:
    """The memories that a rule takes now, oldest first. `taken`: those that go by an earlier rule already."""
    where, view, taken = named_by(rule, now), _view(rule), taken or {}
    excess = await _excess(store, rule, where, view, [m for m in taken.values() if matches(where, m)])
    cursor: str | None = None
    while excess > 0:
        page = await store.list(where, view=view, limit=_PAGE, cursor=cursor, newest_first=False)
        for memory in page.items:
            if memory.id in taken:
                continue
            if excess <= 0:
                return
            excess -= len(memory.text.encode()) if rule.keep_bytes is not None else 1
            yield memory
        cursor = page.cursor
        if cursor is None:
            return


async def _excess(store: SqliteCube, rule: RetentionRule, where: Filter, view: View, taken: Sequence[Memory]) -> float:
    """How many memories, or bytes, are too many; endless for a rule by age, whose filter says it all."""
    if rule.keep_bytes is not None:
        there = await store.text_bytes(where, view=view)
        return there - sum(len(m.text.encode()) for m in taken) - rule.keep_bytes
    if rule.keep_newest is not None:
        return await store.count(where, view=view) - len(taken) - rule.keep_newest
    return math.inf


@dataclass(slots=True)
class Taken:
    """What became of the memories a rule names: ids that went, what went along with each change, and what had to stay."""

    gone: list[str] = field(default_factory=list)
    along: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def take(tx: WriteTx, chosen: Sequence[Memory], hard: bool) -> Taken:
    """Take memories away within a change: for good, or back. Those that changed since they were chosen, that carry a tag of
    `KEEP` now, or that something so tagged needs, stay.
    """
    out = Taken()
    for memory in chosen:
        now = tx.get(memory.id)
        if now is None or now.version != memory.version:
            continue
        (out.kept if is_needed(tx, now) else out.gone).append(memory.id)
    if not out.gone:
        return out
    there = set(out.gone)
    if hard:
        out.along = [id for id in tx.purge(out.gone).ids if id not in there]
    elif retract(tx, out.gone):
        touched = (tx.get(id) for id in tx.changed_with(out.gone[0]))
        out.along = [m.id for m in touched if m is not None and m.status is Status.RETRACTED and m.id not in there]
    return out


def is_needed(tx: WriteTx, memory: Memory) -> bool:
    """Whether a memory is to be kept, or anything that is rests on it, is a part of it, or is the whole it belongs to."""
    return any(set(m.tags) & set(KEEP) for m in _dependants(tx, memory))


def _dependants(tx: WriteTx, memory: Memory) -> Iterator[Memory]:
    seen, waiting = {memory.id}, [memory]
    while waiting:
        here = waiting.pop()
        yield here
        ids = [e.src for e in tx.edges(here.id, "in", _EVIDENCE)]
        if here is memory:
            ids += [e.dst for e in tx.edges(here.id, "out", (EdgeType.MENTIONS, EdgeType.PART_OF))]
        for id in ids:
            if id not in seen and (found := tx.get(id)) is not None:
                seen.add(id)
                waiting.append(found)


# -- before and after ------------------------------------------------------------------------------------------


async def plan(
    store: SqliteCube, cube: str, rules: Sequence[RetentionRule], now: datetime, *, limit: int = LISTED
) -> RetentionPlan:
    """What a run would take now, of which at most the first `limit`; with each, why, and what goes along. Nothing is changed."""
    chosen: list[tuple[int, list[Memory]]] = []
    taken: dict[str, Memory] = {}
    total = 0
    for place, rule in enumerate(rules):
        mine: list[Memory] = []
        async for memory in going(store, rule, now, dict(taken)):
            total += 1
            if len(taken) + len(mine) < limit:
                mine.append(memory)
        taken |= {m.id: m for m in mine}
        chosen.append((place, mine))
    items: list[Expiring] = []
    kept = 0
    for place, done, memories in await _tried(store, rules, chosen):
        kept += len(done.kept)
        gone = set(done.gone)
        items += [Expiring(m, place, why(rules[place], m)) for m in chosen[place][1] if m.id in gone]
        items += [Expiring(m, place, "rests on nothing else", rests) for m, rests in memories]
    return RetentionPlan(cube, tuple(rules), tuple(items), total - kept, kept)


def why(rule: RetentionRule, memory: Memory) -> str:
    """Why a rule takes a memory."""
    if rule.max_age_days is not None:
        since = memory.known_from.date().isoformat() if memory.known_from else "long ago"
        return f"unchanged since {since}, more than {rule.max_age_days:g} days"
    if rule.keep_newest is not None:
        return f"not among the newest {rule.keep_newest}"
    return f"beyond the newest {rule.keep_bytes} bytes of text"


_Tried = list[tuple[int, Taken, list[tuple[Memory, str | None]]]]


async def _tried(
    store: SqliteCube, rules: Sequence[RetentionRule], chosen: Sequence[tuple[int, Sequence[Memory]]]
) -> _Tried:
    """What each rule would do, tried in a change that is thrown away."""

    def attempt(tx: WriteTx) -> None:
        out: _Tried = []
        for place, memories in chosen:
            before = _along_before(tx, memories)
            done = take(tx, memories, rules[place].hard)
            gone = {*done.gone, *done.along}
            out.append(
                (place, done, [(before[id][0], _first(before[id][1], gone)) for id in done.along if id in before])
            )
        raise _Tried_(out)

    if not any(memories for _, memories in chosen):
        return []
    try:
        await store.write(attempt, Change(actor="upkeep", cause="retention plan"))
    except _Tried_ as e:
        return e.out
    raise AssertionError("a trial is never committed")


class _Tried_(Exception):
    """Carries what was tried out of the change that is thrown away with it."""

    def __init__(self, out: _Tried) -> None:
        self.out = out


def _along_before(tx: WriteTx, memories: Sequence[Memory]) -> dict[str, tuple[Memory, list[str]]]:
    """Whatever may go along with these memories, as it is before, with what it rests on."""
    out: dict[str, tuple[Memory, list[str]]] = {}
    for memory in memories:
        for other in _dependants(tx, memory):
            if other.id not in out:
                ways = (("out", _EVIDENCE), ("in", (EdgeType.MENTIONS,)))
                edges = [e for way, types in ways for e in tx.edges(other.id, way, types)]  # type: ignore[arg-type]
                out[other.id] = (other, [e.dst if e.src == other.id else e.src for e in edges])
    return out


def _first(ids: Sequence[str], gone: Collection[str]) -> str | None:
    return next((id for id in ids if id in gone), None)


@dataclass(slots=True)
class Applied:
    """What a run took so far, by the place of the rule, and whether it stopped before the end."""

    removed: dict[str, int] = field(default_factory=dict)
    along: int = 0
    more: bool = False


async def apply(
    store: SqliteCube, rules: Sequence[RetentionRule], now: datetime, change: Change, *, most: int = 20 * BATCH
) -> Applied:
    """Take away what the rules name now, at most about `most` memories, in changes of at most `BATCH`. A crash in between loses
    nothing: the next run goes on.
    """
    out, erase = Applied(), False
    for place, rule in enumerate(rules):
        stay: dict[str, Memory] = {}  # asked for, and needed by what is kept
        while sum(out.removed.values()) < most:
            batch = [m async for m in _at_most(going(store, rule, now), BATCH, stay)]
            if not batch:
                break
            done = await _take(store, batch, rule.hard, change)
            erase = erase or (rule.hard and bool(done.gone))
            stay |= {m.id: m for m in batch if m.id not in done.gone}
            if done.gone:
                out.removed[str(place)] = out.removed.get(str(place), 0) + len(done.gone)
                out.along += len(done.along)
        else:
            out.more = True
    if erase:
        await store.erase(Purged())
    return out


async def _take(store: SqliteCube, batch: Sequence[Memory], hard: bool, change: Change) -> Taken:
    return await store.write(lambda tx: take(tx, batch, hard), change)


async def _at_most(memories: AsyncIterator[Memory], count: int, without: Collection[str]) -> AsyncIterator[Memory]:
    left = count
    async for memory in memories:
        if left == 0:
            return
        if memory.id not in without:
            left -= 1
            yield memory
