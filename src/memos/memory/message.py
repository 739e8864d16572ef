"""`Message`: one chat message as it came in, after its shape was understood and before anything is derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memos.memory.model import EMPTY


class PartType(StrEnum):
    """The kinds of content a message part can hold."""

    TEXT = "text"
    IMAGE = "image"
    FILE = "file"
    AUDIO = "audio"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message. Media are kept by reference (`uri`) and caption (`text`); `data`: the bytes of an image that came
    inside its message.
    """

    type: PartType
    text: str = ""
    uri: str | None = None
    name: str | None = None
    media_type: str | None = None
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by the assistant: the provider's call id, the tool's name and its arguments as JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `role` is user, assistant, system, developer or tool.

    `text` is the full readable text of all parts, verbatim. `time` is aware UTC; `zone` is the IANA name or
    ``±HH:MM`` offset it was written in, so that "last Saturday" can be resolved where the speaker was. `time_given`
    is False when the time is only that of arrival.
    """

    role: str
    text: str
    time: datetime
    zone: str = "UTC"
    time_given: bool = False
    name: str | None = None
    message_id: str | None = None
    parts: tuple[Part, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    info: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def speaker(self) -> str:
        """The name of who speaks, or the role where no name is known."""
        return self.name or self.role
