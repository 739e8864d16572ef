"""A call as one line of text: whatever it holds, it is one line, and can be read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.memory.learned import Action
from memos.text.calls import INPUT, LINE_BREAK, call, calls_in, clipped, procedure


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (Action("shell", "ls -l"), "`shell`: `ls -l`"),
        (Action("shell", "cat <<E\nx\nE"), f"`shell`: `cat <<E{LINE_BREAK}x{LINE_BREAK}E`"),
        (Action("shell", "echo `date`"), "`shell`: `` echo `date` ``"),
        (Action("shell", "echo ``"), "`shell`: ``` echo `` ```"),
        (Action("done", ""), "`done`"),
        (Action("", "ask the owner first"), "ask the owner first"),
        (Action("", ""), ""),
    ],
)
def test_how_a_call_reads(action: Action, text: str) -> None:
    assert call(action) == text


def test_steps_follow_one_another() -> None:
    assert procedure((Action("a", "1"), Action("", "wait"), Action("b", "2"))) == "`a`: `1`; then wait; then `b`: `2`"


@given(st.lists(st.builds(Action, st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text(max_size=80)), max_size=4))
def test_calls_are_read_back(actions: list[Action]) -> None:
    line = procedure(actions)
    assert len(line.splitlines()) <= 1
    said = [" ".join(LINE_BREAK.join(clipped(a.input, INPUT).splitlines()).split()) for a in actions]
    assert calls_in(line) == [f"{a.tool} {given}".strip() for a, given in zip(actions, said, strict=True)]


def test_code_that_is_no_call_stands_for_itself() -> None:
    assert calls_in("When `make` fails: do `shell`: `ls`; not `rm x`") == ["make", "shell ls", "rm x"]


@given(st.text(max_size=2_000), st.integers(3, 500))
def test_a_clipped_text_is_no_longer_than_it_may_be(text: str, most: int) -> None:
    assert len(clipped(text, most)) <= most


def test_a_long_input_is_cut() -> None:
    assert len(call(Action("shell", "x" * 5_000))) <= INPUT + 11
