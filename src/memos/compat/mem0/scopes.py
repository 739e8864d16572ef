"""Whose memory a request of mem0 is about: its four ids, and the cube that holds what belongs to them.

One cube holds what one subject told one agent of one app, whatever the run: so nothing of another subject is ever opened for her
questions, facts of two subjects never supersede each other, and a subject is deleted with her whole cube. Without a user a run is
a subject of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memos.errors import InvalidInput

KIND = "mem0"  # in the info of a cube
ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
EVERY = "*"  # in a filter: whoever it is
_LONGEST = 200  # characters of an id


@dataclass(frozen=True, slots=True)
class Scope:
    """The ids that a memory is stored under. At least one is there."""

    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None

    def __post_init__(self) -> None:
        if not any(self.ids.values()):
            raise InvalidInput("at least one of user_id, agent_id, app_id and run_id is required")

    @property
    def ids(self) -> dict[str, str | None]:
        """The four ids by name."""
        return {name: getattr(self, name) for name in ENTITIES}

    @property
    def home(self) -> dict[str, str]:
        """The ids that choose the cube, which are also in its info."""
        named = {name: value for name, value in self.ids.items() if value is not None}
        if self.user_id is not None:
            named.pop("run_id", None)
        return named

    def cube(self, owner: str, number: int = 0) -> str:
        """The name of the cube. `number`: another one, where somebody else took the name."""
        told = json.dumps([owner, sorted(self.home.items()), number])
        return f"mem0-{hashlib.sha256(told.encode()).hexdigest()[:32]}"


def scope_of(given: Mapping[str, Any]) -> Scope:
    """The scope that the ids in a request name; other keys are left alone. Raises InvalidInput."""
    return Scope(**{name: entity_id(given[name], name) for name in ENTITIES if given.get(name) is not None})


def one_of(scope: Scope) -> Scope:
    """The scope, when its ids name somebody. Raises InvalidInput where one of them stands for everybody."""
    for name, value in scope.ids.items():
        if value == EVERY:
            raise InvalidInput(f"{name} is {EVERY!r}, which stands for every one and is nobody's name")
    return scope


def entity_id(value: object, name: str) -> str:
    """One id as text: numbers are written out, space around it is dropped. Raises InvalidInput for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidInput(f"{name} is a text, got {value!r:.60}")
    text = str(value).strip()
    if not text or len(text) > _LONGEST or any(ord(c) < 32 or 0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise InvalidInput(
            f"{name} is a text of 1 to {_LONGEST} characters without control characters, got {text!r:.60}"
        )
    return text


def homes_of(info: Mapping[str, Any]) -> dict[str, str] | None:
    """The ids a cube is for, or None when it is not one of mem0's."""
    if info.get("kind") != KIND:
        return None
    return {name: value for name in ENTITIES if isinstance(value := info.get(name), str)}
