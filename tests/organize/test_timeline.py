"""Single-valued facts in any order of arrival, against a model of a few lines: what was said last is current, and any
day in the past has the value that was said last by then."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from arriving import Arriving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memos.memory.model import Status
from memos.organize.forget import retract

PLACES = ("Rome", "Oslo", "Bergen", "Turin")
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arriving]:
    made = Arriving(tmp_path_factory.mktemp("timeline") / "shared.cube")
    yield made
    made.close()


_numbers = itertools.count()


def fresh_slot(arriving: Arriving) -> None:
    arriving.slot = f"person {next(_numbers)}|home"


said = st.lists(st.integers(0, 60), min_size=1, max_size=7, unique=True).flatmap(
    lambda days: st.tuples(*(st.tuples(st.just(d), st.sampled_from(PLACES)) for d in days))
)


def model(statements: list[tuple[int, str]], at: float) -> list[str]:
    before = [value for d, value in sorted(statements) if d <= at]
    return before[-1:]


@QUICK
@given(statements=said)
def test_any_order_of_arrival_gives_the_same_timeline(
    shared: Arriving, statements: tuple[tuple[int, str], ...]
) -> None:
    fresh_slot(shared)
    for d, value in statements:
        shared.say(value, d)
    assert shared.current() == model(list(statements), 1_000)
    for at in sorted({d + off for d, _ in statements for off in (-0.5, 0, 0.5)}):
        assert shared.then(at) == model(list(statements), at), at


@QUICK
@given(statements=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(PLACES)), min_size=1, max_size=6))
def test_ties_in_time_leave_exactly_one_current_value(shared: Arriving, statements: list[tuple[int, str]]) -> None:
    fresh_slot(shared)
    for d, value in statements:
        shared.say(value, d)
    last = {value for d, value in statements if d == max(d for d, _ in statements)}
    assert len(shared.current()) == 1
    assert set(shared.current()) <= last
    assert all(m.valid_to is None or m.valid_from is None or m.valid_from <= m.valid_to for m in shared.facts())


@QUICK
@given(statements=said, gone=st.integers(0, 6))
def test_taking_one_message_back_leaves_the_timeline_of_the_others(
    shared: Arriving, statements: tuple[tuple[int, str], ...], gone: int
) -> None:
    fresh_slot(shared)
    distinct = [(d, f"{value} {d}") for d, value in statements]  # repetitions of one value are tested elsewhere
    traces = [shared.say(value, d)[0] for d, value in distinct]
    gone %= len(traces)
    shared.cube.write_soon(lambda tx: retract(tx, [traces[gone].id])).result()
    left = distinct[:gone] + distinct[gone + 1 :]
    assert shared.current() == model(left, 1_000)
    assert len(shared.facts(Status.RETRACTED)) == 1
    for at in sorted({d + off for d, _ in statements for off in (-0.5, 0.5)}):
        assert shared.then(at) == model(left, at), at


@QUICK
@given(statements=said, gone=st.integers(0, 6))
def test_taking_one_of_several_that_say_the_same_back_does_too(
    shared: Arriving, statements: tuple[tuple[int, str], ...], gone: int
) -> None:
    fresh_slot(shared)
    traces = [shared.say(value, d)[0] for d, value in statements]
    gone %= len(traces)
    shared.cube.write_soon(lambda tx: retract(tx, [traces[gone].id])).result()
    left = [*statements[:gone], *statements[gone + 1 :]]
    assert set(shared.current()) == set(model(left, 1_000))
    for at in sorted({d + off for d, _ in statements for off in (-0.5, 0.5)}):
        assert set(shared.then(at)) == set(model(left, at)), at


@QUICK
@given(statements=said, gone=st.integers(0, 6))
def test_undoing_one_arrival_that_nothing_rests_on_restores_the_timeline_before_it(
    shared: Arriving, statements: tuple[tuple[int, str], ...], gone: int
) -> None:
    """The last arrival undone: as if it had never come."""
    fresh_slot(shared)
    *first, last = [(d, f"{value} {d}") for d, value in statements]
    for d, value in first:
        shared.say(value, d)
    before = shared.spans()
    current = shared.current()
    shared.say(last[1], last[0])
    (fact,) = [m for m in shared.facts() if m.body["value"] == last[1]]
    shared.cube.write_soon(lambda tx: tx.undo(fact.id)).result()
    assert shared.current() == current
    spans = shared.spans()
    assert {value: spans[value] for value in before} == before
