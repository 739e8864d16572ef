"""Which memories a session needs at hand: a bounded choice out of what a search for its last messages finds.

Facts that hold come first, then what was said. Ids, scores and reasons are kept, never texts: what is replaced or deleted later
drops out when the set is read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from memos.memory.hit import Hit, SearchResult
from memos.memory.model import Layer, Memory
from memos.storage.sqlite.upkept import Kept
from memos.text.document import own_words

SIZE: Final = 20
MESSAGES: Final = 6  # of the end of a session, which together are the question
FOUND: Final = 60  # hits out of which the set is chosen
_LEAST = 0.4  # share of the best score below which a hit has little to do with the session
_QUESTION_CHARS = 2_000
_REASONS = {
    "lexical": "words", "session": "words", "exact": "words", "dense": "meaning", "dense_window": "meaning",
    "speaker": "speaker", "date": "date",
}  # fmt: skip


def question_of(messages: Sequence[Memory]) -> str:
    """What is asked for a session: its last messages (newest first), in the order they were said."""
    parts: list[str] = []
    room = _QUESTION_CHARS
    for message in messages:
        said = own_words(message.text, message.speaker).strip()[-room:]
        parts.append(said)
        room -= len(said) + 1
        if room <= 0:
            break
    return "\n".join(reversed([part for part in parts if part]))


def choose(result: SearchResult, asked: Collection[str], size: int = SIZE) -> tuple[Kept, ...]:
    """At most `size` memories out of what was found: facts first, of which at most half unless there is room. The messages that
    were `asked` with are at hand already and left out.
    """
    facts: dict[str, Kept] = {}
    said: dict[str, Kept] = {}
    least = _LEAST * max((hit.score for hit in result.hits if hit.id not in asked), default=0.0)
    for hit in result.hits:
        if hit.score < least:
            continue
        score = round(hit.score, 4)
        for fact in hit.facts:
            facts.setdefault(fact.id, Kept(fact.id, score, "fact"))
        if hit.stale or hit.id in asked:
            continue
        if hit.memory.layer is Layer.DERIVED:
            facts.setdefault(hit.id, Kept(hit.id, score, "fact"))
        else:
            said.setdefault(hit.id, Kept(hit.id, score, _reason(hit)))
    told, heard = list(facts.values()), list(said.values())
    first = max(size // 2, size - len(heard))
    told = told[:first]
    return (*told, *heard[: size - len(told)])


def _reason(hit: Hit) -> str:
    shares: dict[str, float] = {}
    for name, share in hit.why.items():
        if (reason := _REASONS.get(name)) is not None:
            shares[reason] = shares.get(reason, 0.0) + share
    return max(shares, key=lambda name: shares[name], default="words")
