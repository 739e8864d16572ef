"""The filters of mem0 as ours: what is asked of ids is decided for each cube, the rest becomes our filter language.

Pure. A field or operator that mem0 does not have raises InvalidFilter; nothing wrong ever selects everything.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memos.compat.mem0.scopes import ENTITIES, entity_id
from memos.errors import InvalidFilter
from memos.memory.filter import parse_filter

MAX_DEPTH = 24
OWN = "mem0"  # the key of `info` under which we keep what mem0 keeps beside metadata
RUNS = f"info.{OWN}.runs"
EXPIRES = f"info.{OWN}.expires"
OPS = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "icontains")
# mem0's fields -> ours. `categories` is a list, and a value of it a member.
FIELDS: Mapping[str, str] = {
    "id": "id",
    "memory_ids": "id",
    "memory": "text",
    "text": "text",
    "keywords": "text",
    "categories": "tags",
    "created_at": "happened_at",
    "timestamp": "happened_at",
    "updated_at": "known_from",
    "expiration_date": EXPIRES,
    "immutable": f"info.{OWN}.immutable",
    "actor_id": "speaker",
    "role": "role",
    "feedback": f"info.{OWN}.feedback",
    "feedback_reason": f"info.{OWN}.feedback_reason",
}
_LOGIC = {"AND": "and", "OR": "or", "NOT": "not"}
_OF_ENTITIES = frozenset({"eq", "ne", "in", "nin", "contains", "icontains", "exists"})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One condition. `field` is an id of `ENTITIES`, or a field of ours."""

    field: str
    op: str
    value: Any


@dataclass(frozen=True, slots=True)
class Group:
    """Several conditions: all of them (`and`), any (`or`), or none (`not`)."""

    logic: str
    items: tuple[Node, ...]


Node = Leaf | Group


def parse(filters: object, *, bare_metadata: bool = False) -> Node:
    """Read the filters of a request. `bare_metadata`: names that are no fields are keys of metadata, as in the open-source
    `Memory`; else they are mistakes, as in the cloud.
    """
    return _checked(_Parser(bare_metadata).node(filters, 1))


def _checked(node: Node) -> Node:
    """The same filter, every condition of it looked at: what is wrong is told also where there is nothing to filter."""
    for leaf in _leaves_of(node):
        if leaf.field not in ENTITIES:
            parse_filter({leaf.field: {leaf.op: leaf.value}})
    return node


