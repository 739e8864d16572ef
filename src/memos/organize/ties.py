"""Ties: statements of which words and vectors cannot tell whether they repeat a memory. A model decides, asked once for all of a
reading; without one, or when it does not answer, they stay separate (law 6).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memos.errors import ModelError
from memos.logs import get_logger
from memos.memory.filter import And, Compare, Field, Op
from memos.memory.model import Layer, Memory
from memos.memory.statement import SegmentReading, Statement
from memos.models.embed import Embedder
from memos.models.llm.port import ChatModel, ChatRequest
from memos.organize.known import told_as
from memos.organize.sense import pieces
from memos.organize.similar import NEAR, Likeness, Said, alike, shared
from memos.storage.ports import CubeStore

log = get_logger(__name__)

LOOKED_AT = 300  # memories of a subject, the newest, among which a repetition is looked for
MOST_PAIRS = 12  # asked of in one call
_NEIGHBOURS = 3
_ASK = (
    "Each pair holds two statements about one subject. Name the pairs whose statements say the same fact: nothing in one that "
    "the other does not say, same names, numbers, dates and polarity. A narrower or a related statement is not the same. If "
    'unsure, leave the pair out. Answer with JSON: {"same": [numbers of pairs]}.'
)


@dataclass(frozen=True, slots=True)
class Tie:
    """A statement, and the memory that it may repeat."""

    statement: Statement
    memory: Memory
    worth: float


async def without_ties(
    store: CubeStore, found: SegmentReading, model: ChatModel, embedder: Embedder | None = None
) -> SegmentReading:
    """A reading whose statements that repeat a memory in quite other words are told as that memory tells it."""
    ties = await ties_of(store, [s for r in found.readings.values() for s in r.statements], embedder)
    same = await decided(ties, model) if ties else ()
    if not same:
        return found
    told = {id(tie.statement): tie.memory for tie in same}

    def as_told(s: Statement) -> Statement:
        m = told.get(id(s))
        if m is None or m.slot is None:
            return s
        return told_as(s, m.slot, str(m.body.get("key", "")), single=bool(m.body.get("single")))

    readings = {
        trace: replace(reading, statements=tuple(map(as_told, reading.statements)))
        for trace, reading in found.readings.items()
    }
    return replace(found, readings=readings)


async def ties_of(
    store: CubeStore, statements: Sequence[Statement], embedder: Embedder | None = None
) -> tuple[Tie, ...]:
    """The statements that may repeat a memory, each with the likeliest one; those most alike first, no more than are asked of."""
    known: dict[str, list[Memory]] = {}
    open_: list[tuple[Statement, list[Memory]]] = []
    for s in statements:
        subject = s.slot.rpartition("|")[0]
        if s.ended or not subject:
            continue
        if subject not in known:
            known[subject] = await _about(store, subject)
        if not any(m.body.get("key") == s.key or _likeness(s, m) is Likeness.SAME for m in known[subject]):
            open_.append((s, known[subject]))
    near = await _near(store, [s for s, memories in open_ if memories], embedder)
    ties = [tie for s, memories in open_ if (tie := _likeliest(s, memories, near)) is not None]
    return tuple(sorted(ties, key=lambda t: -t.worth)[:MOST_PAIRS])


async def decided(ties: Sequence[Tie], model: ChatModel) -> tuple[Tie, ...]:
    """Those that the model says are the same; none when it cannot be asked."""
    from pydantic import BaseModel

    from memos.models.llm.structured import ask_for

    class Same(BaseModel):
        same: list[int] = []

    pairs = [{"pair": i, "a": tie.memory.text, "b": tie.statement.text} for i, tie in enumerate(ties, 1)]
    request = ChatRequest.of(_ASK, json.dumps(pairs, ensure_ascii=False), schema_name="same", temperature=0.0)
    try:
        answer = await ask_for(model, request, Same, retries=0)
    except ModelError as e:  # they stay separate: nothing is lost
        log.info("ties_not_decided", ties=len(ties), error=e.code)
        return ()
    numbers = set(answer.value.same)
    return tuple(tie for i, tie in enumerate(ties, 1) if i in numbers)


async def _about(store: CubeStore, subject: str) -> list[Memory]:
    where = And(
        (
            Compare(Field("slot"), Op.GTE, f"{subject}|"),
            Compare(Field("slot"), Op.LT, f"{subject}}}"),
            Compare(Field("layer"), Op.EQ, Layer.DERIVED.value),
        )
    )
    page = await store.list(where, limit=LOOKED_AT)
    return [m for m in page.items if m.slot is not None and m.slot.rpartition("|")[0] == subject]


async def _near(
    store: CubeStore, statements: Sequence[Statement], embedder: Embedder | None
) -> Mapping[tuple[int, str], float]:
    """The cosines of statements and the memories nearest to them, where both have vectors."""
    if embedder is None or not statements or embedder.model_id not in await store.vector_models():
        return {}
    out: dict[tuple[int, str], float] = {}
    try:
        vectors = await embedder.embed([s.text for s in statements], purpose="document")
        for s, vector in zip(statements, vectors, strict=True):
            where = Compare(Field("layer"), Op.EQ, Layer.DERIVED.value)
            for scored in await store.search_vector(vector, embedder.model_id, limit=_NEIGHBOURS, where=where):
                out[id(s), scored.id] = scored.score
    except ModelError as e:  # words alone then
        log.info("ties_without_vectors", error=e.code)
    return out


def _likeliest(s: Statement, memories: Sequence[Memory], near: Mapping[tuple[int, str], float]) -> Tie | None:
    best: Tie | None = None
    for m in memories:
        cosine = near.get((id(s), m.id))
        if _likeness(s, m, cosine) is Likeness.TIE:
            worth = max(
                shared(pieces(s.text), pieces(m.text)), cosine if cosine is not None and cosine >= NEAR else 0.0
            )
            if best is None or worth > best.worth:
                best = Tie(s, m, worth)
    return best


def _likeness(s: Statement, m: Memory, cosine: float | None = None) -> Likeness:
    return alike(Said.by(s), Said.of(m), cosine)
