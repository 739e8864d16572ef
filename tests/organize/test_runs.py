"""What is told of one slot, in any order of arrival, with some of it taken back and brought back in between: the same runs
of values, with the same beginnings, ends and evidence, as a model of a few lines.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from arriving import Arriving
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memos.errors import Conflict
from memos.memory.model import Status
from memos.organize.forget import retract, undo
from memos.storage.ports import WAS_TRUE

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(QUICK, max_examples=30)  # each reads much
_numbers = itertools.count()


class Said(NamedTuple):
    """A message: on which day it was said, what, and for how many days it was so by then, where that is told."""

    day: int
    value: str
    told: int | None

    @property
    def since(self) -> int:
        return self.day - (self.told or 0)


Run = tuple[str, float, float | None, frozenset[int]]
"""Value, first day, day of the end, days of the messages that say so."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arriving]:
    made = Arriving(tmp_path_factory.mktemp("runs") / "shared.cube")
    yield made
    made.close()


def model(said: Sequence[Said]) -> set[Run]:
    runs = [list(run) for _, run in itertools.groupby(sorted(said), key=lambda s: s.value)]
    begins = [min(s.since for s in run) for run in runs]
    out: set[Run] = set()
    for i, run in enumerate(runs):
        end = max(begins[i], min(begins[i + 1 :])) if i + 1 < len(runs) else None
        out.add((run[0].value, begins[i], end, frozenset(s.day for s in run)))
    return out


class Slot:
    """The messages about one slot of the shared cube, by day."""

    def __init__(self, cube: Arriving, *, single: bool = True) -> None:
        self.cube, self.single, self.ids = cube, single, dict[int, str]()
        cube.slot = f"person {next(_numbers)}|home"

    def say(self, said: Said) -> None:
        since = None if said.told is None else said.since
        self.ids[said.day] = self.cube.say(said.value, said.day, since=since, single=self.single)[0].id

    def take_back(self, day: int) -> None:
        self.cube.cube.write_soon(lambda tx: retract(tx, [self.ids[day]])).result()

    def undo(self, day: int) -> None:
        self.cube.cube.write_soon(lambda tx: undo(tx, self.ids[day])).result()

    def runs(self) -> set[Run]:
        days = {id: day for day, id in self.ids.items()}
        facts = [m for m in self.cube.facts(*WAS_TRUE) if not m.body.get("past")]
        spans = [
            (
                self.cube.days(m.valid_from),
                self.cube.days(m.valid_to),
                frozenset(days[s.memory_id or ""] for s in m.sources),
            )
            for m in facts
        ]
        assert all((m.status is Status.ACTIVE) == (m.valid_to is None) and m.seen == len(m.sources) for m in facts)
        return {(str(m.body["value"]), begin or 0.0, end, of) for m, (begin, end, of) in zip(facts, spans, strict=True)}


_messages = st.lists(
    st.builds(Said, st.integers(0, 30), st.sampled_from(("Oslo", "Rome", "Lima")), st.none() | st.integers(1, 12)),
    min_size=1,
    max_size=7,
    unique_by=lambda s: s.day,
)


@QUICK
@given(said=_messages)
@example([Said(5, "Oslo", None), Said(1, "Rome", None), Said(7, "Oslo", 4)])  # a told beginning cuts what was before it
@example(
    [Said(1, "Oslo", None), Said(9, "Rome", 6), Said(5, "Oslo", None)]
)  # said again after it was over, as it is told later
@example(
    [Said(1, "Oslo", None), Said(9, "Oslo", 2), Said(5, "Rome", None)]
)  # cut in two, the later one with its told beginning
def test_runs_begin_and_end_as_told_in_whatever_order_it_arrives(shared: Arriving, said: list[Said]) -> None:
    slot = Slot(shared)
    for one in said:
        slot.say(one)
    assert slot.runs() == model(said)


@QUICK
@given(said=_messages, gone=st.sets(st.integers(0, 6), max_size=4))
@example([Said(1, "Oslo", None), Said(5, "Rome", None), Said(9, "Oslo", None)], {1})
def test_what_is_taken_back_leaves_the_runs_of_the_rest(shared: Arriving, said: list[Said], gone: set[int]) -> None:
    slot = Slot(shared)
    for one in said:
        slot.say(one)
    for n in sorted(gone):
        if n < len(said):
            slot.take_back(said[n].day)
    assert slot.runs() == model([s for n, s in enumerate(said) if n not in gone])


@FEW
@given(
    said=_messages,
    blinks=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), max_size=4),
    gone=st.integers(0, 6) | st.none(),
)
def test_how_often_something_is_taken_back_and_brought_back_leaves_no_trace(
    shared: Arriving, said: list[Said], blinks: list[tuple[int, int]], gone: int | None
) -> None:
    slot = Slot(shared)
    for n, one in enumerate(said):
        slot.say(one)
        for at, times in blinks:
            for _ in range(times if at <= n else 0):
                slot.take_back(said[at].day)
                assert slot.runs() == model([s for s in said[: n + 1] if s is not said[at]])
                slot.undo(said[at].day)
                assert slot.runs() == model(said[: n + 1])
    if gone is not None and gone < len(said):
        slot.take_back(said[gone].day)
        said = said[:gone] + said[gone + 1 :]
    assert slot.runs() == model(said)


