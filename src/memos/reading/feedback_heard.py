"""What one sentence of feedback was heard to be: a question, a refusal, a command, a note. The same values for every language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from memos.memory.feedback import Topic


class Manner(StrEnum):
    """What kind of sentence it is. `NOTHING`: a question, a what-if, somebody else's words."""

    NOTHING = "nothing"
    REFUSE = "refuse"
    AGREE = "agree"
    FORGET = "forget"
    REPLACE = "replace"
    PREFER = "prefer"
    NOTE = "note"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Heard:
    """A sentence heard. `rest` is what is left of it to be read as a statement, and `at` where that begins in the sentence.

    `wish` is how the assistant is to answer ("always answer in French"), `about` what of it there is only one way of
    ("answer language"). `firm`: it is asked for outright that this be noted. `clause`: what is to be forgotten, as a statement.
    """

    manner: Manner
    rest: str = ""
    at: int = 0
    topic: Topic | None = None
    clause: str = ""
    old: str = ""
    new: str = ""
    wish: str = ""
    about: str = ""
    firm: bool = False
    unclear: str = ""


def cut(pattern: re.Pattern[str], text: str, at: int = 0) -> tuple[str, int]:
    """The text without what the pattern matches at its beginning, and where the rest begins."""
    match = pattern.match(text)
    return (text, at) if match is None or not match.end() else (text[match.end() :], at + match.end())


def bare(words: str) -> str:
    """Words without quotes and stops around them."""
    return words.strip(" \t\n\"'“”‘’「」『』.,!?;:。，！？；：、…")


NAMELESS = "say what is to be forgotten; nothing was changed"
ALL = "feedback does not forget everything; delete the cube's memories by `delete` instead (nothing was changed)"
