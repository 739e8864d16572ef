"""Retention: which memories the rules of a cube name, what goes along with them, and taking them away in bounded changes.

Nothing goes that no rule names, and raw records only where a rule names their kinds (law 1). What carries a tag of `KEEP`, and
what that rests on, stays; this is decided inside the change itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from memos.arguments import checked_tags, listed, member
from memos.errors import InvalidInput
from memos.memory.filter import And, Compare, Field, Filter, Not, Op, matches
from memos.memory.model import LAYER_OF, EdgeType, Kind, Layer, Memory, Status
from memos.memory.number import whole
from memos.memory.upkeep import Expiring, RetentionPlan, RetentionRule
from memos.organize.forget import retract
from memos.storage.ports import ANY_STATUS, Change, Purged, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube

KEEP = ("keep", "pinned")
INFO = "retention"  # the key of the rules in a cube's info
MOST_RULES = 32
BATCH = 500  # memories of one change
LISTED = 1_000  # memories that a plan lists
_PAGE = 500
_EVIDENCE = (EdgeType.DERIVED_FROM, EdgeType.PART_OF)
_STANDING = frozenset(Status) - {Status.RETRACTED}
_BACK, _JUMP = timedelta(days=1), timedelta(days=30)


# -- rules -----------------------------------------------------------------------------------------------------


def checked_rules(rules: object) -> tuple[RetentionRule, ...]:
    """Rules as a caller gives them: `RetentionRule`s, or mappings with their fields. Raises InvalidInput."""
    if isinstance(rules, (str, Mapping, RetentionRule)) or not isinstance(rules, Collection):
        raise InvalidInput(f"rules is a list of retention rules, got {type(rules).__name__}; nothing was changed")
    if len(rules) > MOST_RULES:
        raise InvalidInput(f"a cube has at most {MOST_RULES} retention rules, got {len(rules)}")
    return tuple(_checked(rule, place) for place, rule in enumerate(rules))


def _checked(rule: object, place: int) -> RetentionRule:
    what = f"retention rule {place}"
    if isinstance(rule, RetentionRule):
        given = {f.name: getattr(rule, f.name) for f in fields(rule)}
    elif isinstance(rule, Mapping):
        given = dict(rule)
    else:
        raise InvalidInput(f"{what} is a mapping such as {{'kinds': ['fact'], 'max_age_days': 90}}, got {rule!r:.60}")
    names = [f.name for f in fields(RetentionRule)]
    if unknown := [name for name in given if name not in names]:
        raise InvalidInput(f"{what} has an unknown field {unknown[0]!r:.60}; known are {', '.join(names)}")
    limits = [given.get(name) for name in ("max_age_days", "keep_newest", "keep_bytes")]
    if sum(limit is not None for limit in limits) != 1:
        raise InvalidInput(f"{what} needs exactly one of max_age_days, keep_newest and keep_bytes")
    age, newest, size = limits
    if age is not None and (
        isinstance(age, bool) or not isinstance(age, (int, float)) or not (math.isfinite(age) and age > 0)
    ):
        raise InvalidInput(f"{what}: max_age_days is a number of days above 0, got {age!r:.60}")
    if not isinstance(given.get("hard", False), bool):
        raise InvalidInput(f"{what}: hard is True or False, got {given['hard']!r:.60}")
    return RetentionRule(
        kinds=tuple(dict.fromkeys(member(Kind, k, "kind").value for k in listed(given.get("kinds") or (), "kinds"))),
        tags=checked_tags(given.get("tags") or ()),
        max_age_days=None if age is None else float(age),
        keep_newest=None if newest is None else whole(newest, "keep_newest", least=0),
        keep_bytes=None if size is None else whole(size, "keep_bytes", least=0, most=1 << 53),
        hard=given.get("hard", False),
    )


def as_info(rules: Sequence[RetentionRule]) -> list[dict[str, Any]]:
    """The rules as they stand in a cube's info."""
    usual = RetentionRule()
    return [
        {
            f.name: value
            for f in fields(rule)
            if (value := _plain(getattr(rule, f.name))) != _plain(getattr(usual, f.name))
        }
        for rule in rules
    ]


def rules_of(info: Mapping[str, Any]) -> tuple[RetentionRule, ...]:
    """The rules in a cube's info; none where there are none, or where they are not ours."""
    kept = info.get(INFO)
    if not isinstance(kept, list):
        return ()
    try:
        return checked_rules(kept)
    except InvalidInput:  # written by hand, or by a newer version: what is not understood deletes nothing
        return ()


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


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


# -- the clock -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LastRun:
    """When rules were last applied to a cube (or set), kept in the cube. `refused`: a refusal was told already."""

    at: datetime
    refused: bool = False

    def to_text(self) -> str:
        """As it is kept."""
        return json.dumps({"at": self.at.isoformat(), "refused": self.refused})

    @classmethod
    def from_text(cls, text: str | None) -> LastRun | None:
        """As it was kept; None where nothing was, or nothing of ours."""
        try:
            value = json.loads(text or "null")
            return cls(datetime.fromisoformat(value["at"]), bool(value["refused"]))
        except (ValueError, TypeError, KeyError):
            return None


def refusal(now: datetime, newest: datetime | None, last: LastRun | None) -> str | None:
    """Why rules must not be applied by this clock; None when they may. `newest`: when the last memory was recorded."""
    if newest is not None and now < newest - _BACK:
        return (
            f"the clock says {now:%Y-%m-%d %H:%M}, more than a day before the newest memory was recorded "
            f"({newest:%Y-%m-%d %H:%M}); set the clock right, or run the rules with despite_clock"
        )
    if last is not None and now - last.at > _JUMP and (newest is None or newest <= last.at):
        return (
            f"the clock says {now:%Y-%m-%d %H:%M}, more than 30 days after the last run, and nothing was recorded since; "
            "if it is right, run the rules with despite_clock"
        )
    return None


def with_run(last: LastRun | None, now: datetime, *, refused: bool) -> LastRun:
    """What is kept after a run, or after a refusal (which does not count as one)."""
    return LastRun(now) if not refused else replace(last or LastRun(now), refused=True)
