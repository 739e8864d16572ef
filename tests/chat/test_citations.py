"""Citations are passed on whole, in pieces of any size, and those of no known memory are left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memos.chat.citations import Citations, without_citations

KNOWN = ("[1:9f2c01ab]", "[12:00000000]")
PIECES = st.lists(
    st.sampled_from(
        [*KNOWN, "[2:deadbeef]", "[1:9f2c01a", "[", "]", "1", ":", "[[1:9f2c01ab]", "said ", "茶", "[x", "[12345:"]
    )
)


def passed(text: str, size: int) -> list[str]:
    cited = Citations(KNOWN)
    pieces = [cited.feed(text[i : i + size]) for i in range(0, len(text), size)]
    return [piece for piece in (*pieces, cited.end()) if piece]


def test_one_is_whole_whatever_the_pieces() -> None:
    text = "You live in Bergen [1:9f2c01ab], since May[12:00000000]."
    for size in range(1, len(text) + 1):
        pieces = passed(text, size)
        assert "".join(pieces) == text
        assert all(any(mark in piece for piece in pieces) for mark in KNOWN)


def test_what_only_looks_like_one_is_text() -> None:
    for text in ("a [1] b", "list[1:2]", "[1:xyz]", "x [", "[12:", "array[10000:00000000]", "[see 1:9f2c01ab]"):
        assert "".join(passed(text, 1)) == text


def test_an_unknown_one_is_left_out() -> None:
    assert "".join(passed("Oslo [2:deadbeef].", 3)) == "Oslo ."


@given(PIECES, st.integers(1, 9))
def test_pieces_change_nothing(parts: list[str], size: int) -> None:
    text = "".join(parts)
    assert "".join(passed(text, size)) == "".join(passed(text, max(1, len(text))))


@given(PIECES, st.integers(1, 9))
def test_no_known_one_is_ever_in_two_pieces(parts: list[str], size: int) -> None:
    pieces = passed("".join(parts), size)
    assert sum(piece.count(mark) for piece in pieces for mark in KNOWN) == sum(
        "".join(pieces).count(mark) for mark in KNOWN
    )


def test_stored_answers_have_none() -> None:
    assert without_citations("You live in Bergen [1:9f2c01ab]. [2] stays") == "You live in Bergen. [2] stays"
