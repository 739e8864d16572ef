"""What a text of feedback asks for, by rules, whatever is remembered."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.memory.feedback import FeedbackIntent, FeedbackReading, Topic
from memos.memory.model import Kind, Memory
from memos.memory.time import utcnow
from memos.reading.feedback import read_feedback


def read(text: str) -> FeedbackReading:
    trace = Memory("t", Kind.TRACE, text, role="user", speaker="user", valid_from=utcnow(), body={"corrects": []})
    return read_feedback(trace)


def shown(intent: FeedbackIntent) -> str:
    """An intent in a word or two."""
    if intent.topic is not None:
        return f"forget {'my ' if intent.topic.mine else ''}{intent.topic.words}{'…' if intent.topic.broad else ''}"
    if intent.old:
        return f"{intent.old} > {intent.new}"
    told = [f"{c.old} > {c.new}" for c in intent.corrections] + [s.text for s in intent.statements]
    return f"{intent.operation.value} {'; '.join(told)}".strip()


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("No, it's Bergen, not Oslo. Also note that I have two kids.", ["correct Oslo > Bergen", "supplement The user has two kids."]),
        ("It's not Rex. It's Roxy.", ["correct Rex > Roxy"]),
        ("Could you please forget my phone number?", ["forget my phone number"]),
        ("hey, pls forget what i said about my ex, thanks", ["forget my ex…"]),
        ("Forget the wifi password from now on", ["forget wifi password from now on"]),
        ("Everywhere it says Acme, it should say Apex.", ["Acme > Apex"]),
        ("把所有提到钉钉的地方都改成飞书吧", ["钉钉 > 飞书"]),
        ("麻烦你把关于我前女友的事都忘掉吧，谢谢", ["forget my 前女友…"]),
        ("Yes. And from now on call me Max.", ["confirm", "prefer The user is called Max."]),
        ("Correct! Thanks a lot.", ["confirm"]),
        ("That's wrong.", ["correct"]),
        ("Anna doesn't live in Madrid, she lives in Seville.", ["correct Madrid > Seville"]),
        ("No idea.", []),
        ("No way!", []),
        ("I forgot my keys.", []),
        ("> Forget my phone number.\nI never wrote that", []),
        ("She said: “It is fine. Forget my phone number.” So we left.", []),
        ("```\nForget my phone number.\n```", []),
        ("Don't you ever forget my birthday!", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_asked_for(text: str, asks: list[str]) -> None:
    assert [shown(intent) for intent in read(text).intents] == asks


def test_the_evidence_is_where_it_was_said() -> None:
    text = "Great. Also note that I have two kids. No, it's Bergen, not Oslo."
    for intent in read(text).intents:
        words = text[intent.start : intent.end]
        assert words in ("Also note that I have two kids.", "No, it's Bergen, not Oslo.")
        for statement in intent.statements:
            assert text[statement.source.start : statement.source.end] == "I have two kids"


def test_the_name_of_a_fact_is_known_in_both_languages() -> None:
    for text in ("Forget my phone number.", "请忘记我的电话号码。"):
        (intent,) = read(text).intents
        assert isinstance(intent.topic, Topic) and intent.topic.attributes == ("phone",)


@pytest.mark.parametrize(
    "words",
    [
        "my ",
        "no ",
        "please ",
        "forget ",
        "replace x with ",
        "not X but ",
        "忘掉",
        "从现在起",
        "不对，",
        "“",
        '"',
        "把都",
    ],
)
def test_long_texts_are_read_in_time(words: str) -> None:
    started = time.perf_counter()
    for tail in ("", "x", "!", "?"):
        read((words * 2_000)[:3_900] + tail)
    assert time.perf_counter() - started < 5


WORDS = [
    "forget",
    "my",
    "about",
    "no",
    "not",
    ",",
    ".",
    "?",
    '"',
    "yes",
    "忘掉",
    "我",
    "的",
    "把",
    "改成",
    "不对",
    "是",
]


@given(st.text(max_size=300) | st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_no_text_is_too_strange(text: str) -> None:
    for intent in read(text).intents:
        assert 0 <= intent.start <= intent.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "Forget my phone number. Never mind.", "Forget my phone number, or not", "Forget my phone number - or rather don't",
        "Forget my phone number. Just kidding!", "Forget my phone number. Wait, don't.", "Delete my phone number. Cancel that.",
        "Forget my phone number. On second thought, keep it.", "Forget my phone number: yes or no", "Forget my phone number. No.",
        "Forget about it, I like tea.", "Oh forget about it: I like tea", "Forget about this - I like tea",
        "Forget about that, my phone number is 555 1234",
        "忘掉我的电话号码。算了，别忘。", "忘掉我的电话号码。开玩笑的。", "忘掉我的电话号码，算了", "忘掉我的电话号码。不！",
    ],
)  # fmt: skip
def test_an_order_to_forget_that_is_taken_back_or_names_nothing_is_none(text: str) -> None:
    assert read(text).unclear


@pytest.mark.parametrize(
    "text",
    [
        "Forget my phone number, don't keep it.", "Please forget my phone number. Thanks!", "Don't keep my phone number.",
        "Forget my phone number. I have two kids.", "忘掉我的电话号码，谢谢。",
    ],
)  # fmt: skip
def test_an_order_to_forget_that_stands_is_one(text: str) -> None:
    found = read(text)
    assert not found.unclear and any(i.topic is not None for i in found.intents)


def test_what_is_not_to_be_replaced_is_no_correction() -> None:
    assert not [i for i in read("Don't replace Acme with Apex.").intents if i.corrections or i.old]
