"""Whom or what a model's fact is about, in the words of the messages: the speaker, a relative of hers, or a thing they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memos.reading import chinese, english
from memos.reading.finding import normal
from memos.reading.fine.lines import ASSISTANT, DOCUMENT, TOOL, USER, Line
from memos.reading.fine.matching import place, support

_USER = frozenset(("user", "the user", "speaker", "the speaker", "i", "me", "myself", "用户", "我", "说话人", "使用者"))
_MY = re.compile(r"(?:my|our)\s+(.+)|我(?:们)?的?(.+)", re.IGNORECASE | re.DOTALL)
_ASSISTANT = frozenset(("assistant", "the assistant", "ai", "the ai", "助手", "助理"))
_POSSESSIVE = re.compile(r"(.{1,60}?)(?:['’]s |s['’] |的)\s*(.{1,60})", re.DOTALL)
_ARTICLE = re.compile(r"^(?:the|an?) (?=\S)", re.IGNORECASE)
_NOBODY = frozenset(
    (
        "it",
        "this",
        "that",
        "he",
        "she",
        "they",
        "we",
        "you",
        "someone",
        "everyone",
        "people",
        "unknown",
        "none",
        "他",
        "她",
        "它",
    )
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a fact is about. `name` as slots have it ("user", "Caroline", "Caroline's brother"); `speaker`: the label of the
    speaker who, or whose relative, it is ("" for anything else); `relative`: whose relative.
    """

    name: str
    speaker: str = ""
    relative: str = ""


def subject_of(who: str, cited: Sequence[Line], lines: Sequence[Line], before: Sequence[Line]) -> Subject | None:
    """The subject that a model called `who`, or None where the messages speak of nobody of that name."""
    said = " ".join(who.split()).strip(" .:,\"'“”")
    if not said or len(said) > 120 or normal(said) in _NOBODY:
        return None
    speaker = _speaker(said, cited, lines, before)
    said = _ARTICLE.sub("", said)
    if speaker is not None:
        return Subject(speaker.subject, speaker.label)
    mine = _MY.fullmatch(said)
    if mine and (own := _own(cited)) is not None:
        return _relative(own, mine[1] or mine[2], lines, before)
    owned = _POSSESSIVE.fullmatch(said)
    if owned:
        owner = _speaker(owned[1], cited, lines, before)
        if owner is not None:
            return _relative(owner, owned[2], lines, before)
    if normal(said) in _ASSISTANT:
        return Subject(ASSISTANT) if any(line.role == ASSISTANT for line in cited) else None
    for line in (*cited, *lines, *before):
        if line.role == DOCUMENT and normal(said) in normal(line.subject):
            return Subject(said)
        if line.role != TOOL and (span := place(said, line.text, line.folded)) is not None:
            return Subject(line.text[slice(*span)])
    return None


def _speaker(said: str, cited: Sequence[Line], lines: Sequence[Line], before: Sequence[Line]) -> Line | None:
    """A message of the speaker of that label."""
    word = normal(said)
    own = [line for line in (*cited, *lines, *before) if line.role == USER]
    if word in _USER:
        if (speaking := _own(cited)) is not None:
            return speaking
        unnamed = {line.label for line in own}
        return own[0] if len(unnamed) == 1 else None
    exact = [line for line in own if normal(line.label) == word]
    if exact:
        return exact[0]
    first = {line.label: line for line in own if normal(line.label).split()[:1] == [word]}
    return next(iter(first.values())) if len(first) == 1 else None


def _own(cited: Sequence[Line]) -> Line | None:
    return next((line for line in cited if line.role == USER), None)


def _relative(owner: Line, said: str, lines: Sequence[Line], before: Sequence[Line]) -> Subject | None:
    """Somebody or something of a speaker's that the messages name."""
    noun = said.strip()
    words = normal(noun)
    kin = next((k for k in (*words.split(), words) if k in english.KIN or k in chinese.KIN), "")
    named = any(place(noun, line.text, line.folded) for line in (*lines, *before) if line.role != TOOL)
    if not named and not kin and support(noun, [line.terms for line in (*lines, *before) if line.role != TOOL]) < 0.5:
        return None
    name = (
        f"{owner.subject}的{noun}" if not noun.isascii() else f"{owner.subject}'s {noun.lower() if not named else noun}"
    )
    return Subject(name, owner.label, kin or words)
