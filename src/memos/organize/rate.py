"""Thumbs, and how tasks ended: evidence on the memories that were used, which moves how sure they are only a little.

An answer can be bad though every memory in it is right, so nothing is hidden, changed or superseded by a rating.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memos.memory.feedback import FeedbackDone, Operation, Rating, Told
from memos.memory.model import Edge, EdgeType, Layer, Memory, Status
from memos.storage.ports import WriteTx

UP, DOWN = 0.1, 0.03  # of what is missing to certainty that is gained; of what there is that is lost
LOWEST = 0.3  # a rating alone makes nothing less sure than this
_GOOD = ("up", "succeeded")


def rate(tx: WriteTx, trace: Memory, ids: Sequence[str], rating: Rating) -> FeedbackDone | None:
    """Note a rating on memories, those that were derived and hold; None where there is none of them."""
    there = [m for id in dict.fromkeys(ids) if (m := tx.get(id)) is not None and m.status is Status.ACTIVE]
    for memory in there:
        tx.link(Edge(trace.id, memory.id, EdgeType.RELATES_TO, predicate=f"rated {rating}"))
        confidence = _moved(memory.confidence, rating)
        if memory.layer is Layer.DERIVED and confidence != memory.confidence:
            tx.put(replace(memory, confidence=confidence), "rate")
    told = tuple(Told(m.id, m.text) for m in there)
    return FeedbackDone(Operation.RATE, told, evidence=rating) if there else None


def _moved(confidence: float, rating: Rating) -> float:
    if rating in _GOOD:
        return round(confidence + (1 - confidence) * UP, 4)
    return round(max(min(LOWEST, confidence), confidence * (1 - DOWN)), 4)
