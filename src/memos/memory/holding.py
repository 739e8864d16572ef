"""Whether something derived holds at a time: one rule for a profile and for the facts of a search."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memos.memory.model import Kind, Memory
from memos.memory.time import parse_time


def holds_at(m: Memory, now: datetime) -> bool:
    """Whether it is true at `now`: begun, not over, and, of a commitment, its day not past. What happened stays so."""
    if m.valid_from is not None and m.valid_from > now:
        return False
    if m.kind is Kind.EVENT:
        return True
    due = due_of(m)
    return (m.valid_to is None or m.valid_to > now) and (due is None or due[1] > now)


def due_of(m: Memory) -> tuple[datetime, datetime] | None:
    """From when to when a commitment falls due; None where no day was told."""
    given = m.body.get("due")
    if m.kind is not Kind.COMMITMENT or not isinstance(given, Sequence) or len(given) != 2:
        return None
    return parse_time(str(given[0])).instant, parse_time(str(given[1])).instant
