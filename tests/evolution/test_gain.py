"""Gain: how much better episodes go with a policy than without; no single success shows any."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from evolution_script import Script, play
from hypothesis import given
from hypothesis import strategies as st

from memos.evolution.value.gain import gain, gain_of, mean_value
from memos.evolution.value.reliability import LEAST_GAIN
from memos.memory.ids import new_id
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.lived import Lesson

values = st.lists(st.floats(-1, 1), max_size=60)


def test_numbers_reckoned_by_hand() -> None:
    usual = (0.9 + 0.7 - 0.5) / 3
    assert gain([0.9, 0.7], [-0.5]) == pytest.approx((1.6 + 5 * usual) / 7 - (-0.5 + 5 * usual) / 6)
    weights = [math.exp(v / 0.5) for v in (0.9, 0.3, -0.6)]
    assert mean_value([0.9, 0.3, -0.6]) == pytest.approx(
        (0.9 * weights[0] + 0.3 * weights[1] - 0.6 * weights[2]) / sum(weights)
    )
    assert mean_value([0.9, 0.3]) == pytest.approx(0.6)


@given(st.floats(-1, 1), values)
def test_one_success_gains_nothing_whatever_it_is_compared_with(value: float, without: list[float]) -> None:
    assert gain([value], without) <= 0


def test_two_successes_pass_the_gate_and_two_middling_ones_do_not() -> None:
    assert gain([0.7, 0.8], []) >= LEAST_GAIN
    assert gain([0.4, 0.5], []) < LEAST_GAIN


def test_it_counts_what_others_do_without_it() -> None:
    assert gain([0.7, 0.7], [-0.8, -0.6]) > gain([0.7, 0.7], [0.7, 0.8]) + 0.2
    assert gain([-0.2, -0.4, -0.3], [0.6, 0.7, 0.6]) < 0


@given(values, values)
def test_it_is_bounded_and_of_nothing_is_nothing(good: list[float], base: list[float]) -> None:
    assert -1.5 <= gain(good, base) <= 1.5
    assert gain([], []) == 0.0


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=2), values)
def test_worse_episodes_elsewhere_never_lessen_it(good: list[float], base: list[float]) -> None:
    assert (
        gain([1.0, 1.0], [v / 2 - 0.5 for v in base]) >= gain([1.0, 1.0], base) - 0.12
    )  # the usual moves along a little


async def test_from_rows_episodes_count_once_and_only_those_of_the_same_buckets(tmp_path: Path) -> None:
    store = SqliteCube.open(tmp_path / "gain.db")
    policy, other = new_id(), new_id()

    def fill(tx: object) -> None:
        ids = [play(tx, Script("do it"), n) for n in range(6)]  # type: ignore[arg-type]
        teach = [(0, b"x", 0.9, policy), (1, b"x", 0.7, policy), (2, b"x", -0.6, None), (3, b"y", -0.9, other)]
        for n, bucket, value, memory in teach:
            form = "fix" if memory else "open"
            lessons = [Lesson(ids[n], form, bucket, {}, v, memory) for v in (value, value - 0.05)]
            lived.put_lessons(tx, ids[n], lessons)

    await store.write(fill)
    found = await store.lived(lived.compared, policy, 50)
    assert (found.with_it, found.without) == ((0.9, 0.7), (-0.6,))
    assert await store.lived(gain_of, policy) == pytest.approx(gain([0.9, 0.7], [-0.6]))
    await store.close()


def test_episodes_that_nobody_scored_can_pass_the_gate() -> None:
    assert gain([0.54, 0.59], []) >= LEAST_GAIN  # thanks, and praise, after tools that ended well
