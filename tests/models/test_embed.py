from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.errors import DimensionMismatch, ModelError
from memos.models.embed import checked, pooled


def check(rows, count=2, dim=3):
    return checked(rows, count=count, dim=dim, model_id="m")


def test_rows_come_out_with_length_one():
    np.testing.assert_allclose(check([[3, 0, 4], [0, 1e-30, 0]]), [[0.6, 0, 0.8], [0, 1, 0]])
    np.testing.assert_allclose(check([[3e38, 0, 0], [0, 3e38, 3e38]]), [[1, 0, 0], [0, 0.5**0.5, 0.5**0.5]])


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 0, float("nan")], [1, 0, 0]],
        [[1, 0, float("inf")], [1, 0, 0]],
        [[0, 0, 0], [1, 0, 0]],
        [[1, 0, 0]],
        [[1, 0, 0], [1, 0]],
        [["a", "b", "c"], ["d", "e", "f"]],
        [None, None],
        [1, 2],
        "rows",
        None,
    ],
)
def test_anything_else_is_a_model_error(rows):
    with pytest.raises(ModelError, match=r"^m answered"):
        check(rows)


def test_another_length_is_a_dimension_mismatch():
    with pytest.raises(DimensionMismatch, match="length 2, declared was 3"):
        check([[1, 0], [0, 1]])
    assert check([[1, 0], [0, 1]], dim=0).shape == (2, 2)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0.5, 9)), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_pooling_gives_unit_rows_to_owners_and_zeros_to_others(parts, seed):
    owners, weights = [owner for owner, _ in parts], [weight for _, weight in parts]
    vectors = np.random.default_rng(seed).standard_normal((len(parts), 6)).astype(np.float32)
    rows = pooled(vectors, owners, weights, 5)
    lengths = np.linalg.norm(rows, axis=1)
    for index in range(5):
        assert lengths[index] == pytest.approx(1 if index in owners else 0, abs=1e-4)


def test_windows_that_cancel_out_do_not_divide_by_zero():
    rows = pooled(np.array([[1, 0], [-1, 0]], np.float32), [0, 0], [2, 2], 1)
    np.testing.assert_array_equal(rows, [[1, 0]])
