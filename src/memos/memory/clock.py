"""The dates a reader sees: on the clock of the zone a message was written in, so that "in March" never shows as 28 February.

A raw record keeps that zone in its body, and so does what is derived from it; without one it was written in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from memos.errors import InvalidInput
from memos.memory.model import Memory
from memos.memory.time import load_zone

ZONE = "zone"  # where a body keeps the name of the zone


def written_in(body: Mapping[str, Any]) -> dict[str, str]:
    """What the body of something derived takes over: the zone of what it is derived from."""
    zone = body.get(ZONE)
    return {ZONE: zone} if isinstance(zone, str) else {}


def shown_time(memory: Memory, zone: tzinfo) -> str:
    """When it happened or was said, to the minute ("2026-03-01 09:00"): where it was written, else in `zone`; "" when unknown."""
    when = memory.happened_at
    return f"{_at(when, _own(memory) or zone):%Y-%m-%d %H:%M}" if when else ""


def shown_since(memory: Memory, zone: tzinfo) -> str:
    """The day since which it holds ("2026-03-01"), where it was written, else in `zone`; "" when unknown.

    Midnight in UTC of what names no zone is the day, month or year that was told: the same one everywhere.
    """
    since = memory.valid_from
    if since is None:
        return ""
    own = _own(memory)
    if own is None and not (since.hour or since.minute or since.second or since.microsecond):
        own = UTC
    return f"{_at(since, own or zone):%Y-%m-%d}"


def _own(memory: Memory) -> tzinfo | None:
    """The zone a memory was written in, where it names one that there is."""
    name = memory.body.get(ZONE)
    if not isinstance(name, str) or name == "UTC":
        return None
    try:
        return load_zone(name)
    except InvalidInput:  # of a file from elsewhere
        return None


def _at(when: datetime, zone: tzinfo) -> datetime:
    try:
        return when.astimezone(zone)
    except OverflowError:  # the first and the last day of all
        return when
