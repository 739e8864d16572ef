"""Rewards: verdicts outweigh signs, magnitudes and doubt count, contradictions cancel out, and nothing known is no reward."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.evolution.value.reward import ALPHA, UNJUDGED, how_tools_fared, reward
from memos.evolution.value.signals import FAILED, GAVE_UP, PRAISE, THANKS, Heard
from memos.memory.episode import FAILURE, SUCCESS, Signal, SignalSource, Step, StepRole, ToolUse
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory

T0 = datetime(2026, 3, 1, tzinfo=UTC)
USER, VERIFIER, IMPLICIT, MODEL = SignalSource.USER, SignalSource.VERIFIER, SignalSource.IMPLICIT, SignalSource.MODEL


def said(source: SignalSource, score: float, minute: int = 0, what: str = "word") -> Signal:
    return Signal(source, what, score, T0 + timedelta(minutes=minute))


def call(n: int, ok: bool | None, tool: str = "shell") -> Step:
    memory = Memory(new_id(), Kind.TOOL_CALL, "called")
    use = ToolUse(tool, "x", error="no" if ok is False else None, ok=ok)
    return Step(n, memory, StepRole.TOOL, 1, T0 + timedelta(seconds=n), use)


def test_where_nothing_is_known_there_is_no_reward_and_not_a_zero() -> None:
    assert reward((), ()).value is None
    assert reward([call(1, None)], ()).value is None
    assert reward((), [said(USER, 0.0)]).value == 0.0


def test_one_faint_sign_says_little_and_with_little_confidence() -> None:
    thanks = reward((), [said(IMPLICIT, 1.0)])
    assert thanks.value == pytest.approx(0.8 / 1.8)
    assert thanks.confidence == pytest.approx(0.8 / 1.8)
    assert reward((), [said(USER, 0.2)]).value == pytest.approx(5 * 0.2 / 6)
    assert reward((), [said(USER, 1.0)]).value == pytest.approx(5 / 6)


def test_thanks_after_tools_that_worked_make_a_success_and_neither_does_alone() -> None:
    worked = [call(1, True)]
    assert reward(worked, ()).value == pytest.approx(0.5 / 1.5)
    assert (reward(worked, [said(IMPLICIT, 1.0)]).value or 0) > 0.5


@pytest.mark.parametrize("verdict", [USER, VERIFIER])
def test_a_verdict_outweighs_all_signs_together(verdict: SignalSource) -> None:
    signs = [*(said(IMPLICIT, -1.0, n) for n in range(20)), said(MODEL, -1.0)]
    result = reward([call(n, False) for n in range(30)], [said(verdict, 1.0), *signs])
    assert (result.value or 0) > 0
    assert result.confidence < 0.4


def test_verdicts_that_contradict_each_other_leave_nothing_and_no_confidence() -> None:
    result = reward((), [said(USER, 1.0), said(VERIFIER, -1.0)])
    assert result.value == pytest.approx(0.0)
    assert result.confidence == pytest.approx(0.0)
    assert reward((), [said(USER, 1.0), said(USER, -1.0)]).value == pytest.approx(0.0)


def test_a_test_that_failed_and_then_passes_is_a_success() -> None:
    assert (reward((), [said(VERIFIER, -1.0, 0), said(VERIFIER, 1.0, 5)]).value or 0) >= 0.5
    assert (reward((), [said(VERIFIER, 1.0, 0), said(VERIFIER, -1.0, 5)]).value or 0) <= -0.5


@pytest.mark.parametrize("source", [USER, VERIFIER])
def test_a_later_verdict_takes_the_place_of_the_one_before(source: SignalSource) -> None:
    changed = reward((), [said(source, 1.0, 0), said(source, 1.0, 3), said(source, -1.0, 5)])
    assert changed.value == pytest.approx(-5 / 6)
    assert changed.confidence == pytest.approx(5 / 6)
    assert reward([call(1, True)], [said(source, 1.0, 0), said(source, -1.0, 5)]).value == pytest.approx(-4.5 / 6.5)


def test_a_verdict_takes_the_place_of_what_its_user_let_be_seen_before() -> None:
    before = [said(IMPLICIT, 0.7, 0), said(IMPLICIT, 0.5, 1), said(USER, 1.0, 2)]
    assert reward([call(1, True)], [*before, said(USER, -1.0, 5)]).value == pytest.approx(-4.5 / 6.5)
    after = [said(USER, 1.0, 2), said(IMPLICIT, -0.5, 5)]
    assert reward((), after).value == pytest.approx((5 - 0.8 * 0.5) / 6.8)


def test_many_signs_of_one_source_count_at_most_twice() -> None:
    assert reward((), [said(IMPLICIT, 1.0, n) for n in range(50)]).value == pytest.approx(1.6 / 2.6, abs=1e-6)


def test_long_work_of_tools_alone_is_valued_like_any_other() -> None:
    long = [call(n, True) for n in range(200)]
    assert reward(long, [said(VERIFIER, 1.0)]).value == reward(long[:1], [said(VERIFIER, 1.0)]).value


def test_tools_are_judged_by_how_they_ended() -> None:
    recovered = how_tools_fared([call(1, False), call(2, False), call(3, True)])
    assert recovered is not None and recovered.score == pytest.approx(1.0)
    half = how_tools_fared([call(1, False, "curl"), call(2, True, "shell")])
    assert half is not None and half.score == pytest.approx(0.6)
    assert how_tools_fared([call(1, None)]) is None


def test_what_is_said_of_single_steps_says_nothing_of_the_outcome() -> None:
    assert reward((), [said(MODEL, 0.9, what=ALPHA), said(MODEL, 0.0, what=UNJUDGED)]).value is None


signals = st.builds(
    said, st.sampled_from(SignalSource), st.floats(-1, 1), st.integers(0, 5), st.sampled_from(["a", "b"])
)


@given(st.lists(signals, max_size=8))
def test_it_is_within_bounds_and_does_not_depend_on_the_order_of_arrival(given_: list[Signal]) -> None:
    result = reward((), given_)
    assert reward((), given_[::-1]) == result
    assert 0 <= result.confidence < 1
    assert (result.value is None) == (not given_)
    if result.value is not None:
        assert -1 < result.value < 1


@given(st.lists(signals, max_size=5), st.sampled_from(SignalSource), st.floats(0, 1))
def test_better_news_never_make_it_worse(given_: list[Signal], source: SignalSource, more: float) -> None:
    low, high = (reward((), [*given_, said(source, score, 9)]).value for score in (-more, more))
    assert low is not None and high is not None and low <= high + 1e-12


def heard(one: Heard) -> Signal:
    return Signal(IMPLICIT, one.what, one.score, T0 + timedelta(minutes=1))


@pytest.mark.parametrize("kind", [THANKS, PRAISE])
def test_what_users_say_in_passing_and_tools_that_ended_well_are_a_success_together(kind: Heard) -> None:
    assert (reward([call(1, True)], [heard(kind)]).value or 0) >= SUCCESS
    assert (reward((), [heard(kind)]).value or 0) < SUCCESS
    assert abs(reward([call(1, False)], [heard(kind)]).value or 0) < SUCCESS


@pytest.mark.parametrize("kind", [FAILED, GAVE_UP])
def test_what_users_say_in_passing_and_tools_that_failed_are_a_failure_together(kind: Heard) -> None:
    assert (reward([call(1, False)], [heard(kind)]).value or 0) <= FAILURE
    assert abs(reward([call(1, True)], [heard(kind)]).value or 0) < SUCCESS
