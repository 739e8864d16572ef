"""An order of a user is not blamed for tasks that are hard anyway."""

from __future__ import annotations

import pytest

from memos.evolution.value.reliability import worse_than_usual


@pytest.mark.parametrize(
    ("passes", "fails", "usual", "worse"),
    [
        (0, 3, 0.8, True),
        (0, 3, 0.4, False),
        (0, 4, 0.4, True),
        (0, 4, 0.0, True),  # where nearly everything fails, four in a row are enough all the same
        (2, 3, 0.4, False),
        (1, 4, 0.9, True),
        (0, 0, 0.9, False),
    ],
)
def test_few_passes_count_against_what_is_usual(passes, fails, usual, worse):
    assert worse_than_usual([True] * passes + [False] * fails, usual) is worse
