"""What of a memory is searchable: the terms of its text, the words beside it (speaker, date), and what its text *is*.

The traits are decided when the memory is written and cost nothing at query time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from memos.memory.model import LAYER_OF, Kind, Layer, Memory
from memos.text.analysis import analyze

QUESTION, TIME_WORD, ONE_NAME, MORE_NAMES = 1, 2, 4, 8

_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"
_SPANS = "night|week|weekend|month|year|summer|winter|spring|fall|autumn|morning|evening|[a-z]+day"
_TIME_WORD = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|recently|since|weekend|years?|months?|weeks?|days?|just"
    rf"|(?:last|next|this|past|coming|other) (?:{_SPANS})|(?:mon|tues|wednes|thurs|fri|satur|sun)day|{_MONTHS}|(?:19|20)\d\d)\b"
    r"|[昨今明前后]天|[上下这]个?(?:周|月|星期|礼拜)|[去今明前]年|\d+[年月日号]|刚刚|最近"
)  # on lower-case text: ignoring case in the pattern costs three times as much
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][a-zA-Z]+|\"[^\"\n]{1,80}\"|[《「“][^》」”\n]{1,80}[》」”]")
_NOT_NAMES = frozenset({"I", "OK", "TV", "BTW", "LOL", "OMG"})
_ENDS_AS_QUESTION = re.compile(r"[?？]\W*$|[吗呢]\W*$")
_BLOCK = re.compile(r"<\s*([\w-]+)[^>]*>.*</\s*\1\s*>\s*", re.IGNORECASE | re.DOTALL)
_ATTACHED = re.compile(r"\s*\[(?:image|file|shares)\b[^\]]*\]?\s*$")


@dataclass(frozen=True, slots=True)
class TermRow:
    """Searchable form of one text. `text`: its terms in order; `beside`: speaker and date words; `features`: bit set."""

    text: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    features: int = 0


def term_row(memory: Memory) -> TermRow:
    """The searchable form of a memory: content terms of title and text (all terms where there is no content word)."""
    said = own_words(memory.text, memory.speaker, memory.body.get("injected", ()))
    text = f"{memory.title}\n{said}" if memory.title else said
    return TermRow(index_terms(text), _beside(memory), traits(said, memory.speaker))


def own_words(text: str, speaker: str | None, injected: Sequence[Sequence[int]] = ()) -> str:
    """What the speaker said: without a leading "Name: " that only repeats who speaks, and without whole blocks of recalled
    memories that came back inside the message: they must not be found again as news. (A stray tag hides nothing.)"""
    text = without_injected(text, [span for span in injected if len(span) > 2 or is_block(text, *span)])
    if speaker and text.startswith(speaker) and text[len(speaker) : len(speaker) + 1] in (":", "："):
        return text[len(speaker) + 1 :].lstrip() or text
    return text


def news_of(memory: Memory) -> str:
    """The text of a memory with whole blocks of recalled memories blanked out, as long as before: see `own_words`."""
    return own_words(memory.text, None, memory.body.get("injected", ()))


def is_block(text: str, start: int, end: int) -> bool:
    """Whether this part of a text is fenced blocks from end to end. (In `injected`, a third number says so of a part of one,
    whose other parts stand in the next record.)
    """
    return _BLOCK.fullmatch(text, start, end) is not None


def without_injected(text: str, spans: Sequence[Sequence[int]]) -> str:
    """The text with these spans blanked out at the same length."""
    for start, end, *_ in spans:
        text = text[:start] + "\n" * (min(end, len(text)) - start) + text[end:]
    return text


def index_terms(text: str) -> tuple[str, ...]:
    """The terms a text is found by: its content terms, or all its terms when it has only stop words."""
    analysis = analyze(text)
    return tuple(analysis.content_terms() or analysis.terms)


def traits(text: str, speaker: str | None = None) -> int:
    """What a text is, as a bit set: it ends as a question, speaks of time, holds one name or more."""
    said = text[:4000]
    if "[" in said:
        said = _ATTACHED.sub("", said)
    own = set(speaker.split()) if speaker else set()
    names = {n for n in _NAME.findall(said) if n not in _NOT_NAMES and n not in own}
    bits = QUESTION if _ENDS_AS_QUESTION.search(said[-40:]) else 0
    bits |= TIME_WORD if _TIME_WORD.search(said.lower()) else 0
    return bits | (MORE_NAMES if len(names) > 1 else ONE_NAME if names else 0)


def _beside(memory: Memory) -> tuple[str, ...]:
    """Speaker and date words of a raw record; a derived memory says in its text what matters."""
    if LAYER_OF[memory.kind] is not Layer.TRACE or memory.kind is Kind.CHUNK:
        return ()
    words = _name_terms(memory.speaker) if memory.speaker else ()
    return words + (date_words(memory.happened_at.date()) if memory.happened_at else ())


@lru_cache(4096)
def _name_terms(speaker: str) -> tuple[str, ...]:
    return index_terms(speaker)


@lru_cache(4096)
def date_words(day: date) -> tuple[str, ...]:
    """The words of a date as the analyzer would write them: year, month name, weekday, day and ISO date."""
    return index_terms(f"{day:%Y %B %A} {day.day} {day:%Y-%m-%d}")
