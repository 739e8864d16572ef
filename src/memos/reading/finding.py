"""`Finding`: one thing a message says, with the words that say it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from memos.memory.model import Kind
from memos.memory.statement import Reference
from memos.text.names import Name

_LEADING = re.compile(r"^(?:(?:a|an|the|some|my|our|on|in|at|to|to be)\s+)+", re.IGNORECASE)
# Punctuation within a word or number belongs to it: 1.5 is not 15, and a.b@c.org stays whole.
_NOISE = re.compile(r"(?<!\w)[\"'“”‘’«».,;:!?。，！？、…]+|[\"'“”‘’«».,;:!?。，！？、…]+(?!\w)")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class End:
    """What a finding says is over: `value` in the slot of `attribute` of its subject, or all that is there ("").

    `denied`: it is the denial that is over. `unless`: values that hold these words stay. `only`: just facts told with
    this word. `if_changed`: only where the finding itself changes what is known. `now`: it is over by now,
    whenever it ended.
    """

    attribute: str
    value: str = ""
    denied: bool = False
    unless: str = ""
    only: str = ""
    if_changed: bool = False
    now: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement found in a message, with its evidence.

    `text` says it on its own, in the language of the source and in the third person. `subject` is who or what it
    is about ("user" where the speaker's name is unknown, "user's brother"), `attribute` what about it, `value` the
    words of the message. `single`: the slot (subject, attribute) holds one value at a time. [`start`, `end`) is
    the evidence in `message.text` and contains `value`. `confidence` is in (0, 1]. `valid_from`/`valid_to` say
    when it is true, as far as told; `due` is when a commitment falls. `polarity` is "-" for what is disliked or
    denied; `negated`: the message denies it; `ended`: it was true and is no longer. `ends` is what else is
    over with it, `of` the open commitment that it changes. `person`: whom it is about, by a name alone (see `Statement`).
    `said_by` is the role of the speaker.
    """

    kind: Kind
    text: str
    subject: str
    attribute: str
    value: str
    start: int
    end: int
    single: bool = False
    confidence: float = 0.9
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    polarity: str = "+"
    negated: bool = False
    ended: bool = False
    ends: tuple[End, ...] = ()
    of: Reference | None = None
    person: str = ""
    due: tuple[datetime, datetime] | None = None
    mentions: tuple[Name, ...] = ()
    said_by: str = "user"

    @property
    def slot(self) -> str:
        """What it is about: ``subject|attribute``."""
        return f"{normal(self.subject)}|{normal(self.attribute)}"

    @property
    def key(self) -> str:
        """Equal for findings that say the same in other words: slot, value and whether it is denied."""
        return self.key_of(self.attribute, self.value, denied=self.negated or self.polarity == "-")

    def key_of(self, attribute: str, value: str, *, denied: bool = False) -> str:
        """The key of a finding about the same subject."""
        return f"{normal(self.subject)}|{normal(attribute)}|{'not ' if denied else ''}{normal_value(value)}"


def normal(text: str) -> str:
    """`text` in compatibility form, lower case, with single spaces."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def normal_value(value: str) -> str:
    """`normal` without leading articles and prepositions and without punctuation. Numbers are never touched."""
    text = normal(value)
    text = _LEADING.sub("", text) or text
    return _SPACE.sub(" ", _NOISE.sub(" ", text)).strip() or text
