"""Whose mem0 a request is: everything under these wires belongs to the user of the key, and the ids name her own subjects."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memos.compat.mem0.core import Mem0
from memos.compat.mem0.finding import Wanted, span
from memos.memory.time import parse_time
from memos.server.caller import READ, Caller
from memos.server.mem0.bodies import ListBody
from memos.system import AsyncMemOS

MESSAGES_ONLY = (
    "custom_instructions, custom_categories and schemas of a single request are not applied: how a cube is read is set by "
    "PATCH /v1/cubes/{name}/reading"
)


def mem0_of(memos: AsyncMemOS, caller: Caller, need: str = READ) -> Mem0:
    """The mem0 of the key's own user. Raises AccessDenied when the key lacks the scope."""
    return Mem0(memos, caller.acting(None, need))


def wanted_of(body: ListBody, zone: str) -> Wanted:
    """What a listing may show."""
    since, until = span(_moment(body.start_date, zone), _moment(body.end_date, zone), whole_day=_is_day(body.end_date))
    return Wanted(
        show_expired=body.show_expired,
        latest_only=body.latest_only,
        categories=body.categories or (),
        since=since,
        until=until,
        fields=body.fields or (),
    )


def _moment(value: Any, zone: str) -> datetime | None:
    return None if value is None else parse_time(value, default_zone=zone).instant


def _is_day(value: Any) -> bool:
    return isinstance(value, str) and len(value.strip()) == len("YYYY-MM-DD")
