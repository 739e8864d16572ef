"""mem0's filters: what is asked of ids is decided for a cube, the rest is a filter of ours. Pure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.compat.mem0.filters import MAX_DEPTH, parse, within
from memos.errors import InvalidFilter, InvalidInput
from memos.memory.filter import parse_filter

ALICE = {"user_id": "alice", "agent_id": "bot"}
RUN = {"run_id": "r1"}


@pytest.mark.parametrize(
    ("filters", "home", "expected"),
    [
        ({"user_id": "alice"}, ALICE, True),
        ({"user_id": "bob"}, ALICE, False),
        ({"user_id": "Alice"}, ALICE, False),
        ({"user_id": "alice", "agent_id": "bot"}, ALICE, True),
        ({"user_id": "alice", "agent_id": "other"}, ALICE, False),
        ({"user_id": {"in": ["bob", "alice"]}}, ALICE, True),
        ({"user_id": ["bob", "carol"]}, ALICE, False),
        ({"user_id": {"ne": "bob"}}, ALICE, True),
        ({"user_id": {"nin": ["alice"]}}, ALICE, False),
        ({"user_id": "*"}, ALICE, True),
        ({"user_id": "*"}, RUN, False),
        ({"user_id": None}, RUN, True),
        ({"app_id": {"ne": "*"}}, ALICE, True),
        ({"user_id": {"contains": "lic"}}, ALICE, True),
        ({"user_id": {"icontains": "LIC"}}, ALICE, True),
        ({"OR": [{"user_id": "bob"}, {"agent_id": "bot"}]}, ALICE, True),
        ({"AND": [{"user_id": "alice"}, {"NOT": [{"agent_id": "bot"}]}]}, ALICE, False),
        ({"NOT": [{"user_id": "bob"}, {"user_id": "carol"}]}, ALICE, True),
        ({"run_id": "r1"}, RUN, True),
        ({"run_id": "r2"}, RUN, False),
        ({"user_id": 7}, {"user_id": "7"}, True),
    ],
)
def test_ids_are_decided_for_a_cube(filters: dict[str, Any], home: dict[str, str], expected: bool) -> None:
    assert within(parse(filters), home) is expected


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"user_id": "alice", "categories": {"in": ["food"]}}, {"tags": {"in": ["food"]}}),
        ({"user_id": "alice", "categories": {"contains": "food"}}, {"tags": {"contains": "food"}}),
        ({"AND": [{"user_id": "alice"}, {"metadata": {"topic": "me"}}]}, {"info.topic": {"eq": "me"}}),
        ({"user_id": "alice", "metadata": {"n": {"gte": 1, "lt": 5}}}, {"and": [{"info.n": {"gte": 1}}, {"info.n": {"lt": 5}}]}),
        ({"OR": [{"user_id": "bob"}, {"keywords": {"icontains": "tea"}}]}, {"text": {"like": "tea"}}),
        ({"user_id": "alice", "NOT": [{"memory_ids": {"in": ["00000000-0000-0000-0000-000000000001"]}}]},
         {"not": {"id": {"in": ["00000000-0000-0000-0000-000000000001"]}}}),
        ({"user_id": "alice", "run_id": "r1"}, {"info.mem0.runs": {"contains": "r1"}}),
        ({"user_id": "alice", "run_id": "*"}, {"info.mem0.runs": {"exists": True}}),
        ({"user_id": "alice", "run_id": {"in": ["r1", "r2"]}}, {"or": [{"info.mem0.runs": {"contains": "r1"}}, {"info.mem0.runs": {"contains": "r2"}}]}),
        ({"user_id": "alice", "metadata": {"topic": "*"}}, {"info.topic": {"exists": True}}),
        ({"user_id": "alice", "created_at": {"gte": "2026-01-01"}}, {"happened_at": {"gte": "2026-01-01"}}),
    ],
)  # fmt: skip
def test_what_is_left_is_a_filter_of_ours(filters: dict[str, Any], left: dict[str, Any]) -> None:
    assert within(parse(filters), ALICE) == left
    assert parse_filter(left) is not None


def test_bare_names_are_metadata_for_the_open_source_memory_alone() -> None:
    assert within(parse({"user_id": "alice", "topic": "me"}, bare_metadata=True), ALICE) == {"info.topic": {"eq": "me"}}
    with pytest.raises(InvalidFilter, match=r"'topic' is no field.*metadata"):
        parse({"user_id": "alice", "topic": "me"})


@pytest.mark.parametrize(
    "wrong",
    [
        None, {}, [], "alice", {"usr_id": "alice"}, {"AND": []}, {"AND": "x"}, {"OR": {}}, {"user_id": {}}, {"user_id": ""},
        {"user_id": {"like": "a"}}, {"user_id": {"gt": "a"}}, {"user_id": {"in": []}}, {"user_id": {"in": ["*", None, ""]}},
        {"user_id": True}, {"user_id": {"in": "alice"}}, {"metadata": {}}, {"metadata": "x"}, {"created_at": "not a day"},
        {"memory_ids": ["no id"]}, {"categories": {"gt": 1}}, {"AND": [{"user_id": "a"}, {}]}, {"user_id": {"gte": "*"}},
        {"metadata": {"a": {"regex": "."}}}, {"user_id": "x" * 201}, {"user_id": "a\nb"},
    ],
)  # fmt: skip
def test_a_mistake_is_an_error_and_never_everything(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        parse(wrong)


def test_a_misspelt_field_is_told_the_right_one() -> None:
    with pytest.raises(InvalidFilter, match="did you mean 'user_id'"):
        parse({"userid": "alice"})


def test_filters_may_not_nest_for_ever() -> None:
    deep: dict[str, Any] = {"user_id": "a"}
    for _ in range(MAX_DEPTH):
        deep = {"AND": [deep]}
    with pytest.raises(InvalidFilter, match="deep"):
        parse(deep)


NAMES = st.sampled_from(["alice", "bob"])
LEAVES = st.builds(lambda k, v, op: ({k: {op: v}}, (k, op, v)), st.sampled_from(["user_id", "agent_id"]), NAMES, st.sampled_from(["eq", "ne"]))  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda op, items: ({op: [f for f, _ in items]}, (op, [t for _, t in items])),
        st.sampled_from(["AND", "OR", "NOT"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=12,
)


def _truth(tree: Any, home: dict[str, str]) -> bool:
    if tree[0] in ("AND", "OR", "NOT"):
        held = [_truth(item, home) for item in tree[1]]
        return all(held) if tree[0] == "AND" else any(held) if tree[0] == "OR" else not any(held)
    name, op, value = tree
    return (home.get(name) == value) == (op == "eq")


@given(TREES, st.fixed_dictionaries({}, optional={"user_id": NAMES, "agent_id": NAMES}))
def test_logic_of_ids_is_that_of_the_words(pair: Any, home: dict[str, str]) -> None:
    filters, tree = pair
    assert within(parse(filters), home) is _truth(tree, home)