def _leaves_of(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for item in node.items:
            yield from _leaves_of(item)


def within(node: Node, home: Mapping[str, str]) -> bool | dict[str, Any]:
    """What is left of a filter inside the cube of these ids: everything (True), nothing (False), or a filter of ours."""
    if isinstance(node, Leaf):
        return _leaf(node, home)
    parts = [within(item, home) for item in node.items]
    if node.logic == "and":
        return _all(parts)
    if node.logic == "or":
        return _any(parts)
    return _negated(_any(parts))


def _all(parts: Sequence[bool | dict[str, Any]]) -> bool | dict[str, Any]:
    if any(part is False for part in parts):
        return False
    left = [part for part in parts if isinstance(part, dict)]
    return True if not left else left[0] if len(left) == 1 else {"and": left}


def _any(parts: Sequence[bool | dict[str, Any]]) -> bool | dict[str, Any]:
    if any(part is True for part in parts):
        return True
    left = [part for part in parts if isinstance(part, dict)]
    return False if not left else left[0] if len(left) == 1 else {"or": left}


def _negated(part: bool | dict[str, Any]) -> bool | dict[str, Any]:
    return (not part) if isinstance(part, bool) else {"not": part}


def _leaf(leaf: Leaf, home: Mapping[str, str]) -> bool | dict[str, Any]:
    """A condition within a cube. The runs of a user are in her cube together, so a run is asked of each memory there."""
    if leaf.field not in ENTITIES:
        return {leaf.field: {leaf.op: leaf.value}}
    if leaf.field != "run_id" or "user_id" not in home:
        return _holds(leaf.op, home.get(leaf.field), leaf.value)
    if leaf.op == "in":
        return {"or": [{RUNS: {"contains": value}} for value in leaf.value]}
    if leaf.op == "nin":
        return {"not": {"or": [{RUNS: {"contains": value}} for value in leaf.value]}}
    if leaf.op == "ne":
        return {"not": {RUNS: {"contains": leaf.value}}}
    if leaf.op == "exists":
        return {RUNS: {"exists": leaf.value}}
    if leaf.op in ("contains", "icontains"):
        raise InvalidFilter("run_id takes eq, ne, in, nin and '*'")
    return {RUNS: {"contains": leaf.value}}


def _holds(op: str, known: str | None, value: Any) -> bool:
    """Whether an id that is known (or missing) fits. What is missing equals only null."""
    if op == "exists":
        return (known is not None) is bool(value)
    if op in ("ne", "nin"):
        return not _holds("eq" if op == "ne" else "in", known, value)
    if known is None:
        return False
    if op == "in":
        return known in list(value)
    if op == "contains":
        return str(value) in known
    return str(value).casefold() in known.casefold() if op == "icontains" else known == str(value)


class _Parser:
    def __init__(self, bare_metadata: bool) -> None:
        self._bare = bare_metadata

    def node(self, given: object, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise InvalidFilter(f"the filters are nested more than {MAX_DEPTH} deep")
        if not isinstance(given, Mapping) or not given:
            raise InvalidFilter(f'filters is an object such as {{"user_id": "alice"}}, got {given!r:.60}')
        items: list[Node] = []
        for name, value in given.items():
            items += self._entry(str(name), value, depth)
        return items[0] if len(items) == 1 else Group("and", tuple(items))

    def _entry(self, name: str, value: object, depth: int) -> list[Node]:
        logic = _LOGIC.get(name.upper().lstrip("$"))
        if logic is not None:
            listed = [value] if logic == "not" and isinstance(value, Mapping) else value
            if not isinstance(listed, (list, tuple)) or not listed:
                raise InvalidFilter(f"{name} takes a list of at least one filter, got {value!r:.60}")
            return [Group(logic, tuple(self.node(item, depth + 1) for item in listed))]
        if name == "metadata":
            if not isinstance(value, Mapping) or not value:
                raise InvalidFilter('metadata takes an object such as {"metadata": {"topic": "food"}}')
            return [leaf for key, item in value.items() for leaf in self._leaves(f"info.{key}", str(key), item)]
        if name in ENTITIES:
            return self._leaves(name, name, value)
        if name in FIELDS:
            return self._leaves(FIELDS[name], name, value)
        if self._bare:
            return self._leaves(f"info.{name}", name, value)
        close = difflib.get_close_matches(name, [*ENTITIES, *FIELDS, "metadata", *_LOGIC], 1)
        meant = f"; did you mean {close[0]!r}?" if close else "."
        raise InvalidFilter(
            f'{name!r:.60} is no field of a filter{meant} Your own metadata is asked as {{"metadata": {{"key": value}}}}'
        )

    def _leaves(self, field: str, name: str, value: object) -> list[Node]:
        """The conditions on one field: all operators of an object hold."""
        if isinstance(value, Mapping):
            if not value:
                raise InvalidFilter(f"{name} has an empty condition")
            return [self._leaf(field, name, str(op), item) for op, item in value.items()]
        if isinstance(value, (list, tuple)):
            return [self._leaf(field, name, "in", value)]
        return [self._leaf(field, name, "eq", value)]

    def _leaf(self, field: str, name: str, written: str, value: object) -> Node:
        op = written.lstrip("$")
        if op not in OPS:
            raise InvalidFilter(f"{name} has no operator {written!r:.40}; there are {', '.join(OPS)}")
        if value == "*" or value is None:
            if op not in ("eq", "ne"):
                raise InvalidFilter(f"{name}: {'null' if value is None else repr('*')} goes with eq and ne only")
            return Leaf(field, "exists", (value == "*") == (op == "eq"))
        if op in ("in", "nin"):
            if not isinstance(value, (list, tuple)) or not value:
                raise InvalidFilter(f"{name}: {op} takes a list of at least one value, got {value!r:.60}")
            return Leaf(field, op, [_value(field, name, item) for item in value])
        if field in ENTITIES and op not in _OF_ENTITIES:
            raise InvalidFilter(f"{name} has no order; it takes eq, ne, in, nin, contains and icontains")
        if name == "keywords" and op == "eq":
            op = "icontains"
        value = _value(field, name, value)
        return Leaf(field, "like" if op == "icontains" and field not in ENTITIES else op, value)


def _value(field: str, name: str, value: object) -> object:
    return entity_id(value, name) if field in ENTITIES else value
