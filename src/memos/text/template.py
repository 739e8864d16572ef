"""Patterns of texts with `{parameters}`: how they are written, matched and filled. `memos.text.generalise` makes them.

Pure. A pattern is read and matched without regular expressions made from data, within a bounded number of steps, so that no text
can make it slow. In a pattern a text's own `{word}` is written `{=word}`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memos.memory.learned import Parameter

LONGEST = 2_000  # characters of a text that are generalised
_VALUE = 400  # characters of a parameter's value
_STEPS = 20_000  # of one match
_REMEMBERED = 300  # characters of a text whose match is remembered
_PARAMETER = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
_ESCAPED = re.compile(r"\{=(=*[a-z][a-z0-9_]{0,39})\}")
_LITERAL = re.compile(r"\{(=*[a-z][a-z0-9_]{0,39})\}")
_SPACE = re.compile(r"\s")
_CLOSING = ".,;:!?)]}'\"。，；：！？）】」"


@dataclass(frozen=True, slots=True)
class Template:
    """Patterns that belong together (one for each of the aligned texts) and the parameters in them. An empty pattern stands for a
    text that had nothing in common: it matches anything and is filled as nothing.
    """

    patterns: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    roles: tuple[str, ...] = ()

    def match(self, texts: str | Sequence[str | None], *, whole: bool = True) -> dict[str, str] | None:
        """The values under which the texts are as the patterns say; None when they are not. A text that is None is left out."""
        given = (texts,) if isinstance(texts, str) else texts
        values: dict[str, str] = {}
        for pattern, text in zip(self.patterns, given, strict=False):
            if text is None or not pattern:
                continue
            found = match(pattern, text, wide=wide(self.parameters), whole=whole, values=values)
            if found is None:
                return None
            values = found
        return values

    def fill(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The texts with these values; a parameter without one stays as `{name}`."""
        return tuple(fill(pattern, values) for pattern in self.patterns)


def wide(parameters: Collection[Parameter]) -> frozenset[str]:
    """The parameters whose values may hold spaces: one of their examples does."""
    return frozenset(p.name for p in parameters if any(_SPACE.search(e) for e in p.examples))


def names(pattern: str) -> tuple[str, ...]:
    """The parameters of a pattern, in order, each once."""
    return tuple(dict.fromkeys(_PARAMETER.findall(pattern)))


def escape(text: str) -> str:
    """A text as a pattern that matches only it."""
    return _LITERAL.sub(r"{=\1}", text)


def fill(pattern: str, values: Mapping[str, str]) -> str:
    """The text of a pattern with these values; a parameter without one stays as `{name}`."""
    pieces = _pieces(pattern)
    return "".join(values.get(p.name, f"{{{p.name}}}") if isinstance(p, _Name) else p for p in pieces)


def match_any(
    patterns: Iterable[str],
    text: str,
    *,
    wide: Collection[str] = (),
    whole: bool = True,
    values: Mapping[str, str] | None = None,
) -> dict[str, str] | None:
    """As `match`, with the first of several patterns that the text is like; empty ones match nothing."""
    for pattern in patterns:
        found = match(pattern, text, wide=wide, whole=whole, values=values) if pattern else None
        if found is not None:
            return found
    return None


def match(
    pattern: str,
    text: str,
    *,
    wide: Collection[str] = (),
    whole: bool = True,
    values: Mapping[str, str] | None = None,
) -> dict[str, str] | None:
    """The values under which a text is as a pattern says, with those known before; None when it is not. Upper and lower case are
    alike. A value is not empty and holds no spaces, but where its name is among `wide`. Not `whole`: the pattern may stand
    anywhere in the text, between words.
    """
    if len(text) > 10 * LONGEST:
        return None
    if not may_match(pattern, _lower(text)):
        return None
    if not values and len(text) <= _REMEMBERED:
        found = _matched(pattern, text, frozenset(wide), whole)
        return None if found is None else dict(found)
    return _Search(_pieces(pattern), text, frozenset(wide), whole).run(dict(values or {}))


@lru_cache(maxsize=4_096)
def _matched(pattern: str, text: str, wide: frozenset[str], whole: bool) -> Mapping[str, str] | None:
    """As `match`, of a short text: much the same is asked again with every episode that is learned from."""
    return _Search(_pieces(pattern), text, wide, whole).run({})


def may_match(pattern: str, low: str) -> bool:
    """Whether all that a pattern has of its own stands in a text (in small letters): quick, where thousands are to be tried."""
    return all(own in low for own in _own(pattern))


