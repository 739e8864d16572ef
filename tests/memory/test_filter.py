"""The filter language: what is read, what is refused and with which help, and what each operator means."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from memos.errors import InvalidFilter
from memos.memory.filter import And, Compare, Field, Not, Op, Or, matches, parse_filter, to_json
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory

ID = new_id()
AT = datetime(2031, 3, 1, 0, 30, tzinfo=UTC)
INFO = {
    "s": "Oslo", "i": 7, "f": 2.5, "t": True, "n": None, "list": ["a", "B", 1, False], "deep": {"er": {"key": "x"}},
    "empty": [],
    "big": 2**70, "we\"ird key": 1,
}  # fmt: skip
MEMORY = Memory(
    id=ID, kind=Kind.FACT, text="The boiler serial is HK-902", tags=("work", "Home"), owner="ann", trust=0.5,
    version=3,
    recorded_at=AT, known_from=AT, valid_from=AT - timedelta(days=1), info=INFO, body={"slot": {"value": "x"}},
)  # fmt: skip


def holds(condition: Any) -> bool:
    return matches(parse_filter(condition), MEMORY)


@pytest.mark.parametrize(
    "condition",
    [
        {"owner": "ann"}, {"user_id": "ann"}, {"id": ID.upper()}, {"kind": "fact"}, {"layer": "derived"},
        {"memory_type": "LongTermMemory"},
        {"memory_type": {"in": ["UserMemory", "LongTermMemory"]}}, {"type": {"ne": "UserMemory"}},
        {"status": {"in": ["active"]}},
        {"tags": "work"}, {"tags": {"contains": "work"}}, {"tags": {"contains": ["work", "Home"]}},
        {"tags": {"in": ["x", "Home"]}},
        {"tags": {"ne": "home"}}, {"tags": {"like": "HOM"}}, {"tags": {"exists": True}}, {"title": {"exists": False}},
        {"title": None},
        {"title": {"ne": "x"}}, {"title": {"nin": ["x"]}}, {"not": {"title": "x"}}, {"text": {"contains": "HK-902"}},
        {"text": {"like": "BOILER"}}, {"memory": {"contains": ["boiler", "HK"]}}, {"trust": 0.5},
        {"trust": {"gt": 0, "lte": 0.5}},
        {"version": {">": 2, "<": 4}}, {"version": {"$gte": 3}}, {"version": {"=": 3}}, {"version": {"!=": 4}},
        {"version": {"not_in": [1]}},
        {"owner": {"gte": "ann", "lt": "b"}}, {"info.s": "Oslo"}, {"info.s": {"gt": "Nice"}},
        {"info.s": {"contains": "slo"}},
        {"info.s": {"like": "OSLO"}}, {"info.i": 7}, {"info.i": 7.0}, {"info.i": {"in": ["7", 7]}}, {"info.t": True},
        {"info.t": {"ne": 1}},
        {"info.n": None}, {"info.absent": None}, {"info.n": {"exists": False}}, {"info.absent": {"ne": 3}},
        {"info.absent": {"nin": [3]}},
        {"info.list": "a"}, {"info.list": 1}, {"info.list": False}, {"info.list": {"contains": ["a", 1]}},
        {"info.list": {"like": "b"}},
        {"info.deep.er.key": "x"}, {"info.deep": {"exists": True}}, {"info.empty": {"exists": True}},
        {"info.big": 2**70},
        {"info.big": {"gt": 2**63}}, {'info.we"ird key': 1}, {"body.slot.value": "x"},
        {"and": [{"owner": "ann"}, {"or": [{"tags": "nope"}, {"not": {"kind": "event"}}]}]},
        {"AND": [{"owner": "ann"}]},
        {"OR": [{"owner": "bob"}, {"owner": "ann"}]}, {"NOT": [{"owner": "bob"}, {"owner": "eve"}]},
        {"owner": "ann", "tags": "work"},
    ],
    ids=str,
)  # fmt: skip
def test_these_hold(condition: Any) -> None:
    assert holds(condition)


@pytest.mark.parametrize(
    "condition",
    [
        {"owner": "Ann"}, {"kind": "event"}, {"memory_type": "UserMemory"}, {"tags": "home"},
        {"tags": {"contains": ["work", "x"]}},
        {"tags": {"in": []}}, {"tags": {"ne": "work"}}, {"tags": {"exists": False}}, {"text": {"contains": "hk-902"}},
        {"trust": {"lt": 0.5}},
        {"title": {"gt": ""}}, {"title": {"contains": ""}}, {"valid_to": {"lt": "2099"}}, {"info.t": 1},
        {"info.i": True}, {"info.i": "7"},
        {"info.s": {"gt": 1}}, {"info.i": {"lt": "9"}}, {"info.list": {"gt": "a"}}, {"info.deep": "x"},
        {"info.absent": {"gt": 0}},
        {"info.n": {"exists": True}}, {"info.list": None}, {"info.list.0": "a"}, {"not": {"owner": "ann"}},
        {"NOT": [{"owner": "bob"}, {"owner": "ann"}]}, {"owner": "ann", "tags": "x"},
        {"and": [{"owner": "ann"}, {"owner": "bob"}]},
    ],
    ids=str,
)  # fmt: skip
def test_these_do_not_hold(condition: Any) -> None:
    assert not holds(condition)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"ower": "ann"}, "did you mean 'owner'.*info.ower"), ({"colour": "red"}, "info.colour"),
        ({"info": "x"}, "info.name"),
        ({"info.": 1}, "info.name"), ({"info.a..b": 1}, "info.name"), ({"tags": {}}, "'tags' has no operator"),
        ({}, "empty"),
        ({"and": []}, "'and' has an empty list"), ({"or": []}, "'or' has an empty list"), ({"and": [{}]}, "empty"),
        ({"and": {"owner": "x"}}, "takes a list"), ({"not": {}}, "empty"), ({"not": []}, "empty list"),
        ({"not": "x"}, "str"),
        ([{"owner": "x"}], "list"), ("owner", "str"), (5, "int"), ({5: 1}, "5"),
        ({"tags": {"regexish": "a"}}, "'regexish' on 'tags'"),
        ({"text": {"$regex": ".*"}}, "regex"), ({"text": {"$nope": 1}}, "nope"),
        ({"text": {"continas": "x"}}, "did you mean 'contains'"),
        ({"$nope": 1}, "nope"), ({"$where": "1"}, "where"), ({"owner": 5}, "owner.*string.*5"),
        ({"owner": True}, "string"),
        ({"owner": ["a"]}, "use in or contains"), ({"owner": {"in": "ann"}}, "takes a list"),
        ({"trust": "high"}, "number"),
        ({"trust": True}, "number"), ({"trust": float("nan")}, "finite"), ({"version": 10**400}, "finite"),
        ({"trust": {"like": "x"}}, "like"),
        ({"tags": {"gt": "a"}}, "gt.*tags"), ({"tags": 5}, "string"), ({"tags": {"contains": []}}, "everything"),
        ({"tags": {"nin": []}}, "every"),
        ({"kind": "fcat"}, "did you mean 'fact'"), ({"kind": 1}, "never 1"),
        ({"memory_type": "LongTermMemroy"}, "never"),
        ({"kind": {"gt": "fact"}}, "gt"), ({"id": "7"}, "UUID"), ({"created_at": "soon"}, "created_at|recorded_at"),
        ({"created_at": True}, "time"),
        ({"created_at": {"contains": "2023"}}, "contains"), ({"title": {"exists": "yes"}}, "true or false"),
        ({"title": {"gt": None}}, "null"),
        ({"info.x": {"gt": True}}, "booleans"), ({"info.x": ["a"]}, "use in or contains"), ({"info.x": AT}, "JSON"),
        ({"info.x": {"like": 5}}, "string"), ({"info.x": {"eq": {"a": 1}}}, "not {"), ({"info.x": b"a"}, "b'a'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_help(condition: Any, said: str) -> None:
    with pytest.raises(InvalidFilter, match=said):
        parse_filter(condition)


def test_no_filter_is_none_and_matches_everything() -> None:
    assert parse_filter(None) is None
    assert matches(None, MEMORY)


def test_times_compare_as_instants_however_they_are_written() -> None:
    other = Memory(id=new_id(), kind=Kind.FACT, text="", recorded_at=datetime(2031, 3, 1, 4, 30, tzinfo=UTC))
    for start in (
        "2031-03-01T00:00:00+00:00",
        "2031-03-01T00:00:00Z",
        "2031-03-01",
        "2031-03-01 00:00",
        1930089600,
        date(2031, 3, 1),
    ):
        condition = parse_filter({"created_at": {"gte": start}})
        assert matches(condition, MEMORY), start
        assert matches(condition, other), start
    assert holds({"created_at": {"lt": "2031-02-28T23:30:00-05:00"}})
    assert holds({"happened_at": "2031-02-28T00:30:00Z"})
    assert holds({"updated_at": {"in": ["2031-03-01T01:30+01:00"]}})


def test_bare_names_are_info_keys_only_on_request() -> None:
    assert matches(parse_filter({"s": "Oslo", "deep.er.key": "x"}, bare_info=True), MEMORY)
    assert matches(parse_filter({"owner": "ann"}, bare_info=True), MEMORY)
    with pytest.raises(InvalidFilter, match=r"info\.s"):
        parse_filter({"s": "Oslo"})


def test_nesting_is_bounded() -> None:
    deep: Any = {"owner": "ann"}
    for _ in range(31):
        deep = {"not": deep}
    assert not holds(deep)
    for _ in range(5000):
        deep = {"not": deep}
    with pytest.raises(InvalidFilter, match="32 deep"):
        parse_filter(deep)
    with pytest.raises(InvalidFilter, match="501 conditions"):
        parse_filter({"or": [{"owner": str(n)} for n in range(501)]})


def test_hand_made_filters_are_checked_too_and_pass_through() -> None:
    made = And((Compare(Field("version"), Op.GT, 2), Not(Or((Compare(Field("info", ("i",)), Op.EQ, 8),)))))
    assert parse_filter(made) is made
    assert parse_filter({"and": [made]}) == And((made,))
    assert matches(made, MEMORY)
    for broken in (
        lambda: And(()),
        lambda: Field("nope"),
        lambda: Field("owner", ("x",)),
        lambda: Field("info", ("a.b",)),
    ):
        with pytest.raises(InvalidFilter):
            broken()
    with pytest.raises(InvalidFilter):
        Compare(Field("version"), Op.GT, "2")


def test_filters_round_trip_through_json() -> None:
    condition = {
        "and": [
            {"created_at": {"gte": "2031-03-01T00:00Z"}},
            {"or": [{"tags": {"contains": ["a", "b"]}}, {"not": {"info.a.b": None}}]},
        ],
        "memory_type": {"in": ["LongTermMemory", "SkillMemory"]},
    }  # fmt: skip
    parsed = parse_filter(condition)
    assert parsed is not None
    assert parse_filter(to_json(parsed)) == parsed


def test_lone_surrogates_are_compared_as_they_are_stored() -> None:
    parsed = parse_filter({"owner": "a\ud800"})
    assert parsed == Compare(Field("owner"), Op.EQ, "a\ufffd")
