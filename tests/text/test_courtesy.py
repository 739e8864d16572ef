"""A request is the same however politely it is put."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.memory.learned import Form, PolicyBody
from memos.text.applies import Situation, applies
from memos.text.courtesy import bare_request, says_nothing


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


@pytest.mark.parametrize(
    "reply",
    [
        "Noted.",
        "Sure, I'll remember that.",
        "Got it!",
        "Noted with thanks.",
        "Well noted, thank you.",
        "OK, noted.",
        "Thanks for letting me know!",
        "Understood. I'll keep that in mind.",
        "You’re welcome! Let me know if you need anything else.",
        "Okay 👍",
        "I've made a note of that.",
        "Sure thing! Is there anything else I can help you with?",
        "好的。",
        "收到",
        "好的，我记住了。",
        "明白了，我会记住的。",
        "收到，已记录。",
        "没问题，我记下了。",
        "好的，还有什么需要帮忙的吗？",
    ],
)
def test_a_reply_that_only_acknowledges_says_nothing(reply: str) -> None:
    assert says_nothing(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Yes.",
        "No.",
        "Done.",
        "Sure, the meeting is at 9.",
        "Noted: you live in Oslo.",
        "I'll remember that you like tea.",
        "Great Barrier Reef",
        "I see Anna",
        "store",
        "keep it",
        "好的，会议在周五。",
        "收到包裹了",
        "好人",
        "行李",
        "记住了三个单词",
    ],
)
def test_a_reply_with_content_says_something(reply: str) -> None:
    assert not says_nothing(reply)
