"""The SQL of a filter is true of exactly the memories for which the Python evaluator is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.memory.fields import FIELDS, OPS_OF, Field, FieldType, Op
from memos.memory.filter import And, Compare, Filter, Not, Or, matches, parse_filter
from memos.memory.ids import id_to_bytes
from memos.memory.model import Kind, Layer, Memory, Origin, Status
from memos.memory.time import to_micros
from memos.storage.sqlite.where import compile_where, install_functions

COLUMNS = (
    "id", "kind", "layer", "status", "text", "title", "session", "owner", "role", "speaker", "message_id", "slot",
    "origin",
    "trust", "confidence", "importance", "version", "seen", "valid_from", "valid_to", "recorded_at", "known_from",
    "tags",
    "info", "body",
)  # fmt: skip
TYPES = {
    "id": "BLOB", **dict.fromkeys(("trust", "confidence", "importance"), "REAL"),
    **dict.fromkeys(("version", "seen", "valid_from", "valid_to", "recorded_at", "known_from"), "INTEGER"),
}  # fmt: skip

TEXT = "TEXT"
WORDS = st.sampled_from(
    ["a", "A", "ab", "É", "é", "ß", "SS", "茶馆", "馆", "😀", "Z\u0307", "", "1", "true", 'q"\\%_', "\x00n", "\n"]
)
KEYS = st.sampled_from(["a", "b", "A", 'q"k', "back\\slash", "sp ace", "键", "0", "$", "[0]", "\x01", "é", "it's", "#"])
NUMBERS = st.sampled_from(
    [
        0,
        1,
        -1,
        2,
        0.0,
        -0.0,
        0.5,
        1.5,
        2**53,
        2**53 + 1,
        float(2**53),
        2**63 - 1,
        2**63,
        -(2**63),
        2**70,
        5e-324,
        0.1 + 0.2,
    ]
)
SCALARS = st.none() | st.booleans() | NUMBERS | WORDS
JSON_VALUES = (
    SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=2), max_size=2)
)
OBJECTS = st.dictionaries(KEYS, JSON_VALUES, max_size=3)
IDS = st.sampled_from([f"0190a3c2-0000-7000-8000-00000000000{n}" for n in range(3)])
TIMES = st.sampled_from(
    [datetime(2031, 3, 1, 0, 30, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC), datetime(2031, 3, 1, 0, 30, 0, 1, UTC)]
)
CHOICES = {"kind": Kind, "layer": Layer, "status": Status, "origin": Origin}
MAYBE_WORDS, MAYBE_TIMES = st.none() | WORDS, st.none() | TIMES

MEMORIES = st.builds(
    Memory, id=IDS, kind=st.sampled_from(Kind), text=WORDS, title=MAYBE_WORDS,
    tags=st.lists(WORDS, max_size=3).map(tuple),
    status=st.sampled_from(Status), valid_from=MAYBE_TIMES, valid_to=MAYBE_TIMES, recorded_at=TIMES, known_from=TIMES,
    version=st.integers(1, 3), confidence=st.sampled_from([0.0, 0.5, 1.0]), importance=st.sampled_from([0.0, 0.5]),
    origin=st.sampled_from(Origin), trust=st.sampled_from([0.3, 1.0]), owner=MAYBE_WORDS, session=MAYBE_WORDS,
    role=MAYBE_WORDS,
    speaker=MAYBE_WORDS, message_id=MAYBE_WORDS, slot=MAYBE_WORDS, seen=st.integers(1, 2), info=OBJECTS, body=OBJECTS,
)  # fmt: skip

VALUES: dict[FieldType, Any] = {
    FieldType.ID: IDS, FieldType.STRING: WORDS, FieldType.STRINGS: WORDS, FieldType.NUMBER: NUMBERS,
    FieldType.TIME: TIMES,
    FieldType.JSON: st.booleans() | NUMBERS | WORDS,
}  # fmt: skip
FIELDS_ST = st.sampled_from(sorted(FIELDS)).map(Field) | st.builds(
    lambda root, path: Field(root, tuple(path)),
    st.sampled_from(["info", "body"]),
    st.lists(KEYS, min_size=1, max_size=2),
)


@st.composite
def conditions(draw: st.DrawFn) -> Compare:
    field = draw(FIELDS_ST)
    op = draw(st.sampled_from(sorted(OPS_OF[field.type])))
    values = st.sampled_from(CHOICES[field.name]).map(str) if field.name in CHOICES else VALUES[field.type]
    if op is Op.EXISTS:
        return Compare(field, op, draw(st.booleans()))
    if op in (Op.IN, Op.NIN):
        return Compare(field, op, tuple(draw(st.lists(values | st.none(), min_size=op is Op.NIN, max_size=4))))
    if op is Op.CONTAINS and draw(st.booleans()):
        return Compare(field, op, tuple(draw(st.lists(values, min_size=1, max_size=2))))
    if op is Op.LIKE:
        return Compare(field, op, draw(WORDS))
    if op in (Op.EQ, Op.NE):
        return Compare(field, op, draw(values | st.none()))
    return Compare(
        field, op, draw(values.filter(lambda value: not isinstance(value, bool)) if op != Op.CONTAINS else values)
    )


FILTERS: st.SearchStrategy[Filter] = st.recursive(
    conditions(),
    lambda inner: st.builds(Not, inner) | st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple))
    | st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    max_leaves=5,
)  # fmt: skip


def table() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    install_functions(db)
    db.execute(f"CREATE TABLE m(n INTEGER PRIMARY KEY, {', '.join(f'{c} {TYPES.get(c, TEXT)}' for c in COLUMNS)})")
    return db


def insert(db: apsw.Connection, n: int, memory: Memory) -> None:
    def stored(column: str) -> Any:
        value = getattr(memory, column)
        if column == "id":
            return id_to_bytes(value)
        if column in ("info", "body"):
            return json.dumps(dict(value), ensure_ascii=False) if value else None
        if column == "tags":
            return json.dumps(value, ensure_ascii=False)
        return to_micros(value) if isinstance(value, datetime) else str(value) if isinstance(value, str) else value

    db.execute(f"INSERT INTO m VALUES({', '.join('?' * (len(COLUMNS) + 1))})", (n, *map(stored, COLUMNS)))


def selected(db: apsw.Connection, filter: Filter | None) -> set[int]:
    sql, params = compile_where(filter)
    return {row[0] for row in db.execute(f"SELECT m.n FROM m WHERE {sql}", params)}


@settings(max_examples=400, deadline=None)
@given(st.lists(MEMORIES, min_size=1, max_size=4), st.lists(FILTERS, min_size=1, max_size=8))
def test_sql_selects_exactly_what_the_evaluator_accepts(memories: list[Memory], filters: list[Filter]) -> None:
    db = table()
    for n, memory in enumerate(memories):
        insert(db, n, memory)
    for condition in filters:
        assert selected(db, condition) == {n for n, memory in enumerate(memories) if matches(condition, memory)}, (
            condition
        )


@settings(max_examples=100, deadline=None)
@given(st.integers() | st.floats(allow_nan=False), st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_any_two_numbers_compare_alike(stored: float, asked: float) -> None:
    db = table()
    at = datetime(2031, 3, 1, tzinfo=UTC)
    memory = Memory(
        "0190a3c2-0000-7000-8000-000000000000", Kind.FACT, "", recorded_at=at, known_from=at, info={"x": stored}
    )
    insert(db, 0, memory)
    for op in ("eq", "gt", "gte", "lt", "lte"):
        condition = parse_filter({"info.x": {op: asked}})
        assert condition is not None
        assert bool(selected(db, condition)) == matches(condition, memory), op


def test_no_filter_selects_everything() -> None:
    db = table()
    db.execute("INSERT INTO m(n) VALUES(1), (2)")
    assert selected(db, None) == {1, 2}


def test_like_folds_case_beyond_ascii() -> None:
    db = table()
    db.execute(
        'INSERT INTO m(n, text, tags, info) VALUES(1, \'Große Straße\', \'["ÉTÉ"]\', \'{"k": ["Ёлка"], "s": "ÇA"}\')'
    )
    for condition in (
        {"text": {"like": "STRASSE"}},
        {"tags": {"like": "été"}},
        {"info.k": {"like": "ёЛ"}},
        {"info.s": {"like": "ç"}},
    ):
        assert selected(db, parse_filter(condition)) == {1}


def test_lists_longer_than_the_parameter_limit_work() -> None:
    db = table()
    ids = [f"0190a3c2-0000-7000-8000-{n:012d}" for n in range(40_000)]
    db.execute(
        "INSERT INTO m(n, id, owner, tags, info) VALUES(1, ?, 'u39999', '[\"u5\"]', '{\"k\": 39999}')",
        (id_to_bytes(ids[-1]),),
    )
    for condition in (
        {"id": {"in": ids}}, {"owner": {"in": [f"u{n}" for n in range(40_000)]}},
        {"tags": {"in": [f"u{n}" for n in range(40_000)]}},
        {"info.k": {"in": list(range(40_000))}},
    ):  # fmt: skip
        assert selected(db, parse_filter(condition)) == {1}
        assert selected(db, parse_filter({"not": condition})) == set()


def test_five_hundred_conditions_compile_within_sqlites_limits() -> None:
    db = table()
    db.execute("INSERT INTO m(n, owner) VALUES(1, 'u499')")
    assert selected(db, parse_filter({"or": [{"owner": f"u{n}"} for n in range(500)]})) == {1}
    deep: Any = {"or": [{"info.k": {"nin": ["x", 1, None]}} for _ in range(400)]}
    for _ in range(30):
        deep = {"not": deep}
    selected(db, parse_filter(deep))


@pytest.mark.parametrize("text", ["x'); DROP TABLE m; --", "' OR 1=1 --", '"', "?1", "%"])
def test_no_user_text_reaches_the_sql(text: str) -> None:
    for condition in (
        {"owner": text},
        {f"info.{text.replace('.', '')}": text},
        {"tags": {"contains": text}},
        {"text": {"like": text}},
    ):
        parsed = parse_filter(condition)
        assert parsed is not None
        sql, _ = compile_where(parsed)
        assert text not in sql or text == "?1" or text == '"'
        selected(table(), parsed)