# -- reading a pattern ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Name:
    name: str


@lru_cache(maxsize=8_192)
def _own(pattern: str) -> tuple[str, ...]:
    """What stands in every text that a pattern matches, in small letters, the longest first."""
    return tuple(sorted((_lower(p) for p in _pieces(pattern) if isinstance(p, str)), key=len, reverse=True))


@lru_cache(maxsize=8_192)
def _pieces(pattern: str) -> tuple[str | _Name, ...]:
    out: list[str | _Name] = []
    at = 0
    for found in _PARAMETER.finditer(pattern):
        if found.start() > at:
            out.append(_ESCAPED.sub(r"{\1}", pattern[at : found.start()]))
        out.append(_Name(found[1]))
        at = found.end()
    if at < len(pattern):
        out.append(_ESCAPED.sub(r"{\1}", pattern[at:]))
    return tuple(out)


def _lower(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else text


class _Search:
    """One match: tries the nearest end of each value first and goes back at most `_STEPS` times."""

    def __init__(self, pieces: tuple[str | _Name, ...], text: str, wide: frozenset[str], whole: bool) -> None:
        self._pieces, self._text, self._low = pieces, text, _lower(text)
        self._wide, self._whole = wide, whole
        self._left = _STEPS

    def run(self, values: dict[str, str]) -> dict[str, str] | None:
        if not self._pieces:
            return values if not self._text or not self._whole else None
        for start in (0,) if self._whole else self._starts():
            found = self._at(0, start, values)
            if found is not None or self._left <= 0:
                return found
        return None

    def _starts(self) -> Iterator[int]:
        """Where words begin; of a pattern that begins with something of its own, only where that stands."""
        text, first = self._text, self._pieces[0]
        places: Iterable[int] = range(len(text))
        if isinstance(first, str):
            places = _places(_lower(first), self._low)
        return (i for i in places if i == 0 or not (_wordy(text[i - 1]) and _wordy(text[i])))

    def _at(self, i: int, pos: int, values: dict[str, str]) -> dict[str, str] | None:
        self._left -= 1
        if self._left <= 0:
            return None
        if i == len(self._pieces):
            return values if self._ends(pos) else None
        piece = self._pieces[i]
        known = piece if isinstance(piece, str) else values.get(piece.name)
        if known is not None:
            return self._at(i + 1, pos + len(known), values) if self._stands(known, pos) else None
        assert isinstance(piece, _Name)
        for end in self._endings(i, pos, piece.name, values):
            found = self._at(i + 1, end, {**values, piece.name: self._text[pos:end]})
            if found is not None or self._left <= 0:
                return found
        return None

    def _stands(self, known: str, pos: int) -> bool:
        return self._low.startswith(_lower(known), pos)

    def _ends(self, pos: int) -> bool:
        text = self._text
        if self._whole or pos >= len(text):
            return pos == len(text)
        return not (_wordy(text[pos - 1]) and _wordy(text[pos]))

    def _endings(self, i: int, pos: int, name: str, values: Mapping[str, str]) -> list[int]:
        limit = self._reach(pos, name)
        if i + 1 == len(self._pieces):
            if self._whole:
                return [limit] if limit == len(self._text) and limit > pos else []
            while limit > pos + 1 and self._text[limit - 1] in _CLOSING:
                limit -= 1
            return [limit] if limit > pos else []
        after = self._pieces[i + 1]
        known = after if isinstance(after, str) else values.get(after.name, "")
        if not known:
            return list(range(pos + 1, limit + 1))
        out, at, known = [], pos + 1, _lower(known)
        while (at := self._low.find(known, at, limit + len(known))) >= 0 and at <= limit:
            out.append(at)
            at += 1
        # Of a path the first parameter is the folder, however deep it is.
        return out[::-1] if known == "/" and i + 2 < len(self._pieces) else out

    def _reach(self, pos: int, name: str) -> int:
        limit = min(len(self._text), pos + _VALUE)
        if name in self._wide:
            line = self._text.find("\n", pos, limit)
            return limit if line < 0 else line
        space = _SPACE.search(self._text, pos, limit)
        return limit if space is None else space.start()


def _places(own: str, low: str) -> Iterator[int]:
    at = low.find(own)
    while at >= 0:
        yield at
        at = low.find(own, at + 1)


def _wordy(char: str) -> bool:
    return char.isalnum() and not "一" <= char <= "鿿"
