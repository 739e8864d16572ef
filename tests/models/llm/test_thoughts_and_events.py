"""However a stream is cut into pieces, the same comes out."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.models.llm import sse
from memos.models.llm.sse import Events, TooLong
from memos.models.llm.thoughts import Thoughts, split

SAID = st.lists(
    st.sampled_from(["<think>", "</think>", "<thinking>", "</THINKING>", "<", "thi", " ", "\n", "a", "é", "🦀", "</"]),
    max_size=12,
)


def cut(whole: str | bytes, places: list[int]) -> list:
    edges = sorted({0, len(whole), *(p % (len(whole) + 1) for p in places)})
    return [whole[a:b] for a, b in itertools.pairwise(edges)]


def streamed(pieces: list[str]) -> tuple[str, str]:
    thoughts = Thoughts()
    out = [thoughts.feed(piece) for piece in pieces] + [thoughts.end()]
    return "".join(a for a, _ in out), "".join(t for _, t in out)


@given(SAID, st.lists(st.integers(0, 200), max_size=8))
def test_thinking_is_told_apart_alike_in_any_pieces(said: list[str], places: list[int]) -> None:
    text = "".join(said)
    assert streamed(cut(text, places)) == streamed([text])
    answer, thinking = streamed(list(text))
    assert len(answer) + len(thinking) <= len(text)
    if not text.lstrip().startswith("<"):
        assert answer == text
        assert split(text)[0] in text


@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "text"]), st.text(max_size=8), max_size=2), max_size=5),
    st.lists(st.integers(0, 500), max_size=12),
    st.sampled_from(["\n\n", "\r\n\r\n", "\n"]),
    st.booleans(),
)
def test_events_are_put_together_from_any_bytes(
    events: list[dict[str, str]], places: list[int], end: str, space: bool
) -> None:
    gap = " " if space else ""
    text = f": hello{end}" + "".join(f"event: x{end}data:{gap}{json.dumps(e, ensure_ascii=False)}{end}" for e in events)
    reader = Events()
    got = [data for chunk in cut(text.encode("utf-8", "replace"), places) for data in reader.feed(chunk)]
    got += reader.end()
    want = [json.loads(json.dumps(e, ensure_ascii=False).encode("utf-8", "replace")) for e in events]
    assert [json.loads(data) for data in got] == want
    assert reader.other == ""


def test_the_last_line_needs_no_end_and_other_lines_are_kept() -> None:
    reader = Events()
    assert list(reader.feed(b'{"error":\n"x"}\ndata: 1\nid: 3\ndata: 2')) == ["1"]
    assert list(reader.end()) == ["2"]
    assert json.loads(reader.other) == {"error": "x"}


def test_a_line_without_an_end_is_not_kept_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_LINE", 1000)
    reader = Events()
    for _ in range(10):
        assert list(reader.feed(b"x" * 100)) == []
    with pytest.raises(TooLong):
        list(reader.feed(b"x"))
    assert list(reader.feed(b"\ndata: 1\n")) == ["1"], "and what comes behind it is read"
