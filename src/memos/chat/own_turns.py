"""What a chat stored of itself: questions and answers bear a mark by which the same question, asked again, does not find them.

Else an answer, right or wrong, would be the best evidence for itself. What a user says beside asking stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from memos.memory.hit import Hit
from memos.memory.model import Layer
from memos.text.analysis import analyze

CHAT = "chat"  # in the `info` of a question and its answer: which question it was
_LIKE = 0.8  # share of the content words of two questions, from which they ask the same


def asked(question: str) -> str:
    """The mark of a question: the same for the same content words, in whichever order and form they are asked."""
    return hashlib.blake2b(" ".join(sorted(_words(question))).encode("utf-8", "replace"), digest_size=4).hexdigest()


def without_own(hits: Sequence[Hit], question: str) -> list[Hit]:
    """The hits that are not: this question or nearly the same, asked in a chat; what a chat answered to it; and what is known
    from such an answer alone. A message that told something beside asking stays.
    """
    marks = {asked(question)}
    gone: set[str] = set()
    for hit in hits:
        memory = hit.memory
        if memory.role == "user" and CHAT in memory.info and _alike(memory.text, question):
            marks.add(str(memory.info[CHAT]))
            gone |= set() if hit.facts or hit.outdated else {hit.id}
    gone |= {h.id for h in hits if h.memory.role == "assistant" and h.memory.info.get(CHAT) in marks}
    return [hit for hit in hits if hit.id not in gone and not _rests_on(hit, gone)]


def _rests_on(hit: Hit, records: set[str]) -> bool:
    sources = {s.memory_id for s in hit.memory.sources}
    return hit.memory.layer is not Layer.TRACE and bool(sources) and sources <= records


def _alike(one: str, other: str) -> bool:
    a, b = _words(one), _words(other)
    return len(a & b) >= _LIKE * len(a | b)


def _words(text: str) -> frozenset[str]:
    """The content words of a text; all words of one that has none ("Who am I?")."""
    analysis = analyze(text)
    return frozenset(analysis.content_terms() or analysis.terms or [text.strip()])
