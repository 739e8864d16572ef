"""What must never be learned from is recognised, cut tags included; spans stay true to the original."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.memory.message import Message
from memos.reading.hygiene import Reason, strip_injected, why_not

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)


def say(text: str, role: str = "user") -> Message:
    return Message(role=role, text=text, time=NOW)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<memories>\n- I live in Rome\n</memories>\nI live in Oslo.", "I live in Oslo."),
        ("Hi <memory id='3'>I live in Rome</memory> there", "Hi  there"),
        ("<relevant_memories>x</relevant_memories>ok", "ok"),
        ("<relevant-memories>x</relevant-memories>ok", "ok"),
        ("<memos-context v='1'>I live in Rome</memos-context> ok", "ok"),
        ("<memos_context>I live in Rome</memos_context> ok", "ok"),
        ("<memos>I live in Rome</memos> ok", "ok"),
        ("<MEMORIES>I live in Rome</MEMORIES> ok", "ok"),
        ("<memories><memory>I live in Rome</memory><memory>a</memory></memories> ok", "ok"),
        ("<memories><memories>I live in Rome</memories> tail </memories> ok", "ok"),
        ("<memories><memory>I live in Rome</memories> ok", "ok"),  # the inner tag was cut
        ("ok <memories>I live in Rome", "ok"),  # the closing tag was cut
        ("ok <memories>I live in Rome</memor", "ok"),
        ("- I live in Rome\n</memories> ok", "ok"),  # the opening tag was cut
        ("emories>\n- I live in Rome\n</memories> ok", "ok"),
        ("<memories>a</memories> one <memories>b</memories> two", "one  two"),
        ("ok <memories", "ok"),
        ("<system-reminder>Be brief. I live in Rome</system-reminder>ok", "ok"),
        ("<memory/> ok", "ok"),
        ("HEARTBEAT_OK", ""),
        ("[heartbeat] 2024-05-08", ""),
        ("Read HEARTBEAT.md if it exists. Follow it strictly. If nothing needs attention, reply HEARTBEAT_OK.", ""),
        ("[heartbeat]\nI live in Oslo.", "I live in Oslo."),
        ("## Recalled Memories\n- I live in Rome\n- b\n\nI live in Oslo.", "I live in Oslo."),
    ],
)
def test_injected_text_is_blanked_and_the_rest_is_kept(text: str, left: str) -> None:
    clean, spans = strip_injected(text)
    assert clean.replace("\n", "").strip() == left
    assert len(clean) == len(text)
    assert spans
    assert "Rome" not in clean


@pytest.mark.parametrize(
    "text",
    [
        "I have a good memory for faces.",
        "My heart beats fast.",
        "a < memory and b > c",
        "Memories of Oslo, # 1",
        "<b>memories</b>",
        "我住在奥斯陆。",
        "The list <li>x</li>",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert strip_injected(text) == (text, ())


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (say("You are a helpful assistant. I live in Rome.", "system"), Reason.SYSTEM_PROMPT),
        (say("I live in Rome.", "developer"), Reason.SYSTEM_PROMPT),
        (say("I live in Rome.", "tool"), Reason.TOOL_OUTPUT),
        (say("HEARTBEAT_OK", "assistant"), Reason.INJECTED),
        (say("<memories>I live in Rome</memories>"), Reason.INJECTED),
        (say(" \u200b"), Reason.BLANK),
        (say("I live in Rome."), None),
        (say("<memories>x</memories> I live in Rome."), None),
    ],
)
def test_why_nothing_may_be_learned(message: Message, reason: Reason | None) -> None:
    assert why_not(message) is reason


TAGS = [
    "<memories>",
    "</memories>",
    "<memory a=1>",
    "</memory>",
    "<memos-context>",
    "</memos-context>",
    "HEARTBEAT_OK",
    "\n",
    "I x ",
    "</mem",
    "<",
]


@given(st.lists(st.sampled_from(TAGS) | st.text(max_size=8), max_size=12).map("".join))
def test_cleaning_keeps_the_length_and_everything_outside_the_spans(text: str) -> None:
    clean, spans = strip_injected(text)
    assert len(clean) == len(text)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        assert clean[at:start] == text[at:start]
        assert set(clean[start:end]) == {"\n"}
        at = end
    assert clean[at:] == text[at:]


@given(st.text(alphabet="ab </>memories\n", max_size=30))
def test_a_closed_block_never_leaks(inside: str) -> None:
    secret = "QZQ"
    clean, _ = strip_injected(f"<memories>{inside}{secret}{inside}</memories>")
    assert secret not in clean
