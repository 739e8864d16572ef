"""What the readers look at: one message with its cleaned text, its speaker, and its dates and names on demand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from memos.memory.message import Message
from memos.memory.model import Kind
from memos.memory.statement import Reference
from memos.reading.finding import End, Finding
from memos.text.dates import DateMention, find_dates
from memos.text.names import Name, find_names

T = TypeVar("T", DateMention, Name)


class Scene:
    """A message being read. `text` is the cleaned text, of the same length as the original."""

    def __init__(self, message: Message, text: str, who: str, subject: str) -> None:
        self.message = message
        self.text = text
        self.who = who
        self.subject = subject

    @property
    def now(self) -> datetime:
        """When it was said, in UTC."""
        return self.message.time

    @cached_property
    def dates(self) -> tuple[DateMention, ...]:
        """The dates in the text, as the speaker meant them."""
        found = find_dates(self.text, now=self.message.time, zone=self.message.zone)
        # "on 12 May." ends a sentence more often than it abbreviates.
        return tuple(replace(m, end=m.end - 1) if self.text[m.end - 1] == "." else m for m in found)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """The names in the text."""
        return tuple(find_names(self.text))

    def dates_in(self, start: int, end: int) -> list[DateMention]:
        """The dates within text[start:end]."""
        return _within(self.dates, start, end)

    def finding(
        self,
        kind: Kind,
        text: str,
        attribute: str,
        value: tuple[int, int],
        evidence: tuple[int, int],
        *,
        subject: str | None = None,
        single: bool = False,
        confidence: float = 0.9,
        valid: tuple[datetime | None, datetime | None] = (None, None),
        polarity: str = "+",
        negated: bool = False,
        ended: bool = False,
        ends: tuple[End, ...] = (),
        of: Reference | None = None,
        due: tuple[datetime, datetime] | None = None,
    ) -> Finding:
        """A finding with its evidence widened to hold the value, in the words of the message."""
        start, end = min(evidence[0], value[0]), max(evidence[1], value[1])
        return Finding(
            kind=kind,
            text=text,
            subject=self.subject if subject is None else subject,
            attribute=attribute,
            value=self.message.text[value[0] : value[1]],
            start=start,
            end=end,
            single=single,
            confidence=round(confidence, 3),
            valid_from=valid[0],
            valid_to=valid[1],
            polarity=polarity,
            negated=negated,
            ended=ended,
            ends=ends,
            of=of,
            due=due,
            mentions=tuple(_within(self.names, start, end)),
            said_by=self.message.role,
        )


def _within(items: Sequence[T], start: int, end: int) -> list[T]:
    """The items, ordered and disjoint, that lie within [start, end)."""
    found = []
    for i in range(bisect_left(items, start, key=lambda item: item.start), len(items)):
        if items[i].end > end:
            break
        found.append(items[i])
    return found
