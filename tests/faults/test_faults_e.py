"""E. Odd input."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.errors import InvalidInput, ModelError
from memos.memory.hit import SearchStatus
from memos.reading.traces import PART_CHARS, WHOLE_CHARS
from stubs import Constant

FAMILY, FLAG, SKIN = "👩‍👩‍👧", "🇳🇴", "👍🏽"


@pytest.mark.parametrize("text", [
    json.loads('"ok \\ud83d end kayak"'), "\udc00kayak\ud800", "kayak " + "😀" * (WHOLE_CHARS // 2 + 1), "kayak " + "😀" * (PART_CHARS + 1) * 2,
    "kayak " + FAMILY * 700, "x" + FLAG * 1_000 + " kayak", "kayak" + SKIN * 900, "kayak " + "e\u0301" * 1_500, FAMILY + " kayak " + FLAG + SKIN,
])  # fmt: skip
def test_r070_any_text_is_stored_whole_as_valid_unicode(memos: MemOS, text: str) -> None:
    """Half a character crashes the embedder; cutting a text in the middle of an emoji makes one."""
    ids = memos.add(text, wait=True).ids
    stored = "".join(memos.get(i).text for i in ids)
    expected = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert stored.replace(" ", "") == expected.replace(" ", "")
    for memory in memos.list(limit=1_000).items:
        memory.text.encode("utf-8")
        assert not memory.text.startswith(("\u200d", "\U0001f3fd", "\u0301"))
        assert memory.text.count("\U0001f1f3") == memory.text.count("\U0001f1f4")
    result = memos.search("kayak", max_tokens=60)
    assert result.hits[0].id in ids
    for shown in (result.context, result.hits[0].text):
        shown.encode("utf-8")


def test_r070_queries_and_updates_with_half_characters_work(memos: MemOS) -> None:
    """The same, in a question and in a change."""
    (id,) = memos.add("the kayak is teal").ids
    assert len(memos.search("kayak \ud83d")) == 1
    assert memos.update(id, text="the \udc00 kayak").text == "the \ufffd kayak"
    assert memos.update(id, info={"a": ["\ud83d", {"\ud83d": 1}]}).info["a"] == ["\ufffd", {"\ufffd": 1}]


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


@pytest.mark.parametrize(
    ("content", "stored", "noticed"),
    [
        ([{"type": "text", "text": "I own a lute"}, IMAGE], "I own a lute\n[image: a.png]", ""),
        (["bare words here"], "bare words here", "bare"),
        ([{"type": "text"}, {"type": "text", "text": "I own a lute"}], "I own a lute", "without text"),
        ([{"type": "hologram", "text": "x"}, {"type": "text", "text": "I own a lute"}], "I own a lute", "hologram"),
        ([], None, "blank"),
        ([{"type": "text"}], None, "without text"),
        ([{"type": "hologram"}], None, "hologram"),
    ],
)
def test_r073_parts_of_content_are_read_or_skipped_with_a_notice(
    memos: MemOS, content: Any, stored: str | None, noticed: str
) -> None:
    """A content given as a list of parts crashes."""
    if stored is None:
        with pytest.raises(InvalidInput, match=noticed):
            memos.add({"role": "user", "content": content})
        assert memos.list().items == ()
        return
    result = memos.add({"role": "user", "content": content})
    assert [m.text for m in memos.list(kinds=["trace"]).items] == [stored]
    assert noticed in " ".join(result.notices)


BLANK = ["", " ", "\u200b", "\u3000", "\n", "\t\r\n", "\ufeff", "\u2060\u00ad", "\x00\x1f"]


@pytest.mark.parametrize("content", BLANK)
def test_r075_blank_content_leaves_no_row(memos: MemOS, content: str) -> None:
    """Blank content is accepted and leaves a ghost, or answers success with no id."""
    for messages in (
        content,
        {"role": "user", "content": content},
        [content, {"role": "assistant", "content": content}],
        [],
    ):
        with pytest.raises(InvalidInput):
            memos.add(messages)
    assert memos.list(include_inactive=True).items == () and memos.stats().store.memories == 0
    result = memos.add(["the kayak is teal", content])
    assert len(result.ids) == 1 and "messages[1]" in result.notices[0]
    with pytest.raises(InvalidInput):
        memos.update(result.ids[0], text=content)


def test_r075_the_command_line_says_so_too(command: Callable[..., tuple[int, Any]]) -> None:
    """The same by the command line."""
    for content in ("", " ", "\u200b"):
        code, answer = command("add", content)
        assert code == 2 and "id" not in answer
    assert command("list") == (0, {"items": [], "cursor": None, "left_out": 0})


@pytest.mark.parametrize("limit", [0, -1, 10**9, 10**30, 1.5, "5", True])
@pytest.mark.parametrize("verb", ["search", "list", "neighbors", "explain"])
def test_r077_a_limit_that_cannot_be_meant_is_refused(memos: MemOS, verb: str, limit: Any) -> None:
    """An unbounded limit takes all memory."""
    (id,) = memos.add("the kayak is teal").ids
    call: dict[str, Callable[[], Any]] = {
        "search": lambda: memos.search("kayak", limit=limit),
        "list": lambda: memos.list(limit=limit),
        "neighbors": lambda: memos.neighbors(id, limit=limit),
        "explain": lambda: memos.explain("kayak", id, limit=limit),
    }
    with pytest.raises(InvalidInput, match="limit"):
        call[verb]()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e30, 0.0])
def test_r077_a_model_that_answers_nonsense_never_reaches_a_score(home: Path, value: float) -> None:
    """An infinite score breaks the answer."""
    with MemOS(home, embedder=Constant(value), background=False) as memos:
        ids = memos.add(["the kayak is teal", "the kayak is teal, I say", "an oak on a hill"]).ids
        if value:
            with pytest.raises(ModelError, match="finite"):
                memos.flush()
            assert sum(memos.stats().store.vectors.values()) == 0
        else:
            memos.flush()
        result = memos.search("kayak")
        assert result.status is SearchStatus.FOUND and result.hits[0].id == ids[0]
        numbers = [x for h in result for x in (h.score, *h.why.values())] + [result.best_score]
        numbers += memos.explain("kayak", ids[2]).features.values()
        assert all(math.isfinite(n) for n in numbers)
        assert all(0 <= h.score <= 1 for h in result)


def test_r077_every_answer_of_the_command_line_is_strict_json(
    command: Callable[..., tuple[int, Any]], home: Path, tmp_path: Path
) -> None:
    """The same, as JSON."""
    code, added = command("add", 'the "kayak" is \\ teal \u2028 \ud83d 😀 \x07')
    assert code == 0
    id = added["records"][0]["id"]
    for args in (("search", "kayak"), ("search", "kayak", "--max-tokens", "50"), ("explain", "kayak", id), ("list",), ("get", id), ("history", id),
                 ("stats",), ("neighbors", id), ("doctor",), ("config",), ("cubes", "list"), ("export", str(tmp_path / "x.zip")), ("delete", id)):  # fmt: skip
        code, answer = command(*args)
        assert code == 0 and isinstance(answer, (dict, list)), (args, answer)
    for args in (
        ("search", "kayak", "--limit", "99999"),
        ("list", "--cursor", "x"),
        ("search", ""),
        ("get", id),
        ("search", "x", "--as-of", "soon"),
    ):
        code, answer = command(*args)
        assert code != 0 and isinstance(answer, dict), (args, answer)
