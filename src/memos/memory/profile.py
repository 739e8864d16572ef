"""What is known of somebody, as `profile` answers it. Pure data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Section(StrEnum):
    """The parts of a profile, in the order they are shown."""

    WISHES = "wishes"
    FACTS = "facts"
    PREFERENCES = "preferences"
    PLANS = "plans"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class ProfileItem:
    """Something known: the memory `id`, its words, and since when it holds (an event: when it was; None: not known).

    `confidence` is in [0, 1]. `memory_ids` and `message_ids` are the records that tell it, and the ids that their messages came
    with. `against`: the words of what says otherwise; which of them is right is not known.
    """

    id: str
    section: Section
    text: str
    since: datetime | None
    confidence: float
    memory_ids: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of somebody. `text` is ready for a prompt ("" when nothing is known) and has `tokens` (of 4 characters);
    `items` is what it shows, in its order, and `left_out` how many more there are.
    """

    text: str
    items: tuple[ProfileItem, ...] = ()
    tokens: int = 0
    left_out: int = 0

    def __iter__(self) -> Iterator[ProfileItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        return self.text
