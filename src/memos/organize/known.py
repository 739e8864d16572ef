"""Which memory a new statement repeats in other words: the statement is then brought in under that memory's slot and key, so
that it becomes one more piece of its evidence. What it said itself stays in the edge to its record (law 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.memory.model import Memory, Status
from memos.memory.statement import Statement
from memos.organize.sense import pieces
from memos.organize.similar import Likeness, Said, alike, sense_key
from memos.storage.ports import WriteTx

SAID_AS = "said_as"  # in a statement's body and in the info of its edge: in which words, for which slot, it was told


def as_known(tx: WriteTx, s: Statement, known: Sequence[Memory]) -> Statement:
    """The statement as what it repeats would say it; the same when it repeats nothing. `known`: what its slot holds or held,
    none of it under the statement's own key.
    """
    if SAID_AS in s.body or "corrects" in s.body:
        return s
    if s.ended:
        return _told_as(s, next((m for m in reversed(known) if _is_value(m, s)), None))
    said = Said.by(s)
    words = pieces(s.value)
    for m in reversed(known):  # of the same slot, where it is the words of the value that decide
        if pieces(str(m.body.get("value", ""))) == words and alike(said, Said.of(m)) is Likeness.SAME:
            return _told_as(s, m)
    key = sense_key(said)
    id = tx.find_key(key) if key is not None else None
    found = tx.get(id) if id is not None else None
    if found is None or found.slot is None or found.status not in (Status.ACTIVE, Status.SUPERSEDED):
        return s
    return _told_as(s, found) if alike(said, Said.of(found)) is Likeness.SAME else s


def told_as(s: Statement, slot: str, key: str, *, single: bool) -> Statement:
    """The statement under another slot and key, with a note of its own."""
    own = {"text": s.text, "slot": s.slot, "key": s.key}
    return replace(s, slot=slot, key=key, single=single, body={**s.body, SAID_AS: own})


def own_words(s: Statement) -> Mapping[str, Any]:
    """What the edge from a fact to its record keeps of a statement that was told in other words."""
    return {SAID_AS: s.body[SAID_AS]} if SAID_AS in s.body else {}


def without_note(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body of a statement without that note, for a memory of its own."""
    return {k: v for k, v in body.items() if k != SAID_AS} if SAID_AS in body else body


def _told_as(s: Statement, m: Memory | None) -> Statement:
    if m is None or m.slot is None:
        return s
    return told_as(s, m.slot, str(m.body.get("key", "")), single=bool(m.body.get("single")))


def _is_value(m: Memory, s: Statement) -> bool:
    """Whether what is said to be over is what this memory holds."""
    denied = str(m.body.get("key", "")).startswith(f"{m.slot}|not ")
    return not denied and pieces(str(m.body.get("value", ""))) == pieces(s.value)
