"""Memories, edges and versions to and from rows of the cube file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.errors import InvalidInput
from memos.logs import get_logger
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import EMPTY, Edge, EdgeType, Kind, Memory, Origin, Source, Status, Version
from memos.memory.time import from_micros, to_micros
from memos.storage.sqlite import sources
from memos.storage.sqlite.sources import from_text

log = get_logger(__name__)

COLUMNS = (
    "id", "version", "known_from", "known_to", "layer", "kind", "status", "text", "title", "session", "owner", "role",
    "speaker", "message_id", "slot", "origin", "trust", "confidence", "importance", "seen", "valid_from", "valid_to",
    "recorded_at", "retracted_at", "tags", "sources", "info", "body",
)  # fmt: skip
STORED = ", ".join(f"m.{c}" for c in COLUMNS)  # as they lie there, for `whole`
SELECT = STORED.replace("m.sources", sources.COLUMN)
WIDTH = len(COLUMNS)
SOURCES = COLUMNS.index("sources")
INSERT = (
    f"INSERT INTO memories(n, t, features, terms, beside, op, actor, cause, change, {', '.join(COLUMNS)}) "
    f"VALUES({', '.join('?' * (9 + WIDTH))})"
)

_KINDS = {one.value: one for one in Kind}
_STATUSES = {one.value: one for one in Status}
_ORIGINS = {one.value: one for one in Origin}
EDGE_COLUMNS = "e.src, e.dst, e.type, e.predicate, e.weight, e.valid_from, e.valid_to, e.known_from, e.known_to, e.info"


def memory_values(m: Memory) -> tuple[Any, ...]:
    """The values of `COLUMNS` for a memory whose clocks are set."""
    return (
        id_to_bytes(m.id), m.version, _us(m.known_from), _us(m.known_to), m.layer.value, m.kind.value, m.status.value,
        m.text, m.title, m.session, m.owner, m.role, m.speaker, m.message_id, m.slot, m.origin.value, float(m.trust),
        float(m.confidence), float(m.importance), m.seen, _us(m.valid_from), _us(m.valid_to), _us(m.recorded_at),
        _us(m.retracted_at), json.dumps(m.tags, ensure_ascii=False), sources.to_text(m.sources), dump(m.info), dump(m.body),
    )  # fmt: skip


def memory_from_row(row: tuple[Any, ...]) -> Memory:
    """The memory of a row selected with `SELECT`."""
    (
        id_, version, known_from, known_to, _layer, kind, status, text, title, session, owner, role, speaker, message_id,
        slot, origin, trust, confidence, importance, seen, valid_from, valid_to, recorded_at, retracted_at, tags, listed,
        info, body,
    ) = row[:WIDTH]  # fmt: skip
    known = _dt(known_from)
    return Memory(
        id=id_from_bytes(id_),
        kind=_KINDS.get(kind) or Kind(kind),
        text=text,
        title=title,
        tags=() if tags == "[]" else tuple(json.loads(tags)),
        sources=from_text(listed),
        status=_STATUSES.get(status) or Status(status),
        valid_from=_dt(valid_from),
        valid_to=_dt(valid_to),
        recorded_at=known if recorded_at == known_from else _dt(recorded_at),
        retracted_at=_dt(retracted_at),
        version=version,
        known_from=known,
        known_to=_dt(known_to),
        confidence=confidence,
        importance=importance,
        origin=_ORIGINS.get(origin) or Origin(origin),
        trust=trust,
        owner=owner,
        session=session,
        role=role,
        speaker=speaker,
        message_id=message_id,
        slot=slot,
        seen=seen,
        info=json.loads(info) if info else EMPTY,
        body=json.loads(body) if body else EMPTY,
    )


def readable(row: tuple[Any, ...]) -> Memory | None:
    """The memory of a row, or None, with a line in the log, for one that something other than MemOS has spoiled: one bad row must
    not make every read fail. `check` counts them.
    """
    try:
        return memory_from_row(row)
    except (ValueError, TypeError, AttributeError, LookupError) as e:
        log.error("row_unreadable", id=bytes(row[0]).hex() if row else None, error=type(e).__name__)
        return None


def whole(found: Sequence[tuple[Any, ...]]) -> list[Memory]:
    """The memories of the rows of all versions of one memory, oldest first, selected with `STORED`."""
    out: list[Memory] = []
    later: tuple[Source, ...] = ()
    for row in reversed(found):
        stored = row[SOURCES]
        if sources.is_count(stored):
            memory = memory_from_row((*row[:SOURCES], None, *row[SOURCES + 1 :]))
            memory = replace(memory, sources=sources.first(later, int(stored)))
        else:
            memory = memory_from_row(row)
            later = memory.sources
        out.append(memory)
    out.reverse()
    return out


def edge_from_row(row: tuple[Any, ...]) -> Edge:
    """The edge of a row selected with `EDGE_COLUMNS`."""
    src, dst, type_, predicate, weight, valid_from, valid_to, known_from, known_to, info = row[:10]
    return Edge(
        src=id_from_bytes(src),
        dst=id_from_bytes(dst),
        type=EdgeType(type_),
        predicate=predicate or None,
        weight=weight,
        valid_from=_dt(valid_from),
        valid_to=_dt(valid_to),
        known_from=_dt(known_from),
        known_to=_dt(known_to),
        info=json.loads(info) if info else EMPTY,
    )


def edge_values(e: Edge) -> tuple[Any, ...]:
    """The values of `EDGE_COLUMNS` for an edge whose clocks are set."""
    return (
        id_to_bytes(e.src), id_to_bytes(e.dst), e.type.value, e.predicate or "", float(e.weight), _us(e.valid_from),
        _us(e.valid_to), _us(e.known_from), _us(e.known_to), dump(e.info),
    )  # fmt: skip


def versions_of(found: Sequence[tuple[Any, ...]]) -> list[Version]:
    """The history of all versions of one memory, oldest first: rows selected with `STORED` followed by op, actor, cause."""
    return [_version(memory, *row[WIDTH : WIDTH + 3]) for memory, row in zip(whole(found), found, strict=True)]


def _version(memory: Memory, op: str, actor: str, cause: str | None) -> Version:
    assert memory.known_from is not None
    return Version(memory=memory, op=op, actor=actor, cause=cause, at=memory.known_from)


def _us(value: Any) -> int | None:
    return None if value is None else to_micros(value)


def _dt(value: int | None) -> Any:
    return None if value is None else from_micros(value)


def dump(value: Mapping[str, Any]) -> str | None:
    """Free metadata as JSON. What JSON cannot say of a number (NaN, infinity) becomes null; InvalidInput for other
    values.
    """
    if not value:
        return None
    try:
        return _json(dict(value))
    except ValueError:
        return _json(_finite(dict(value)))
    except TypeError as e:
        raise InvalidInput(f"info and body hold JSON values only: {e}") from None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
