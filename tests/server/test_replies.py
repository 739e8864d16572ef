"""What the server answers is JSON, whatever it has to say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel

from memos.server.replies import to_json


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    more: Mapping[str, Any]


class Model(BaseModel):
    text: str
    at: datetime | None = None


def read(value: Any) -> Any:
    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(to_json(value).decode("utf-8"), parse_constant=refuse)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": float("nan"), "b": [float("inf"), 1.5]}, {"a": None, "b": [None, 1.5]}),
        (Point(1.0, MappingProxyType({"k": (1, 2)})), {"x": 1.0, "more": {"k": [1, 2]}}),
        ({"e": Colour.RED, 7: {1}, "n": None, "t": True}, {"e": "red", "7": [1], "n": None, "t": True}),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (Model(text="héllo 你好"), {"text": "héllo 你好", "at": None}),
        ({"m": Model(text="x")}, {"m": {"text": "x", "at": None}}),
        ({"s": "lone \ud800 one", "\udfff": 1}, {"s": "lone ? one", "?": 1}),
        ([Point(float("nan"), {"big": 1 << 80}), Colour.RED], [{"x": None, "more": {"big": 1 << 80}}, "red"]),
        ({"m": Model(text="x"), "big": 1 << 70, "when": datetime(2024, 1, 2, tzinfo=UTC)},
         {"m": {"text": "x", "at": None}, "big": 1 << 70, "when": "2024-01-02T00:00:00+00:00"}),
    ],
)  # fmt: skip
def test_any_value_of_ours_becomes_strict_json(value: Any, expected: Any) -> None:
    assert read(value) == expected


def test_a_model_with_a_lone_surrogate_is_answered_too() -> None:
    assert read(Model.model_construct(text="a\ud800b", at=None)) == {"text": "a?b", "at": None}
