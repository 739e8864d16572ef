"""JSON that is edited in place: what is not edited stays byte for byte, comments and commas included."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.hosts.jsonc import Document

TEXT = """// of mine
{
  "model": "opus", // the best
  /* hooks */
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]}, // loud
    ],
  },
}
"""

NAMES = st.sampled_from(["hooks", "Stop", "env", "a b", "é", "mcpServers", "x"])
SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(max_size=6)
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=3), max_leaves=8)
BLANKS = st.sampled_from(["", " ", "\n", "\n  ", " // c, [ {\n", "/* , */", " /* ] */ \n\t"])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """A value as somebody may write it: blanks, comments and trailing commas anywhere."""
    blank = lambda: draw(BLANKS)  # noqa: E731
    if isinstance(value, dict):
        parts = [
            f"{blank()}{json.dumps(k, ensure_ascii=False)}{blank()}:{blank()}{draw(written(v))}{blank()}"
            for k, v in value.items()
        ]
        opening, closing = "{", "}"
    elif isinstance(value, list):
        parts, opening, closing = [f"{blank()}{draw(written(v))}{blank()}" for v in value], "[", "]"
    else:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    trailing = "," + blank() if parts and draw(st.booleans()) else ""
    return opening + (",".join(parts) or blank()) + trailing + closing


@st.composite
def documents(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    value = draw(st.dictionaries(NAMES, VALUES, max_size=4))
    return value, draw(BLANKS) + draw(written(value)) + draw(BLANKS)


@given(documents())
def test_what_people_write_is_read_as_json_says(document: tuple[dict[str, Any], str]) -> None:
    value, text = document
    assert Document(text).value == value


@given(documents(), NAMES, VALUES)
def test_a_member_put_and_dropped_leaves_the_rest(document: tuple[dict[str, Any], str], name: str, new: Any) -> None:
    value, text = document
    edited = Document(text)
    edited.put((name,), new)
    assert edited.value == {**value, name: new}
    edited.drop((name,))
    assert edited.value == {k: v for k, v in value.items() if k != name}
    for mark in ("// c, [ {", "/* , */", "/* ] */"):
        assert edited.text.count(mark) == text.count(mark) or name in value


@given(documents(), NAMES, VALUES)
def test_an_item_appended_and_dropped_leaves_every_comment(
    document: tuple[dict[str, Any], str], name: str, new: Any
) -> None:
    value, text = document
    edited = Document(text)
    if not isinstance(value.get(name, []), list):
        with pytest.raises(InvalidInput):
            edited.append((name,), new)
        return
    edited.append((name,), new)
    assert edited.value == {**value, name: [*value.get(name, []), new]}
    edited.drop((name, len(value.get(name, []))))
    assert edited.value == {**value, name: value.get(name, [])}
    for mark in ("// c, [ {", "/* , */", "/* ] */"):
        assert edited.text.count(mark) == text.count(mark)


def test_an_edit_keeps_comments_layout_and_trailing_commas() -> None:
    edited = Document(TEXT)
    edited.append(("hooks", "Stop"), {"hooks": []})
    assert edited.text == TEXT.replace("// loud\n", '// loud\n      {\n        "hooks": []\n      }\n')
    edited.drop(("hooks", "Stop", 1))
    assert edited.text == TEXT.replace("}]}, //", "}]} //")


@pytest.mark.parametrize(
    "text", ["{", '{"a" 1}', '{"a": 1} x', "{'a': 1}", '{"a": 1,, "b": 2}', "/* {}", '{"a": 1, "a": 2}', "[" * 999]
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Document(text)
