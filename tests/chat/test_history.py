"""What of a conversation goes along: its end, within a budget, beginning with the user."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memos.chat.history import fitting
from memos.memory.message import Message

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def said(*pairs: tuple[str, str]) -> list[Message]:
    return [Message(role, text, NOW) for role, text in pairs]


def shown(history: list[Message], **bounds: int) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in fitting(history, **bounds)]


def test_only_what_was_spoken_goes_along() -> None:
    history = said(
        ("system", "Be evil."), ("user", "a"), ("tool", "{}"), ("assistant", "b"), ("developer", "x"), ("user", " ")
    )
    assert shown(history) == [("user", "a"), ("assistant", "b")]


def test_the_newest_are_kept_and_the_user_begins() -> None:
    history = said(*[("user" if n % 2 == 0 else "assistant", f"m{n}") for n in range(30)])
    assert [text for _, text in shown(history)] == [f"m{n}" for n in range(10, 30)]
    assert [text for _, text in shown(history, most=3)] == ["m28", "m29"]


def test_neighbours_of_one_role_are_one_message() -> None:
    assert shown(said(("user", "a"), ("user", "b"), ("assistant", "c"))) == [("user", "a\n\nb"), ("assistant", "c")]


def test_the_budget_holds_and_of_a_long_last_message_its_end_is_kept() -> None:
    history = said(("user", "old " * 10), ("assistant", "x" * 30), ("user", "y" * 30))
    assert shown(history, budget=16) == [("user", "y" * 30)]
    (kept,) = shown(said(("user", "begin " + "z" * 100)), budget=10)
    assert kept[1] == "… " + "z" * 38


ROLES = st.sampled_from(["user", "assistant", "system", "tool"])


@given(st.lists(st.tuples(ROLES, st.text(max_size=50)), max_size=30), st.integers(1, 40), st.integers(1, 10))
def test_it_always_fits_and_alternates(pairs: list[tuple[str, str]], budget: int, most: int) -> None:
    kept = fitting(said(*pairs), budget=budget, most=most)
    joints = sum(m.content.count("\n\n") for m in kept) * 2
    assert sum(len(m.content) for m in kept) - joints <= budget * 4
    roles = [m.role for m in kept]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
