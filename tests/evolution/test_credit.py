"""Credit: numbers reckoned by hand for the back-propagation, and what gives a step a part in the outcome."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.evolution.value.credit import BETWEEN, REFLECTED, RESOLVED, USED, alphas, credits_of, is_telling, priority
from memos.evolution.value.reward import ALPHA
from memos.memory.episode import Signal, SignalSource, Step, StepRole, ToolUse
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def word(n: int, text: str, role: StepRole = StepRole.USER) -> Step:
    return Step(n, Memory(new_id(), Kind.TRACE, text), role, 1, T0)


def call(
    n: int, given: str, ok: bool | None = True, output: str = "", reflection: str | None = None, tool: str = "shell"
) -> Step:
    use = ToolUse(tool, given, output, "it failed" if ok is False else None, ok)
    return Step(n, Memory(new_id(), Kind.TOOL_CALL, given), StepRole.TOOL, 1, T0, use, reflection)


def test_values_of_the_formula_reckoned_by_hand() -> None:
    steps = [word(1, "install it"), call(2, "pip install psycopg2", False), call(3, "apt install libpq-dev")]
    steps += [call(4, "pip install psycopg2"), word(5, "Done.", StepRole.ASSISTANT)]
    found = credits_of(steps, 1.0)
    assert [found[n].alpha for n in range(1, 6)] == [0.0, 0.0, 0.7, 0.8, 0.0]
    assert found[5].value == pytest.approx(1.0)
    assert found[4].value == pytest.approx(0.8 * 1 + 0.2 * 0.9 * 1.0)  # .98
    assert found[3].value == pytest.approx(0.7 * 1 + 0.3 * 0.9 * 0.98)  # .9646
    assert found[2].value == pytest.approx(0.9 * 0.9646)  # .86814
    assert found[1].value == pytest.approx(0.9 * 0.86814)  # .781326


def test_without_any_part_the_reward_fades_by_a_tenth_with_each_step() -> None:
    found = credits_of([word(n, "…") for n in range(4)], -0.5)
    assert [found[n].value for n in range(4)] == pytest.approx([-0.3645, -0.405, -0.45, -0.5])


def test_an_error_resolved_by_another_call_credits_both() -> None:
    steps = [call(1, "make build", False), call(2, "ls src"), call(3, "apt install cmake"), call(4, "make build")]
    assert alphas(steps) == {1: 0.0, 2: BETWEEN, 3: BETWEEN, 4: RESOLVED}


def test_failing_again_and_again_has_no_part_whatever_is_said_of_it() -> None:
    thought = "the registry of the company mirrors needs a token"
    steps = [call(1, "npm publish", False), call(2, "npm publish", False, reflection=thought)]
    assert alphas(steps) == {1: 0.0, 2: 0.0}


def test_a_success_of_another_call_resolves_nothing() -> None:
    assert alphas([call(1, "make build", False), call(2, "git status")])[2] == 0.0


def test_a_path_found_by_one_call_and_used_by_a_later_one_credits_the_first() -> None:
    steps = [
        call(1, "find / -name pg.conf", output="/etc/postgres/14/pg.conf"),
        call(2, "cat /etc/postgres/14/pg.conf"),
    ]
    assert alphas(steps) == {1: USED, 2: 0.0}


def test_what_was_known_before_is_no_find() -> None:
    steps = [word(0, "look at /etc/postgres/14/pg.conf"), call(1, "ls", output="/etc/postgres/14/pg.conf")]
    steps += [call(2, "cat /etc/postgres/14/pg.conf")]
    assert alphas(steps)[1] == 0.0


@pytest.mark.parametrize(
    ("reflection", "telling"),
    [
        ("the wheel needs the headers of the database client", True),
        ("这个包需要先安装数据库客户端的头文件", True),
        ("It worked as expected, done.", False),
        ("任务完成，成功。", False),
        ("pip install psycopg2", False),  # only what the call says itself
        ("", False),
        (None, False),
    ],
)
def test_a_reflection_counts_when_it_says_something(reflection: str | None, telling: bool) -> None:
    step = call(1, "pip install psycopg2", reflection=reflection)
    assert is_telling(reflection, step) is telling
    assert alphas([step, word(2, "ok")])[1] == (REFLECTED if telling else 0.0)


def test_what_a_model_says_of_a_step_takes_the_place_of_rules() -> None:
    steps = [call(1, "ls"), word(2, "Done.", StepRole.ASSISTANT)]
    told = [Signal(SignalSource.MODEL, ALPHA, 0.65, T0, steps[0].id)]
    assert alphas(steps, told)[1] == 0.65
    assert credits_of(steps, 1.0, told)[1].value == pytest.approx(0.65 + 0.35 * 0.9)


def test_priority_is_halved_every_thirty_days_and_never_negative() -> None:
    assert priority(0.8, T0, T0) == pytest.approx(0.8)
    assert priority(0.8, T0, T0 + timedelta(days=60)) == pytest.approx(0.2)
    assert priority(-0.8, T0, T0) == 0.0 == priority(None, T0, T0)
    assert priority(0.8, T0 + timedelta(days=9), T0) == pytest.approx(0.8)  # a clock that was put back


@given(
    st.lists(st.tuples(st.sampled_from(["a b", "c d"]), st.sampled_from([True, False, None])), max_size=12),
    st.floats(-1, 1),
)
def test_no_value_is_further_from_zero_than_the_reward(given_: list[tuple[str, bool | None]], reward: float) -> None:
    found = credits_of([call(n, text, ok) for n, (text, ok) in enumerate(given_)], reward)
    assert len(found) == len(given_)
    assert all(
        abs(c.value) <= abs(reward) + 1e-12 and c.value * reward >= 0 and 0 <= c.alpha <= 1 for c in found.values()
    )
