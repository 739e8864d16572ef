"""What tools show of memories: a card in a list (a preview and the id by which the whole is had), and the whole."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from pydantic import Field

from memos.memory.model import Memory
from memos.tools.args import Shown
from memos.tools.budget import preview


class Card(Shown):
    """A memory in a list. `text` may be cut: `memos_get` has the whole."""

    id: str
    kind: str
    text: str
    when: str | None = Field(default=None, description="When it happened or was said.")
    status: str | None = Field(default=None, description="Left out while it holds (active).")
    tags: list[str] | None = None
    session: str | None = None


def card(memory: Memory, most: int = 600) -> Card:
    """The card of a memory."""
    return Card(
        id=memory.id,
        kind=memory.kind.value,
        text=preview(memory.text, most),
        when=moment(memory.happened_at),
        status=None if memory.status.value == "active" else memory.status.value,
        tags=list(memory.tags) or None,
        session=memory.session if memory.session not in (None, "default") else None,
    )


def cards(memories: Iterable[Memory], most: int = 600) -> list[Card]:
    """The cards of memories."""
    return [card(memory, most) for memory in memories]


def moment(at: datetime | None) -> str | None:
    """A moment as text."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def finite(number: float | None) -> float | None:
    """A number rounded for reading, None for what is none."""
    return None if number is None or not math.isfinite(number) else round(number, 4)


def plain(value: Any) -> Any:
    """Info and bodies as plain JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)
