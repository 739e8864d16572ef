"""A request is the same however politely it is put."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.memory.learned import Form, PolicyBody
from memos.text.applies import Situation, applies
from memos.text.courtesy import bare_request


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("please restart loki", "restart loki"),
        ("Hi, could you please restart loki? Thanks!", "restart loki"),
        ("Can you restart loki for me", "restart loki"),
        ("I need you to restart loki asap", "restart loki"),
        ("请帮我重启 loki，谢谢", "重启 loki"),
        ("麻烦您重启loki好吗？", "重启loki"),
        ("restart loki", "restart loki"),
        ("hello world program", "hello world program"),
        ("请问天气", "请问天气"),
        ("请求失败了", "请求失败了"),
        ("help message is wrong", "help message is wrong"),
        ("please", "please"),
        ("", ""),
    ],
)
def test_courtesy_is_no_part_of_what_is_asked(said: str, meant: str) -> None:
    assert bare_request(said) == meant


@given(st.text(alphabet="pleas hi,谢请好吗 thank you.!?x", max_size=200))
def test_there_is_always_something_left_and_it_stood_there(text: str) -> None:
    bare = bare_request(text)
    assert bare in text
    assert bool(bare) == bool(text.strip())


def test_a_policy_for_a_short_goal_applies_however_it_is_asked_for() -> None:
    body = PolicyBody(form=Form.PATH, goal="restart loki")
    for asked in (
        "restart loki",
        "please restart loki",
        "Hey, could you restart loki for me? thanks",
        "请restart loki",
    ):
        found = applies(body, Situation(goal=asked))
        assert found is not None and found.by == "goal", asked
    assert applies(body, Situation(goal="please restart tempo")) is None
