"""What a memory is worth beside its words: importance, and use that fades; between 0 and 1, whatever the clock says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.storage.resident.worth import worth

DAY = 86_400_000_000
NOW = 20_000 * DAY


def of(importance: float = 0.5, uses: int = 0, last: float = 0.0, age: float = 100.0) -> float:
    """The worth of one memory that arrived `age` days ago and was shown so often, `last` days ago the last time."""
    one = worth(
        np.asarray([importance], np.float32),
        np.asarray([uses], np.uint32),
        np.asarray([NOW - last * DAY if uses else 0], np.int64),
        np.asarray([NOW - age * DAY], np.int64),
        NOW,
    )
    return float(one[0])


def test_importance_counts_half() -> None:
    assert of(1.0) - of(0.0) == pytest.approx(0.5)


def test_use_adds_and_fades() -> None:
    assert of() < of(uses=1, last=50) < of(uses=1, last=1) < of(uses=10, last=1)
    assert of(age=1) > of(age=100) > of(age=1000)


def test_it_is_the_sum_over_every_presentation_where_these_are_known() -> None:
    """One use: both presentations are kept exactly, so the sum of the equation is exact."""
    odds = 100**-0.5 + 4**-0.5
    spread = (100**0.5 - 4**0.5) / (0.5 * 96)  # the first is taken as spread between arrival and last use
    assert of(uses=1, last=4) == pytest.approx(0.25 + 0.5 * (4**-0.5 + spread) / (1 + 4**-0.5 + spread), abs=1e-6)
    assert abs(4**-0.5 + spread - odds) < 0.1


@given(
    st.floats(0, 1), st.integers(0, 4_000_000_000), st.floats(-1e5, 1e5), st.floats(-1e5, 1e5),
)  # fmt: skip
def test_it_is_between_0_and_1_whatever_the_clock_says(importance: float, uses: int, last: float, age: float) -> None:
    assert 0 <= of(importance, uses, last, age) <= 1
