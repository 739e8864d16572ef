"""What models really send is read; whatever else is sent, reading says so, at once."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_json import FACT, SAID_WELL
from memos.models.llm.parsing import NotJson, parse, values_in, without_thoughts


@pytest.mark.parametrize("text", SAID_WELL.values(), ids=SAID_WELL.keys())
def test_the_same_fact_is_read_from_every_way_to_say_it(text: str) -> None:
    assert parse(text).value == FACT
    assert not parse(text).cut


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"facts": [{"a": 1}, {"a": 2}, {"a": 3', {"facts": [{"a": 1}, {"a": 2}]}),
        ('{"facts": [{"a": 1}, {"a": 2}, {"a": "thr', {"facts": [{"a": 1}, {"a": 2}]}),
        ('{"facts": [{"a": 1}, {"a": 2}', {"facts": [{"a": 1}, {"a": 2}]}),
        ('{"facts": [{"a": 1}, {"a": 2}]', {"facts": [{"a": 1}, {"a": 2}]}),
        ('{"topic": "x", "facts": [{"a": 1, "b": [1, 2', {"topic": "x", "facts": [{"a": 1, "b": [1]}]}),
        ('```json\n[{"a": 1}, {"a": 2}, {"a"', [{"a": 1}, {"a": 2}]),
        ('{"name": "Ann", "age": 3', {"name": "Ann"}),
        ('{"s": [{"f": [1, 2]}, {"f": [3, ', {"s": [{"f": [1, 2]}]}),
        ('{"facts": [{"a": 1}, {"a": 2}}', {"facts": [{"a": 1}, {"a": 2}]}),
    ],
)
def test_of_a_cut_answer_what_is_complete_is_kept_and_told(text: str, value: object) -> None:
    found = parse(text)
    assert found.value == value
    assert found.cut


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "he said "hi" to me"}', {"a": 'he said "hi" to me'}),
        ('{"a": "braces } in { a ] string"}', {"a": "braces } in { a ] string"}),
        ('{"a": "line\nbreak\tand tab"}', {"a": "line\nbreak\tand tab"}),
        ('{"a": "nul\\u0000 and \\u0007bell"}', {"a": "nul and bell"}),
        ('{"a": "half \\ud83e of one"}', {"a": "half \ufffd of one"}),
        ("{'a': \"half \\ud83e of one, whole \\ud83e\\udd80\",}", {"a": "half \ufffd of one, whole 🦀"}),
        ("{a: 1, b_c: 'x', d: +2.5e1, e: -Infinity, f: NaN}", {"a": 1, "b_c": "x", "d": 25.0, "e": None, "f": None}),
        ('{"a": NaN}', {"a": None}),
        ('{"a": "C:\\path\\_x"} ', {"a": "C:\\path\\_x"}),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
        ("[{'a': 1} {'a': 2}]", [{"a": 1}, {"a": 2}]),
        ('{"a": [1, 2,,], /* why */ "b": 1, // so\n # and so\n}', {"a": [1, 2], "b": 1}),
        ("Sure: {'name': 'O\\'Brien', 'it': 'it's fine'}!", {"name": "O'Brien", "it": "it's fine"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": "<think>not a thought</think>"}', {"a": "<think>not a thought</think>"}),
        ("{“a”: “说“好”的 \\u4f60”, “b”: ‘x’}", {"a": "说“好”的 你", "b": "x"}),
    ],
)
def test_odd_signs(text: str, value: object) -> None:
    assert parse(text).value == value


def test_every_value_of_a_text_is_offered_the_complete_ones_first() -> None:
    text = 'As in [1] and {see}: ```{"a": 1}``` or {"b": 2}; then {"c": [1, 2'
    assert [(p.value, p.cut) for p in values_in(text)] == [
        ([1], False),
        ({"a": 1}, False),
        ({"b": 2}, False),
        ({"c": [1]}, True),
    ]


@pytest.mark.parametrize(
    "text", ["", "  ", "I cannot do that.", "{", "[", "<think>{'a': 1}", "{]", "12", '"text"', "null", "[" * 5000]
)
def test_no_value_is_said_and_nothing_of_the_text(text: str) -> None:
    with pytest.raises(NotJson) as caught:
        parse(text)
    assert "cannot do" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("b<think>a", "b"),
        ("<Thinking mode='x'>a</thinking >b", "b"),
        ("<think>a<think>b</think>c</think>d", "d"),
        ("b</think>", "b"),
        ("<think>b</think>", ""),
        ("a<thinker>b", "a<thinker>b"),
    ],
)
def test_thoughts_are_left_out(text: str, left: str) -> None:
    assert without_thoughts(text).strip() == left


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)
CONTAINERS = st.lists(JSON, max_size=4) | st.dictionaries(st.text("abc 你“'`", max_size=4), JSON, max_size=4)


@given(CONTAINERS, st.booleans(), st.sampled_from([None, 1]))
def test_json_is_read_as_json(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse(text).value == value
    assert parse(f"Here you are:\n```json\n{text}\n```\nAnything else?").value == value or _has_words(value)


def _has_words(value: object) -> bool:
    """Whether a string could be taken for the end of another: quotes within strings are read by what follows them."""
    return '\\"' in json.dumps(value)


@given(st.text("{}[]\"'`:,\\ \n/*#a1-.u“”<>thinktrue", max_size=200))
def test_nothing_but_its_own_error(text: str) -> None:
    with contextlib.suppress(NotJson):
        parse(text)
    for found in values_in(text):
        json.dumps(found.value).encode()


@given(CONTAINERS, st.data())
def test_a_cut_answer_holds_nothing_that_was_not_said(value: object, data: st.DataObject) -> None:
    text = json.dumps({"facts": [{"x": 1}, value]})
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for found in values_in(cut):
        assert found.cut or found.value != {"facts": [{"x": 1}, value]}
        if isinstance(found.value, dict) and "facts" in found.value:
            assert found.value["facts"] in ([], [{"x": 1}], [{}], [{"x": 1}, value])


HOSTILE = {
    "open brackets": "[",
    "open braces": "{",
    "keys": '{"a":',
    "quotes": '["',
    "escaped quotes": '"\\"',
    "pairs": "[],",
    "nested pairs": "[[1],",
    "remarks": "[/*",
    "line remarks": "[//",
    "hashes": "{#\n",
    "thoughts": "<think>",
    "ends of thoughts": "</think>",
    "half tags": "<think ",
    "single quotes": "{'",
    "smart quotes": "{“",
    "digits": "[1",
    "words": "{true",
    "spaces": "[ \n",
    "backslashes": '["\\',
    "mixed": "{\"a\":[{'b':",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_megabyte_of_garbage_takes_no_longer_than_its_length(unit: str) -> None:
    """Four times the text may take eight times as long, not sixteen."""

    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        begun = time.process_time()
        for _ in values_in(text):
            pass
        return time.process_time() - begun

    small, large = seconds(100_000), seconds(400_000)
    assert large < 8 * small + 0.2
