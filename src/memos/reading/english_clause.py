"""One English clause with its subject, its verb phrase and its dates: what the readers of events, plans and doings look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from memos.memory.time import load_zone
from memos.reading.scene import Scene
from memos.reading.value import Place, long_phrase
from memos.reading.verb_phrase import VerbPhrase
from memos.text.dates import DateMention


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a clause is about: how findings name it, and its form: "i" (the speaker), "we", "kin" (a relative) or "thing"."""

    key: str
    who: str
    form: str
    shared: bool = True


@dataclass(frozen=True)
class Clause:
    """A clause of the sentence [`start`, `end`): it begins at `lead` and ends, at the latest, at `stop`."""

    scene: Scene
    subject: Subject
    phrase: VerbPhrase
    start: int
    end: int
    lead: int
    stop: int

    @property
    def text(self) -> str:
        """The text of the message."""
        return self.scene.text

    @cached_property
    def said(self) -> tuple[int, int]:
        """The verb with everything that belongs to it, as a span."""
        return long_phrase(Place(self.text, self.phrase.at, self.end))

    @property
    def sure(self) -> float:
        """How far a clause with this subject speaks of the speaker: the factor of a finding's confidence."""
        return 1.0 if self.subject.form == "i" else 0.9

    @property
    def who(self) -> str:
        """Who did it, in the third person."""
        return f"{self.subject.who} and others" if self.subject.form == "we" else self.subject.who

    def date(self, begin: int, end: int, wanted: Callable[[DateMention], bool]) -> DateMention | None:
        """The first date in the clause, else before it in the sentence, that is `wanted`."""
        return _first(self.scene.dates_in(begin, end), wanted) or _first(
            self.scene.dates_in(self.start, self.lead), wanted
        )

    def shown(self, mention: DateMention) -> str:
        """A date told from the day it was said ("yesterday") as the day it was, in brackets; "" for any other."""
        if not mention.relative:
            return ""
        day = mention.from_.astimezone(load_zone(self.scene.message.zone)).strftime("%Y-%m-%d")
        return f" ({'around ' if mention.precision != 'day' else ''}{day})"


def _first(dates: Iterable[DateMention], wanted: Callable[[DateMention], bool]) -> DateMention | None:
    return next((m for m in dates if wanted(m)), None)
