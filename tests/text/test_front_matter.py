"""Front matter: what is written is read back, real files are read, and what could be more than texts is refused."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.text.front_matter import MOST_CHARACTERS, join, split

KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)
TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=60)


@example({}, "a\r")
@given(st.dictionaries(KEYS, TEXTS | st.dictionaries(KEYS, TEXTS, min_size=1, max_size=4), max_size=5), TEXTS)
def test_what_is_written_is_read_back(values: dict[str, str | dict[str, str]], body: str) -> None:
    text = join(values, body)  # type: ignore[arg-type]
    found, rest = split(text)
    assert found == values
    assert rest == body.replace("\r\n", "\n").strip("\r\n")


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidInput):
        split(f"---\n{text}\n---\nx")


def test_the_ways_in_which_people_write_it() -> None:
    text = """---
# a comment
name: pdf-tools   # what it is called
description: >-
  Reads PDF files and
  fills forms.

  Use it: always
license: 'It''s free'
compatibility: "needs \\"git\\"\\tand \\u4f60\\ud83e\\udded"
long: this goes on
  in the next line
metadata:
  author: example-org
  version: "1.0"
  note: |
    two
     lines
allowed-tools: Bash(git:*) Read
list:
- one
- "two, three"
flow: [a, 'b c', "d,e"]
empty:
---

# Body
---
more
"""
    found, body = split(text.replace("\n", "\r\n"))
    assert found == {
        "name": "pdf-tools",
        "description": "Reads PDF files and fills forms.\nUse it: always",
        "license": "It's free",
        "compatibility": 'needs "git"\tand 你🧭',
        "long": "this goes on in the next line",
        "metadata": {"author": "example-org", "version": "1.0", "note": "two\n lines"},
        "allowed-tools": "Bash(git:*) Read",
        "list": ["one", "two, three"],
        "flow": ["a", "b c", "d,e"],
        "empty": "",
    }
    assert body == "# Body\n---\nmore"


@pytest.mark.parametrize(
    "front",
    [
        "name: !!python/object/apply:os.system [id]",
        "name: &a x\nother: *a",
        "a: *a",
        "? complex\n: key",
        "%YAML 1.2",
        "name: {a: b}",
        "name: x\nname: y",
        "metadata:\n  a: 1\n  a: 2",
        "\tname: x",
        "metadata:\n\tname: x",
        "name: 'x",
        'name: "\\ud800"',
        'name: "\\q"',
        'name: "\\u12"',
        "name: x\n   other: y",
        "just a sentence",
        "list: [a, [b]]",
        "list: [a",
        "list:\n  - a\n  b: c",
        "name: @x",
        "name: `x`",
        'name: "x" y',
        "<<: *default",
    ],
)
def test_what_is_more_than_texts_is_refused(front: str) -> None:
    with pytest.raises(InvalidInput):
        split(f"---\n{front}\n---\nbody")


@pytest.mark.parametrize("text", ["", "# no front matter", "---\nname: x", "--- x\nname: y\n---", " ---\nname: x\n---"])
def test_a_file_without_front_matter_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        split(text)


@pytest.mark.parametrize(
    "front",
    [
        "a: [" + "x," * 32_000 + "]",
        "a: '" + "x\n" * 1_900,
        "a: " + "x\n  " * 1_900 + "y",
        'a: "' + "\\" * 60_000,
        "a: >\n" + "  x\n\n" * 900,
        "- " * 30_000,
        "a:" + " " * 60_000 + "# b",
        "a b" * 20_000,
    ],
)
def test_long_front_matter_takes_no_time(front: str) -> None:
    begun = time.perf_counter()
    with contextlib.suppress(InvalidInput):
        split(f"---\n{front}\n---\n")
    assert time.perf_counter() - begun < 2


def test_endless_front_matter_is_refused() -> None:
    with pytest.raises(InvalidInput, match="characters"):
        split("---\na: " + "x" * MOST_CHARACTERS + "\n---\n")
    with pytest.raises(InvalidInput, match="end"):
        split("---\n" + "a: b\n" * 3_000 + "---\n")
