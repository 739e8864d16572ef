"""Reliability and states: pure, bounded, monotone; what is wrong is retired within five failed trials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.evolution.value.reliability import (
    FULL_SUPPORT,
    KEPT,
    STRENGTH,
    policy_state,
    posterior,
    prior,
    reliability,
    skill_state,
)
from memos.memory.learned import State

trials = st.lists(st.booleans(), max_size=40)
support = st.integers(0, 1_000)
GOOD = 0.3  # a gain that passes


def test_numbers_reckoned_by_hand() -> None:
    assert (prior(0).good, prior(0).bad) == (1.0, 1.0)
    assert prior(2).mean == pytest.approx(0.625)
    assert reliability([True], support=0) == pytest.approx((0.85 + 1) / (1.7 + 1))
    assert reliability([False, False], support=4) == pytest.approx(1.5 * 0.85**2 / (2 * 0.85**2 + 0.85 + 1))


@given(support, trials)
def test_it_is_a_probability_and_worth_no_more_than_its_trials(n: int, outcomes: list[bool]) -> None:
    belief = posterior(n, outcomes)
    assert 0 < belief.mean < 1
    assert belief.good + belief.bad <= STRENGTH + 1 / (1 - KEPT) + 1e-9
    assert prior(n).good + prior(n).bad == pytest.approx(STRENGTH)
    assert prior(n).mean <= prior(FULL_SUPPORT).mean


@given(support, trials, st.integers(0, 39))
def test_a_trial_that_passes_instead_never_lowers_it(n: int, outcomes: list[bool], place: int) -> None:
    if place < len(outcomes):
        better = [*outcomes[:place], True, *outcomes[place + 1 :]]
        assert reliability(better, support=n) >= reliability(outcomes, support=n)


@given(st.integers(2, 1_000))
def test_a_policy_that_is_wrong_is_retired_within_five_failed_trials(n: int) -> None:
    states = [policy_state(n, GOOD, [False] * fails)[0] for fails in range(6)]
    assert states[:3] == [State.ACTIVE] * 3  # no single trial decides
    assert states[5] is State.RETIRED


@given(support, st.integers(0, 2), st.integers(5, 9))
def test_so_is_one_that_passed_by_luck_at_first(n: int, lucky: int, fails: int) -> None:
    outcomes = [*[True] * lucky, *[False] * fails]
    assert policy_state(max(2, n), GOOD, outcomes)[0] is State.RETIRED
    assert skill_state(n, outcomes)[0] is State.RETIRED


def test_what_was_right_for_long_and_turned_wrong_does_not_live_on_its_past() -> None:
    assert policy_state(5, GOOD, [*[True] * 500, *[False] * 10])[0] is State.RETIRED
    assert policy_state(5, GOOD, [*[True] * 500, *[False] * 4])[0] is State.ACTIVE


def test_a_policy_needs_two_episodes_and_a_gain() -> None:
    assert policy_state(1, GOOD, [])[0] is State.CANDIDATE
    assert policy_state(2, 0.0, [])[0] is State.CANDIDATE
    assert policy_state(2, GOOD, [])[0] is State.ACTIVE
    assert policy_state(3, -0.2, [])[0] is State.RETIRED


@given(support)
def test_a_skill_is_active_after_two_passed_trials_and_not_before(n: int) -> None:
    assert skill_state(n, [])[0] is State.PROBATION
    assert skill_state(n, [True])[0] is State.PROBATION
    assert skill_state(n, [True, True])[0] is State.ACTIVE


def test_a_skill_does_not_flap_at_one_failure() -> None:
    assert skill_state(4, [True, True, True, False])[0] is State.ACTIVE
    assert skill_state(4, [True, True, True, False, True, False, True])[0] is State.ACTIVE
    assert skill_state(4, [True, True, False, False, False])[0] is State.PROBATION


@given(support, trials, trials)
def test_what_was_retired_for_its_trials_stays_so(n: int, outcomes: list[bool], more: list[bool]) -> None:
    for state in (lambda seen: policy_state(max(2, n), GOOD, seen)[0], lambda seen: skill_state(n, seen)[0]):
        if state(outcomes) is State.RETIRED:
            assert state([*outcomes, *more]) is State.RETIRED


@given(support, st.floats(-1, 1), trials)
def test_the_same_rows_give_the_same_state(n: int, gained: float, outcomes: list[bool]) -> None:
    assert policy_state(n, gained, outcomes) == policy_state(n, gained, list(outcomes))
    assert skill_state(n, iter(outcomes)) == skill_state(n, outcomes)