@QUICK
@given(said=_messages)
def test_a_fact_that_adds_up_begins_with_the_earliest_message_whichever_arrives_first(
    shared: Arriving, said: list[Said]
) -> None:
    slot = Slot(shared, single=False)
    for one in said:
        slot.say(one)
    values = {s.value for s in said}
    assert slot.runs() == {of(said, value) for value in values}
    slot.take_back(said[0].day)
    assert slot.runs() == {of(said[1:], value) for value in {s.value for s in said[1:]}}


_ends = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(("Oslo", "Rome"))), max_size=2, unique_by=lambda e: e[0])


@FEW
@given(said=_messages, ends=_ends, order=st.randoms(use_true_random=False))
def test_an_end_ends_what_was_so_by_then_whenever_it_arrives(
    shared: Arriving, said: list[Said], ends: list[tuple[int, str]], order: random.Random
) -> None:
    slot = Slot(shared)
    told = [s._replace(told=None) for s in said]
    ends = [e for e in ends if e[0] not in {s.day for s in told}]
    arriving: list[Said | tuple[int, str]] = [*told, *ends]
    order.shuffle(arriving)
    for one in arriving:
        if isinstance(one, Said):
            slot.say(one)
        else:
            shared.say(one[1], one[0], ended=True)
    for day in sorted({s.day for s in told} | {day for day, _ in ends}):
        before = sorted(
            [(s.day, s.value, True) for s in told if s.day <= day] + [(*e, False) for e in ends if e[0] <= day]
        )
        now: list[str] = []
        for _, value, holds in before:
            now = [value] if holds else [v for v in now if v != value]
        assert shared.then(day + 0.5) == now, day


def test_what_is_said_late_is_over_with_what_was_told_to_be_over_after_it(shared: Arriving) -> None:
    slot = Slot(shared)
    for day in (0, 1):
        slot.say(Said(day, "Oslo", None))
    end = shared.say("Oslo", 4, ended=True)[0]
    slot.say(Said(2, "Rome", None))
    slot.say(Said(3, "Oslo", None))
    runs = {("Oslo", 0, 2, frozenset({0, 1})), ("Rome", 2, 3, frozenset({2}))}
    assert slot.runs() == {*runs, ("Oslo", 3, 4, frozenset({3}))}
    shared.cube.write_soon(lambda tx: retract(tx, [end.id])).result()
    assert slot.runs() == {*runs, ("Oslo", 3, None, frozenset({3}))}


def test_an_end_within_a_run_that_had_ended_by_then_cuts_it(shared: Arriving) -> None:
    slot = Slot(shared)
    for said in (Said(0, "Rome", None), Said(18, "Rome", None), Said(19, "Oslo", 2)):
        slot.say(said)
    shared.say("Rome", 17, ended=True)
    rome = {("Rome", 0, 17, frozenset({0})), ("Rome", 18, 18, frozenset({18}))}
    assert slot.runs() == {*rome, ("Oslo", 17, None, frozenset({19}))}


@QUICK
@given(said=_messages, ends=_ends, order=st.randoms(use_true_random=False))
def test_told_beginnings_and_ends_leave_the_same_whatever_arrives_first(
    shared: Arriving, said: list[Said], ends: list[tuple[int, str]], order: random.Random
) -> None:
    def told(arriving: Sequence[Said | tuple[int, str]]) -> set[Run]:
        slot = Slot(shared)
        for one in arriving:
            if isinstance(one, Said):
                slot.say(one)
            else:
                shared.say(one[1], one[0], ended=True)
        return slot.runs()

    everything = [*said, *(e for e in ends if e[0] not in {s.day for s in said})]
    shuffled = list(everything)
    order.shuffle(shuffled)
    assert told(shuffled) == told(sorted(everything, key=lambda one: one[0]))


def of(said: Sequence[Said], value: str) -> Run:
    mine = [s for s in said if s.value == value]
    return value, min(s.since for s in mine), None, frozenset(s.day for s in mine)


def test_a_run_that_grew_since_is_not_cut_by_undoing_what_was_taken_back_before(shared: Arriving) -> None:
    slot = Slot(shared)
    for one in (Said(1, "Oslo", None), Said(5, "Rome", None), Said(9, "Oslo", None)):
        slot.say(one)
    slot.take_back(5)
    slot.say(Said(12, "Oslo", None))
    with pytest.raises(Conflict, match="changed again"):
        slot.undo(5)
    assert slot.runs() == {("Oslo", 1, None, frozenset({1, 9, 12}))}


def test_a_run_made_one_keeps_its_first_id_and_its_history_says_how(shared: Arriving) -> None:
    slot = Slot(shared)
    slot.say(Said(1, "Oslo", None))
    (first,) = shared.facts()
    slot.say(Said(5, "Rome", None))
    slot.say(Said(9, "Oslo", None))
    slot.take_back(5)
    (run,) = shared.facts(*WAS_TRUE)
    assert run.id == first.id
    assert shared.history(first.id)[-1] == "join"


def test_an_end_between_two_times_that_it_began_keeps_them_apart(shared: Arriving) -> None:
    slot = Slot(shared)
    shared.say("Oslo", 5, ended=True, until=5)
    shared.say("Oslo", 9)
    shared.say("Oslo", 1)
    assert (shared.then(3), shared.then(7), shared.then(10)) == (["Oslo"], [], ["Oslo"])
    assert slot.single
