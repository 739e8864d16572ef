"""Whether what a model says stands in the messages: the value in its evidence, and the sentence with no names, numbers or
language of its own. What does not stand there was invented, or echoes the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from memos.reading.fine.dating import Told
from memos.reading.fine.lines import Line
from memos.reading.fine.matching import numbers_in, place, support
from memos.reading.patterns import words
from memos.text.analysis import analyze, content_terms
from memos.text.dates import find_dates
from memos.text.name_lists import GIVEN, PLACES
from memos.text.names import NameType, find_names
from memos.text.scripts import fold, normalize

Verdict = Literal["stands", "reworded", "invented"]
LONGEST_VALUE, LONGEST_TEXT = 240, 600
_PARAPHRASED = 0.6  # the share of a value's terms that its evidence must have where it does not stand there
_OF_THE_SOURCE = 0.3  # the share of a sentence's terms that the messages and those next to them must have
_NEAR = 2  # messages on either side
_PLAINLY = 0.12  # the share of function words of a text in English
_MOSTLY = 0.3  # the share of Chinese characters above which a text is in Chinese
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_CAPITAL = re.compile(r"(?<![\w'’.-])[A-ZÀ-ÖØ-Þ][\w’'-]*")
_BEGINS = re.compile(r"(?:^|[.!?:\"“‘(]\s*|\n\s*)$")
_NO_NAMES = words(
    """
    january february march april may june july august september october november december monday tuesday wednesday thursday
    friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun christmas easter i
    user assistant
    """
)
_FUNCTION = words("the are were been and that this my you your it with have")
_COUNTING = frozenset(("0", "1"))
_SURE = (NameType.PERSON, NameType.PLACE, NameType.ORGANISATION)
_PARTS = re.compile(r"['’-]")


@dataclass(frozen=True, slots=True)
class Grounded:
    """A value that stands in a message: where, in the spelling found there, and how sure that is, in (0, 1]."""

    line: Line
    start: int
    end: int
    value: str
    confidence: float


def is_cjk(text: str) -> bool:
    """Whether a text has Chinese, Japanese or Korean characters."""
    return _CJK.search(text) is not None


def _other_language(text: str, said: str) -> bool:
    """Whether a text is in Chinese and what was said is not, or the other way round."""
    if is_cjk(text):
        return not is_cjk(said)
    return len(_CJK.findall(said)) > _MOSTLY * len(said)


def _other_words(text: str, said: str) -> bool:
    """Whether one of two texts in Latin letters is plainly English and the other is not."""
    shares = sorted((_english(text), _english(said)))
    return shares[0] == 0 and shares[1] > _PLAINLY


def _english(text: str) -> float:
    found = _WORD.findall(text.casefold())
    return sum(word in _FUNCTION for word in found) / max(1, len(found))


class Ground:
    """The messages of a segment, and those before it, as what a model's words must stand on."""

    def __init__(self, lines: Sequence[Line], before: Sequence[Line] = ()) -> None:
        self.lines = tuple(lines)
        self.all = (*lines, *before)

    @cached_property
    def _words(self) -> frozenset[str]:
        """All words of the messages and of who speaks, folded, also the parts of those with a hyphen."""
        words = (
            word for line in self.all for word in _WORD.findall(normalize(f"{line.text} {line.label} {line.subject}"))
        )
        whole = {fold(word) for word in words}
        return frozenset(whole | {fold(part) for word in whole for part in _PARTS.split(word)})

    @cached_property
    def label_terms(self) -> frozenset[str]:
        """The content terms of who speaks."""
        return frozenset(content_terms(analyze(" ".join(line.label for line in self.all)).terms))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(n for line in self.all for n in numbers_in(f"{line.text} {line.label}"))

    def value(self, value: str, cited: Sequence[Line], others: Sequence[Line], when: Told | None) -> Grounded | None:
        """Where a value stands: in the cited messages, else in others, else as a paraphrase of a cited one. None: nowhere."""
        value = " ".join(value.split()).strip(' "“”')
        if not value or len(value) > LONGEST_VALUE:
            return None
        for lines, confidence in ((cited, 1.0), (others, 0.8)):
            for line in lines:
                span = place(value, line.text, line.folded)
                if span is not None:
                    return Grounded(line, *span, line.text[slice(*span)], confidence)
        return self._paraphrase(value, cited, when)

    def _paraphrase(self, value: str, cited: Sequence[Line], when: Told | None) -> Grounded | None:
        """A value in other words, of the terms of a cited message; a name or a number is never another word."""
        best = max(cited, key=lambda line: support(value, [line.terms]))
        if is_cjk(value) and not is_cjk(best.text):
            return None
        told = support(value, [best.terms]) >= _PARAPHRASED and numbers_in(value) <= numbers_in(best.text)
        if told and not self.new_names(value, within=True):
            return Grounded(best, 0, len(best.text), value, 0.7)
        if when is not None:  # "my birthday is tomorrow": the value is a date that the message means
            found = find_dates(value, now=best.time, zone=best.message.zone)
            if found and found[0].from_ < when.to and when.from_ < found[0].to:
                return Grounded(best, 0, len(best.text), value, 0.8)
        return None

    def sentence(self, text: str, cited: Sequence[Line], when: Iterable[Told], language: str = "") -> Verdict:
        """What a sentence is to the messages that are to say it: it `stands` on them, it is `reworded` (another language, numbers
        of its own: their own words are better), or `invented`: they and those around them speak of something else.
        """
        if not text or len(text) > LONGEST_TEXT:
            return "reworded"
        if not language:
            said = " ".join(line.text for line in cited)
            if _other_language(text, said):
                return "reworded"
            own = set(content_terms(analyze(text).terms)) - self.label_terms
            if not own:
                return "reworded"
            if len(own & self._around(cited)) < _OF_THE_SOURCE * len(own):
                return "reworded" if _other_words(text, said) else "invented"
        return "reworded" if self._new_numbers(text, cited, tuple(when)) else "stands"

    def _around(self, cited: Sequence[Line]) -> frozenset[str]:
        """The content terms of messages and of those next to them."""
        numbers = [line.number for line in cited]
        near = [line for line in self.lines if any(abs(line.number - n) <= _NEAR for n in numbers)]
        near += self.all[len(self.lines) :] if min(numbers) <= _NEAR else ()
        return frozenset[str]().union(*(line.terms for line in near))

    def _new_numbers(self, text: str, cited: Sequence[Line], times: Sequence[Told]) -> bool:
        """Whether a sentence has numbers that nobody said and that are no part of a date that was meant."""
        spoken = [(m.from_, m.to) for line in cited for m in line.dates] + [(t.from_, t.to) for t in times]
        for mention in reversed(find_dates(text, now=cited[0].time, zone=cited[0].message.zone)):
            own_day = any(mention.from_ <= line.time < mention.to for line in cited)
            if own_day or any(mention.from_ < to and from_ < mention.to for from_, to in spoken):
                text = f"{text[: mention.start]} {text[mention.end :]}"
        return not numbers_in(text) <= self._numbers | _COUNTING

    def new_names(self, text: str, *, within: bool = False) -> bool:
        """Whether a text has names that stand in none of the messages. `within`: it is no sentence: every capital counts."""
        text = normalize(text)
        for match in _CAPITAL.finditer(text):
            word = match[0].rstrip("'’-").removesuffix("'s").removesuffix("’s")
            if all(fold(part) in self._words or fold(part) in _NO_NAMES for part in _PARTS.split(word) if part):
                continue
            if within or not _BEGINS.search(text, 0, match.start()) or word in GIVEN or word in PLACES:
                return True
        if not is_cjk(text):
            return False
        named = [n.text for n in find_names(text) if n.type in _SURE and _CJK.search(n.text)]
        return not all(self.names(name) for name in named)

    def names(self, name: str) -> Line | None:
        """The first message that has a name, letter by letter but for width and case, or whose speaker bears it."""
        for line in self.all:
            if name in line.label or place(name, line.text, line.folded) is not None:
                return line
        return None
