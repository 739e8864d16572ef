"""Relations between entities: `RELATES_TO` edges with a predicate, which know the records that tell of them.

An edge has no edges of its own, so its evidence is in its `info`: it goes when the last of its records does (law 1).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from memos.memory.model import Edge, EdgeType, Memory
from memos.memory.statement import Relation
from memos.organize.naming import told_same
from memos.organize.reconcile import Outcome, mention, stamp
from memos.storage.ports import RELATION_EVIDENCE, WriteTx


def relate(tx: WriteTx, trace: Memory, found: Relation, outcome: Outcome, reader: str | None = None) -> None:
    """Bring a relation told by a trace into the cube; told again, it has one more piece of evidence."""
    subject = mention(tx, trace, found.subject, outcome, reader)
    object = mention(tx, trace, found.object, outcome, reader)
    predicate = found.predicate.strip()
    if subject == object or not predicate or told_same(tx, trace, subject, found.object, predicate):
        return
    held = next((e for e in _relations(tx, subject) if (e.dst, e.predicate) == (object, predicate)), None)
    told = evidence_of(held) if held is not None else ()
    if trace.id in told:
        return
    edge = Edge(
        subject,
        object,
        EdgeType.RELATES_TO,
        predicate,
        weight=found.confidence,
        valid_from=found.valid_from,
        valid_to=found.valid_to,
        info={RELATION_EVIDENCE: [*told, trace.id], **stamp(reader)},
    )
    if held is not None:
        tx.unlink(subject, object, EdgeType.RELATES_TO, predicate)
        starts = [t for t in (held.valid_from, found.valid_from) if t is not None]
        edge = replace(
            edge,
            weight=max(held.weight, found.confidence),
            valid_from=min(starts, default=None),
            valid_to=found.valid_to or held.valid_to,
            info={**held.info, **edge.info},
        )
    tx.link(edge)


def unrelate(tx: WriteTx, traces: Collection[str], *, read_by_models: bool = False) -> None:
    """Take what these records told of relations away. `read_by_models`: only what a model read in them."""
    gone = set(traces)
    entities = {e.dst for id in traces for e in tx.edges(id, "out", (EdgeType.MENTIONS,))}
    for entity in sorted(entities):
        for edge in _relations(tx, entity):
            left = [id for id in evidence_of(edge) if id not in gone]
            if len(left) == len(evidence_of(edge)) or (read_by_models and "reader" not in edge.info):
                continue
            tx.unlink(edge.src, edge.dst, EdgeType.RELATES_TO, edge.predicate)
            if left:
                tx.link(replace(edge, info={**edge.info, RELATION_EVIDENCE: left}))


def evidence_of(edge: Edge) -> tuple[str, ...]:
    """The ids of the records that tell of a relation."""
    return tuple(edge.info.get(RELATION_EVIDENCE, ()))


def _relations(tx: WriteTx, entity: str) -> list[Edge]:
    return tx.edges(entity, "out", (EdgeType.RELATES_TO,))
