"""The prompt: the language of the question, the caller's own words, the day, the conversation."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from memos.chat.prompt import language_of, prompt, without_context
from memos.models.llm.port import ChatMessage

NOW = datetime(2026, 3, 1, 9, 5, tzinfo=ZoneInfo("Europe/Oslo"))
BLOCK = "<memos-context>\nCurrent facts:\n- Ada lives in Oslo.\n</memos-context>"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where do I live?", "en"),
        ("我住在哪里？", "zh"),
        ("我在 GitHub 上的项目叫什么？", "zh"),
        ("What does 你好 mean in English, please?", "en"),
        ("私はどこに住んでいますか？", "en"),
        ("나는 어디에 살아?", "en"),
        ("Où est-ce que j'habite ?", "en"),
        ("", "en"),
        ("123 ?", "en"),
    ],
)
def test_a_question_is_chinese_or_it_is_not(text: str, language: str) -> None:
    assert language_of(text) == language


def test_ours_says_who_what_day_and_what_is_data() -> None:
    system, question = prompt("Where do I live?", BLOCK, NOW)
    assert (system.role, question) == ("system", ChatMessage("user", "Where do I live?"))
    assert "Today is Sunday, 1 March 2026, 09:05." in system.content and system.content.endswith(BLOCK)
    assert len(system.content) - len(BLOCK) < 1_000  # it is paid for at each call
    chinese = prompt("我住在哪里？", BLOCK, NOW)[0].content
    assert "今天是2026年3月1日（星期日）09:05。" in chinese and chinese.endswith(BLOCK) and "Today" not in chinese


def test_nothing_remembered_is_said() -> None:
    assert "(nothing is remembered about this)" in prompt("Where?", "", NOW)[0].content
    assert "（没有与此有关的记忆）" in prompt("在哪里？", "", NOW)[0].content
    assert "memos-context" not in prompt("Where?", None, NOW)[0].content


def test_the_callers_prompt_takes_the_place_of_ours_and_says_where_memories_go() -> None:
    told = prompt("Where?", BLOCK, NOW, system_prompt="A {name}.\n{memories}\nEnd {memories}.")[0].content
    assert told.startswith("A {name}.\nToday is") and told.endswith(f"{BLOCK}\nEnd .") and told.count(BLOCK) == 1
    after = prompt("Where?", BLOCK, NOW, system_prompt="A pirate.\n")[0].content
    assert after.startswith("A pirate.\n\nToday is") and after.endswith(BLOCK)
    assert prompt("Where?", BLOCK, NOW, system_prompt=" ")[0].content.startswith("Today is")


def test_memories_are_not_read_for_placeholders() -> None:
    hostile = "<memos-context>\n- {memories} {0} %s\n</memos-context>"
    assert prompt("Where?", hostile, NOW, system_prompt="A {memories}")[0].content.endswith(hostile)


def test_a_question_that_was_asked_already_is_not_asked_twice() -> None:
    history = (ChatMessage("user", "hi"), ChatMessage("assistant", "Hello."), ChatMessage("user", "Where do I live?"))
    assert [m.content for m in prompt("Where do I live? ", "", NOW, history=history)[1:]] == [
        "hi",
        "Hello.",
        "Where do I live? ",
    ]
    assert prompt("Tell me.", "", NOW, history=history)[-1].content == "Where do I live?\n\nTell me."


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("You live in Oslo.", "You live in Oslo."),
        (f"Look:\n{BLOCK}\nSo Oslo.", "Look:\n\nSo Oslo."),
        ("Look: <memos-context> cut off", "Look:"),
        (BLOCK, ""),
        (f"Look: <memos-context>a {BLOCK} b</memos-context>So Oslo.", "Look: So Oslo."),
        (f"Look: <memos-context>a {BLOCK}So Oslo.", "Look: So Oslo."),
    ],
)
def test_a_block_that_is_repeated_is_not_kept(answer: str, kept: str) -> None:
    assert without_context(answer) == kept
