"""Ranking: scores in [0, 1], more of a feature never ranks lower, several pools are ranked as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.recall.rank import attainable, rank
from memos.recall.recipe import DEFAULT
from memos.recall.understand import Question
from memos.storage.ports import Pool

COLUMNS = ("coarse", *DEFAULT.weights)
ASKED = Question("kayak", "kayak", {"kayak": 1.0}, speakers={"Ann": 1.0}, asks_name=True)
unit = st.floats(0, 1, width=32)


def pool(*rows: dict[str, float], full: float = 2.0, sessions: list[int] | None = None, **more: Any) -> Pool:
    n = len(rows)
    return Pool(
        rows=np.arange(n, dtype=np.int64),
        sessions=np.asarray(sessions if sessions is not None else range(n), np.int32),
        happened=np.zeros(n, np.int64),
        derived=np.zeros(n, bool),
        columns={c: np.asarray([r.get(c, 0.0) for r in rows], np.float32) for c in COLUMNS},
        first_rank=np.arange(n, dtype=np.int64),
        documents=n,
        history_chars=0,
        full_match=full,
        **more,
    )


rows = st.lists(st.fixed_dictionaries(dict.fromkeys(COLUMNS, unit)), min_size=1, max_size=8)


@settings(max_examples=80, deadline=None)
@given(first=rows, second=rows, full=st.floats(0, 5))
def test_scores_are_between_0_and_1_in_falling_order_and_every_candidate_is_there_once(
    first: list[dict[str, float]], second: list[dict[str, float]], full: float
) -> None:
    found = rank([pool(*first, full=full), pool(*second, full=full)], ASKED, DEFAULT)
    assert ((found.score >= 0) & (found.score <= 1)).all()
    assert (np.diff(found.score) <= 0).all()
    assert sorted(zip(found.pool.tolist(), found.place.tolist(), strict=True)) == [
        *((0, i) for i in range(len(first))),
        *((1, i) for i in range(len(second))),
    ]


@settings(max_examples=60, deadline=None)
@given(
    base=rows,
    name=st.sampled_from(["speaker", "date", "question", "time_word", "name", "length", "lexical"]),
    more=st.floats(0.05, 1),
)
def test_more_of_a_feature_never_ranks_a_candidate_lower_unless_its_weight_is_negative(
    base: list[dict[str, float]], name: str, more: float
) -> None:
    copies = [{**r, "dense": 0.0, "dense_window": 0.0} for r in base]
    target = {**copies[0], name: min(copies[0][name], 1 - more)}
    more_of_it = {**target, name: target[name] + more}
    rest = [*copies[1:], {"lexical": 1.0}]

    def place(candidate: dict[str, float]) -> int:
        found = rank([pool(candidate, *rest, full=4.0)], ASKED, DEFAULT)
        return found.place.tolist().index(0)

    if DEFAULT.weights[name] > 0:
        assert place(more_of_it) <= place(target)
    else:
        assert place(more_of_it) >= place(target)


def test_a_session_that_answers_lifts_its_messages() -> None:
    together = rank([pool({"lexical": 2.0}, {"lexical": 0.5}, {"lexical": 0.5}, sessions=[1, 1, 2])], ASKED, DEFAULT)
    assert together.place.tolist() == [0, 1, 2]
    assert together.features["session"].tolist() == [1.0, 1.0, 0.25]


def test_sessions_of_two_cubes_are_never_one() -> None:
    found = rank([pool({"lexical": 2.0}, sessions=[1]), pool({"lexical": 0.5}, sessions=[1])], ASKED, DEFAULT)
    assert found.features["session"].tolist() == [1.0, 0.25]


def test_scores_of_two_cubes_are_on_one_scale() -> None:
    rich, poor = {"lexical": 2.0, "length": 0.5}, {"lexical": 0.5, "length": 0.5}
    joint = rank([pool(poor), pool(rich)], ASKED, DEFAULT)
    assert joint.pool.tolist() == [1, 0]
    one = rank([pool(rich, poor)], ASKED, DEFAULT)
    assert joint.score.tolist() == pytest.approx(one.score.tolist())


def test_a_weak_best_match_is_not_taken_for_a_full_one() -> None:
    weak = rank([pool({"lexical": 0.1}, full=2.0)], ASKED, DEFAULT).score[0]
    strong = rank([pool({"lexical": 2.0}, full=2.0)], ASKED, DEFAULT).score[0]
    assert weak < strong / 3


def test_being_like_everything_counts_nothing() -> None:
    found = rank([pool({"dense": 0.4}, {"dense": 0.8}, dense_mean=0.4)], ASKED, DEFAULT)
    by_place = dict(zip(found.place.tolist(), found.features["dense"].tolist(), strict=True))
    assert by_place == {0: pytest.approx(0.0), 1: pytest.approx(1.0)}


def test_what_has_no_vector_is_judged_by_its_words() -> None:
    found = rank([pool({"lexical": 2.0}, {"lexical": 0.2, "dense": 0.9}, dense_mean=0.1)], ASKED, DEFAULT)
    assert found.features["dense"].tolist()[found.place.tolist().index(0)] == pytest.approx(1.0)


def test_an_empty_pool_ranks_nothing() -> None:
    assert len(rank([pool()], ASKED, DEFAULT).score) == 0


def test_a_wanted_speaker_or_date_raises_what_can_be_reached() -> None:
    plain = Question("kayak", "kayak", {"kayak": 1.0})
    assert attainable(ASKED, DEFAULT) > attainable(plain, DEFAULT) == DEFAULT.attainable
