"""What reading a trace yields: statements (facts that fill slots) and mentions (entities named). Pure data between
rooms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memos.memory.model import Kind, Source


@dataclass(frozen=True, slots=True)
class Ending:
    """What a statement says is over in `slot`: the values of `key` and of its kinds ("black coffee" where `key` is of
    "coffee"), or whatever is there where `key` is empty.

    `unless`: values that hold these words stay. `only`: just facts told with this word. `if_changed`: only where the
    statement itself changed what is current. `now`: it is over by now, whenever it ended.
    """

    slot: str
    key: str = ""
    unless: str = ""
    only: str = ""
    if_changed: bool = False
    now: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """The open commitment that a statement calls off or moves, as it is spoken of: by a `name` ("Sardinia"), or by a `noun` ("the
    dentist appointment", "the trip").

    `within`: only one that falls into this time. `known`: the statement says nothing where none is found.
    """

    name: str = ""
    noun: str = ""
    within: tuple[datetime, datetime] | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact stated by a trace: which slot it fills with which value, from when to when.

    `slot` is `subject|attribute`, `key` the same with the normalised value: two statements of one key say the same.
    `single`: the slot holds one value at a time. `ended`: the trace says that this is not (any more) so. `ends` is
    what else is over with it. `source` is the evidence, and `also` what says it beside that.
    """

    kind: Kind
    text: str
    slot: str
    key: str
    value: str
    single: bool
    confidence: float
    source: Source
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ended: bool = False
    ends: tuple[Ending, ...] = ()
    of: Reference | None = None
    person: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    also: tuple[Source, ...] = ()

    @property
    def depends(self) -> bool:
        """Whether it says something only where a cube knows whom or what it is about."""
        return bool(self.person) or (self.of is not None and self.of.known)


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity named in a trace. `type` is person, place, organisation, product, identifier, email, url or other."""

    name: str
    type: str
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Correction:
    """Words said to be wrong, and the right ones. `old` None: what was talked about last. `before`: the preposition that was
    said before them ("at", of "it's at 8, not 7"), and `about` whom or what they were said of ("my sister", "I"), where they
    were.
    """

    old: str | None
    new: str
    before: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """That one entity stands to another in some way: `RELATES_TO` with a predicate ("works for"), since and until when."""

    subject: Mention
    predicate: str
    object: Mention
    confidence: float = 1.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything read from one trace. `corrections` are those of a message that was given as one, or, with the `answer` that it
    refuses, of an ordinary one: then only what that answer told may be meant.
    """

    statements: tuple[Statement, ...] = ()
    mentions: tuple[Mention, ...] = ()
    corrections: tuple[Correction, ...] = ()
    relations: tuple[Relation, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class SegmentReading:
    """What a model read in a run of traces: a reading for each trace (by its id) that is the first evidence of something.

    `reader` names the model and the edition of the prompt; what it derives is stamped with it (`body["reader"]`). `wrong` are ids
    of memories that rules derived from these traces and that the model says are not what was said.
    """

    reader: str
    readings: Mapping[str, Reading] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()
