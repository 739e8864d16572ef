"""Whether two statements about one subject say the same in other words. Pure functions over plain texts.

Same means: the same words in the same order, once what carries no meaning is taken out. Whatever could make a difference (a
number, a name, a date, a unit, a negation, what was or may be) must agree, so that a merge never swallows news.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memos.memory.ids import unique_key
from memos.memory.model import Kind, Memory
from memos.memory.statement import Statement
from memos.organize.sense import CHANGES_SENSE, is_number, names, pieces

PERMUTATIONS = 64
SHARED = 0.45  # of the shingles of two texts that are shared where it is worth asking a model whether they say the same
NEAR = 0.86  # cosine from which it is worth asking, whatever the words
_SHINGLE = 3


class Likeness(StrEnum):
    """How two statements compare: they say the same, may say the same, or do not."""

    SAME = "same"
    TIE = "tie"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Said:
    """What is compared of a statement or a memory. `denied`: it says that the value is not so."""

    kind: Kind
    slot: str
    text: str
    value: str
    denied: bool
    since: datetime | None
    until: datetime | None
    due: tuple[str, ...]

    @classmethod
    def by(cls, s: Statement) -> Said:
        """What a statement says."""
        return cls(s.kind, s.slot, s.text, s.value, _denied(s.slot, s.key), s.valid_from, s.valid_to, _due(s.body))

    @classmethod
    def of(cls, m: Memory) -> Said:
        """What a memory says."""
        slot, until = m.slot or "", m.valid_to if m.body.get("past") or m.kind is Kind.EVENT else None
        denied = _denied(slot, str(m.body.get("key", "")))
        return cls(m.kind, slot, m.text, str(m.body.get("value", "")), denied, m.valid_from, until, _due(m.body))

    @property
    def subject(self) -> str:
        """Whom or what it is about, as slots name it."""
        return self.slot.rpartition("|")[0]


def alike(a: Said, b: Said, cosine: float | None = None) -> Likeness:
    """Whether two statements of one subject say the same. `cosine`: of their vectors, where there are any."""
    if a.subject != b.subject or a.denied != b.denied or a.due != b.due or a.until != b.until or not _same_day(a, b):
        return Likeness.DIFFERENT
    mine, other = _compared(a, b)
    if not mine or not other or _weight(a.text) != _weight(b.text) or _numbers(a.text) != _numbers(b.text):
        return Likeness.DIFFERENT
    if mine == other:
        return Likeness.SAME
    if names(a.text) != names(b.text) and not (names(a.text) & names(b.text)):
        return Likeness.DIFFERENT
    return Likeness.TIE if _may_be_same(mine, other, cosine) else Likeness.DIFFERENT


def sense_key(s: Said) -> bytes | None:
    """The key under which whatever says the same about the subject is found, whichever attribute it was filed under; None where
    a statement cannot be told from others by its words.
    """
    said = _of_subject(s)
    if not said or s.kind is Kind.EVENT:
        return None
    return unique_key("sense", s.subject, "-" if s.denied else "+", *said)


@lru_cache(maxsize=4096)
def signature(words: tuple[str, ...]) -> NDArray[np.uint32]:
    """The MinHash of a text: for each of 64 permutations the least of its shingles (words, and runs of three characters)."""
    text = " ".join(words)
    grams = {text[i : i + _SHINGLE] for i in range(max(1, len(text) - _SHINGLE + 1))} | {f"={word}" for word in words}
    hashes = np.fromiter((zlib.crc32(g.encode("utf-8", "replace")) for g in sorted(grams)), np.uint64, len(grams))
    mixed: NDArray[np.uint64] = (hashes[:, None] * _FACTORS[None, :] + _ADDENDS[None, :]) >> np.uint64(32)
    least: NDArray[np.uint32] = mixed.min(axis=0).astype(np.uint32)
    least.setflags(write=False)
    return least


def shared(a: tuple[str, ...], b: tuple[str, ...]) -> float:
    """The share of the shingles of two texts that both have, 0 to 1, estimated by MinHash."""
    return float(np.mean(signature(a) == signature(b)))


def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The factors and addends of the permutations: always the same ones."""
    state, drawn = 0x9E3779B97F4A7C15, []
    for _ in range(2 * PERMUTATIONS):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        drawn.append(state | 1)
    made = np.array(drawn, np.uint64)
    return made[:PERMUTATIONS], made[PERMUTATIONS:]


_FACTORS, _ADDENDS = _permutations()


def _compared(a: Said, b: Said) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of each that count: the values where both fill one slot, which says the rest, else all but the subject."""
    if a.slot == b.slot:
        return pieces(a.value), pieces(b.value)
    return _of_subject(a), _of_subject(b)


def _of_subject(s: Said) -> tuple[str, ...]:
    """What is said of a subject: the words without those that name it."""
    said, named = pieces(s.text), pieces(s.subject)
    if named and said[: len(named)] == named:
        return said[len(named) :]
    return said


@lru_cache(maxsize=4096)
def _weight(text: str) -> tuple[str, ...]:
    """The words of a text that turn its sense: negations, what was, what is only wished."""
    return tuple(sorted({word for word in pieces(text) if word in CHANGES_SENSE}))


@lru_cache(maxsize=4096)
def _numbers(text: str) -> tuple[str, ...]:
    return tuple(piece for piece in pieces(text) if is_number(piece))


def _may_be_same(a: tuple[str, ...], b: tuple[str, ...], cosine: float | None) -> bool:
    """Whether nothing that differs is sure to make a difference, and much is shared."""
    if [w for w in a if is_number(w)] != [w for w in b if is_number(w)]:
        return False
    if cosine is not None and cosine >= NEAR:
        return True
    one, other = {*a}, {*b}
    return one <= other or other <= one or (bool(one & other) and shared(a, b) >= SHARED)


def _same_day(a: Said, b: Said) -> bool:
    """What happened happened once: told of two days it is two things. What holds may be told at any time."""
    if Kind.EVENT not in (a.kind, b.kind):
        return True
    if a.kind is not b.kind or a.since is None or b.since is None:
        return a.kind is b.kind and a.since is b.since
    return a.since.date() == b.since.date()


def _denied(slot: str, key: str) -> bool:
    return key.startswith(f"{slot}|not ")


def _due(body: Mapping[str, Any]) -> tuple[str, ...]:
    due = body.get("due")
    return tuple(map(str, due)) if isinstance(due, (list, tuple)) else ()
