"""Whatever a file holds, a reader gives items or refuses it: it never breaks, and never stores what cannot be stored."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from exports import chats, claude_conversation, claude_message
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.moving.json_stream import elements
from memos.moving.sources import named
from memos.moving.spool import Spool

KINDS = ("memos-jsonl", "mcp-memory", "chatgpt", "claude", "mem0", "chat", "markdown", "table")
WORDS = (
    "role content text mapping message messages author parent current_node chat_messages uuid memory results metadata type entity "
    "kind body parts part created_at id name tags"
)
KEYS = st.sampled_from(WORDS.split())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=5),
    max_leaves=25,
)
SEEDS = [
    chats(1, 2)[0],
    claude_conversation("t", claude_message("m", "human", "Hi", "2025-06-26T15:00:00Z", "x")),
    {"id": "1", "memory": "Likes tea", "user_id": "ada", "metadata": {}},
    {"type": "memory", "kind": "trace", "text": "hello", "body": {"part": 0, "parts": 2, "start": 0}},
    {"role": "user", "content": [{"type": "text", "text": "x"}], "session": "s"},
]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A good record with some of it replaced by anything."""
    value = json.loads(json.dumps(draw(st.sampled_from(SEEDS))))
    for _ in range(draw(st.integers(1, 4))):
        at = value
        while isinstance(at, (dict, list)) and at:
            key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
            if draw(st.booleans()) or not isinstance(at[key], (dict, list)):
                at[key] = draw(JSON)
                break
            at = at[key]
    return value


def swallowed(kind: str, data: bytes, name: str = "x.json") -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        source, spool = named(kind), Spool(kind)
        try:
            source.fits(path)
            for item in source.read(path):
                spool.take(item)
            report = spool.report(kind, "", "", dry_run=True)
            assert sum(1 for _ in spool.items()) == report.items
        except InvalidInput:
            pass
        finally:
            spool.close()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(data=st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
@example(data=b'text,date\n"a""\n,,')
@example(data=b"---\n---\n# \n#\n```\n")
def test_any_bytes(kind: str, data: bytes) -> None:
    swallowed(kind, data)


@pytest.mark.parametrize("kind", KINDS[:6])
@settings(max_examples=60)
@given(value=damaged() | JSON, lines=st.booleans())
def test_any_json(kind: str, value: Any, lines: bool) -> None:
    text = json.dumps(value) if lines else json.dumps([value])
    swallowed(kind, text.encode() + b"\n" + (text.encode() if lines else b""))


@settings(max_examples=60)
@given(
    value=st.lists(JSON, max_size=6) | st.dictionaries(st.text(max_size=5), JSON, max_size=6),
    indent=st.sampled_from((None, 1)),
    most=st.integers(1, 7),
)
def test_a_stream_of_json_says_what_the_whole_says(value: Any, indent: int | None, most: int) -> None:
    class Slow:
        """Gives a few bytes at a time."""

        def __init__(self, data: bytes) -> None:
            self.data = data

        def read(self, _: int) -> bytes:
            given, self.data = self.data[:most], self.data[most:]
            return given

    whole = json.loads(json.dumps(value))
    out: Any = (
        [] if isinstance(whole, list) else {key: [] if isinstance(one, list) else None for key, one in whole.items()}
    )
    for element in elements(Slow(json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "replace")), "x"):  # type: ignore[arg-type]
        if isinstance(out, list):
            out.append(element.value)
        elif element.index < 0:
            out[element.key] = element.value
        else:
            out[element.key].append(element.value)
    assert repr(out) == repr(whole)
