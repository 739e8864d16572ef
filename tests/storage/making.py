"""Short ways to make and store memories, shared by the storage tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Source, Status
from memos.storage.ports import ANY_STATUS, Change, CubeStore, TextQuery, View
from memos.text.document import index_terms

EVERYTHING = View(statuses=ANY_STATUS)


def day(n: int) -> datetime:
    """The n-th day of 2030."""
    return datetime.fromtimestamp(1_893_456_000 + n * 86_400, UTC)


def trace(text: str, **fields: Any) -> Memory:
    """A raw record that is not stored yet."""
    return Memory(**{"id": new_id(), "kind": Kind.TRACE, "text": text, "session": "s", **fields})


def fact(text: str, *evidence: Memory, **fields: Any) -> Memory:
    """A derived fact that names its evidence."""
    sources = tuple(Source(memory_id=m.id, speaker=m.speaker) for m in evidence)
    return Memory(**{"id": new_id(), "kind": Kind.FACT, "text": text, "sources": sources, **fields})


async def add(store: CubeStore, *memories: Memory) -> list[Memory]:
    """Store memories in one change."""
    return await store.write(lambda tx: [tx.put(m) for m in memories])


async def add_text(store: CubeStore, text: str, **fields: Any) -> Memory:
    """Store one raw record."""
    return (await add(store, trace(text, **fields)))[0]


async def update(store: CubeStore, memory: Memory, **changes: Any) -> Memory:
    """Store a new version."""
    return await store.write(lambda tx: tx.put(replace(memory, **changes), "update"), Change(actor="u", cause="c"))


async def derive(store: CubeStore, text: str, *evidence: Memory, **fields: Any) -> Memory:
    """Store a fact with an edge to each piece of evidence."""
    made = fact(text, *evidence, **fields)

    def run(tx: Any) -> Memory:
        stored = tx.put(made, "derive")
        for e in evidence:
            tx.link(Edge(stored.id, e.id, EdgeType.DERIVED_FROM))
        return stored  # type: ignore[no-any-return]

    return await store.write(run)


async def supersede(store: CubeStore, old: Memory, new: Memory, at: datetime) -> Memory:
    """Store `new` as what replaced `old` at a time."""

    def run(tx: Any) -> Memory:
        stored = tx.put(replace(new, valid_from=at), "derive")
        tx.put(replace(tx.get(old.id), status=Status.SUPERSEDED, valid_to=at), "supersede")
        tx.link(Edge(stored.id, old.id, EdgeType.SUPERSEDES))
        return stored  # type: ignore[no-any-return]

    return await store.write(run)


async def link(store: CubeStore, *edges: Edge) -> None:
    """Store edges in one change."""
    await store.write(lambda tx: [tx.link(e) for e in edges])


async def embed(store: CubeStore, model: str, vectors: Sequence[NDArray[np.float32]]) -> None:
    """Give the next pending texts these vectors."""
    pending = await store.pending_vectors(model, len(vectors))
    items = [(p.text_id, v) for p, v in zip(pending, vectors, strict=False)]
    await store.write(lambda tx: tx.put_vectors(model, items))


async def found(store: CubeStore, text: str, view: View = View(), limit: int = 50) -> list[str]:
    """Texts that full-text search gives for words, best first."""
    hits = await store.search_text(TextQuery(index_terms(text)), limit=limit, view=view)
    memories = {m.id: m.text for m in await store.get([h.id for h in hits], view)}
    return [memories[h.id] for h in hits]


async def texts(store: CubeStore, view: View = View()) -> list[str]:
    """All texts of a view, sorted."""
    return sorted(m.text for m in (await store.list(view=view, limit=10_000)).items)


def unit(*values: float) -> NDArray[np.float32]:
    """A vector of length 1."""
    v = np.asarray(values, np.float32)
    return np.asarray(v / np.linalg.norm(v), np.float32)
