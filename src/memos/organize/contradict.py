"""Contradictions without a winner: two values of a slot that has one at a time, neither of which is surely the newer truth.

Both stay active with a `CONTRADICTS` edge between them. The later one is a rival: it stands outside the timeline of the slot
until something said later, or a feedback, confirms one of them (law 5: what is not known to be over is not superseded).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memos.memory.model import Edge, EdgeType, Memory, Status
from memos.memory.statement import Statement
from memos.storage.ports import WriteTx
from memos.storage.timeline import CONTESTED, RIVAL, last_said, settle, strangers

LESS_TRUSTED = 0.2  # by how much trust must differ for the less trusted not to replace the other
# Words by which somebody says that it has changed, or corrects what was just said.
_CHANGED = re.compile(
    r"\b(?:now|no longer|any ?more|moved|changed|switched|became|from now on|as of|since|new|instead|actually|correction|sorry"
    r"|i mean|wait|no,|not anymore|updated?|replaced|rather)\b"
    r"|现在|如今|目前|改|换|搬|变|从今|以后|不再|更新|新的|不对|不是|说错|其实|应该是|更正",
    re.IGNORECASE,
)


def contested(known: Memory, s: Statement, trace: Memory) -> bool:
    """Whether a statement of another value of the slot contradicts what is known instead of replacing it (or, when it was said
    earlier, of having been replaced by it).
    """
    if known.status is not Status.ACTIVE or known.valid_to is not None or s.body.get("corrects") == known.id:
        return False
    if strangers(known, trace):
        return True
    if "corrects" in s.body:
        return False
    if any(source.memory_id == trace.id for source in known.sources):
        return not _tells_change(s, trace, known)
    said, before = trace.valid_from, last_said(known)
    later = said is None or said >= before
    gap = trace.trust - known.trust if later else known.trust - trace.trust
    if gap <= -LESS_TRUSTED:
        return True
    if gap >= LESS_TRUSTED or not _other_voice(known, trace):
        return False
    if said == before:
        return True
    own = _owns(s.slot, _voice(trace)) if later else any(_owns(s.slot, v) for v in _voices(known))
    return not own and (not later or not _tells_change(s, trace, known))


def oppose(tx: WriteTx, rival: Memory, others: Sequence[Memory]) -> None:
    """Note that a memory just added contradicts others."""
    for other in others:
        current = tx.get(other.id)
        if current is None:
            continue
        if not current.body.get(CONTESTED):
            tx.put(replace(current, body={**current.body, CONTESTED: True}), "contradict")
        tx.link(Edge(rival.id, other.id, EdgeType.CONTRADICTS))


def confirms(winner: Memory, others: Sequence[Memory], trace: Memory) -> bool:
    """Whether one more trace that says what `winner` says decides against the others. It does when it is as trusted, and no mere
    repetition: of another voice, of one that said the others, or of whom it is about.
    """
    if winner.trust - trace.trust >= LESS_TRUSTED or any(strangers(m, trace) for m in (winner, *others)):
        return False
    if _other_voice(winner, trace) or trace.trust - winner.trust >= LESS_TRUSTED:
        return True
    later = trace.valid_from is None or trace.valid_from > max(map(last_said, (winner, *others)))
    own = winner.slot is not None and _owns(winner.slot, _voice(trace))
    return later and (own or any(not _other_voice(other, trace) for other in others))


def resolve(tx: WriteTx, winner: str, at: datetime) -> int:
    """Decide for a memory: what contradicts it is superseded, from `at` on at the latest; returns how many that were."""
    chosen = tx.get(winner)
    if chosen is None or not chosen.body.get(CONTESTED):
        return 0
    losers = _opponents(tx, chosen.id)
    was_rival = bool(chosen.body.get(RIVAL))
    body = {k: v for k, v in chosen.body.items() if k not in (RIVAL, CONTESTED)}
    chosen = tx.put(replace(chosen, body=body), "confirm")
    for loser in losers:
        tx.unlink(loser.id, chosen.id, EdgeType.CONTRADICTS)
        tx.unlink(chosen.id, loser.id, EdgeType.CONTRADICTS)
        rest = [m for m in _opponents(tx, loser.id) if m.id != chosen.id]
        body = dict(loser.body) if rest else {k: v for k, v in loser.body.items() if k != CONTESTED}
        if loser.status is not Status.ACTIVE:
            continue
        if was_rival and not loser.body.get(RIVAL):
            tx.put(replace(loser, body=body), "confirm")  # the timeline says until when it held
            continue
        until = max(at, loser.valid_from or at)
        tx.put(replace(loser, body=body, status=Status.SUPERSEDED, valid_to=until), "supersede")
        tx.link(Edge(chosen.id, loser.id, EdgeType.SUPERSEDES, valid_from=until))
    if was_rival and chosen.slot is not None:
        settle(tx, chosen.slot)
    return len(losers)


def _opponents(tx: WriteTx, id: str) -> list[Memory]:
    edges = tx.edges(id, "both", (EdgeType.CONTRADICTS,))
    found = [tx.get(e.dst if e.src == id else e.src) for e in edges]
    return [m for m in found if m is not None]


def _tells_change(s: Statement, trace: Memory, known: Memory) -> bool:
    """Whether the words say themselves that it changed, or since when it is so."""
    if (
        s.valid_from is not None
        and s.valid_from != trace.valid_from
        and s.valid_from > (known.valid_from or s.valid_from)
    ):
        return True
    return _CHANGED.search(trace.text) is not None


Voice = tuple[str | None, str]


def _voice(trace: Memory) -> Voice:
    return trace.owner, (trace.speaker or trace.role or "user").casefold()


def _voices(m: Memory) -> set[Voice]:
    return {(m.owner, (s.speaker or s.role or "user").casefold()) for s in m.sources} or {(m.owner, "user")}


def _other_voice(m: Memory, trace: Memory) -> bool:
    """Whether a trace is of somebody who did not say this so far."""
    return _voice(trace) not in _voices(m)


def _owns(slot: str, voice: Voice) -> bool:
    """Whether a slot is about who speaks, or what is theirs."""
    subject, (owner, name) = slot.rpartition("|")[0], voice
    mine = {name, (owner or "").casefold()} - {""}
    return any(subject == who or subject.startswith((f"{who}'s ", f"{who}的", f"{who}’s ")) for who in mine)
