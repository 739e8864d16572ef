"""Our memories, hits and filters in the words of the MemOS wire, and back. No I/O and no choices: only names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

from memos.errors import InvalidFilter
from memos.memory.fields import ALIASES, FIELDS
from memos.memory.filter import Filter
from memos.memory.hit import Hit
from memos.memory.model import EMPTY, Kind, Layer, Memory, Origin, Source
from memos.server.filters import read_filter
from memos.server.translate import (
    FILES,
    PREFERENCES,
    SKILLS,
    STATUS_OF,
    TOOLS,
    memory_type,
    relativity,
    told,
)

# --- filters ----------------------------------------------------------------------------------------------------------


def filters_by_cube(given: Mapping[str, Any] | None, cubes: Sequence[str]) -> dict[str, Filter | None]:
    """The filter of each cube: the one given, or its own where the keys name cubes (a cube that is not named has none)."""
    names = [key for key in given or () if key in cubes and key not in FIELDS and key not in ALIASES]
    if given is None or not names:
        one = read_filter(given)
        return dict.fromkeys(cubes, one)
    if len(names) < len(given):
        strange = next(key for key in given if key not in names)
        raise InvalidFilter(
            f"the filter names the cube {names[0]!r} and, beside it, {strange!r}, which is none of the cubes searched; "
            "give one filter for all cubes or one for each"
        )
    return {cube: _filter_of_cube(cube, given.get(cube)) for cube in cubes}


def asks_for_status(given: Mapping[str, Any] | None) -> bool:
    """Whether a filter asks for a status, and so for memories that are not active."""
    if isinstance(given, Mapping):
        return "status" in given or any(asks_for_status(value) for value in given.values())
    return isinstance(given, (list, tuple)) and any(asks_for_status(item) for item in given)


def _filter_of_cube(cube: str, given: object) -> Filter | None:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidFilter(f"the filter of cube {cube!r} is {given!r:.60}; give an object, or null for no filter")
    return read_filter(given)


# --- memories ---------------------------------------------------------------------------------------------------------


def node(memory: Memory, cube: str, *, evidence: Mapping[str, Memory] = EMPTY) -> dict[str, Any]:
    """A memory as the wire shows it. `evidence`: raw records by id, for the text of the sources of derived memories."""
    return {"id": memory.id, "memory": memory.text, "metadata": _metadata(memory, cube, evidence)}


def found(hit: Hit, zone: tzinfo, *, evidence: Mapping[str, Memory] = EMPTY) -> dict[str, Any]:
    """A hit as the wire shows it: its text says when and by whom; `metadata.text` is the text as it was stored."""
    text, ref = told(hit, zone), ref_id(hit.id)
    out = node(hit.memory, hit.cube, evidence=evidence)
    out["memory"], out["ref_id"] = text, ref
    out["metadata"] |= {
        "memory": text,
        "text": hit.memory.text,
        "ref_id": ref,
        "relativity": round(relativity(hit.score), 4),
        "score": round(hit.score, 4),
        "facts": [fact.text for fact in hit.facts],
        "no_longer": [fact.text for fact in hit.outdated],
        "contradicted_by": [against.text for against in hit.contradicts],
        "stale": hit.stale,
        "repeated_by": list(hit.also),
    }
    return out


def ref_id(id: str) -> str:
    """The short reference of a memory: the last eight digits, since the first ones of our ids are the same for a minute."""
    return f"[{id[-8:]}]"


def _metadata(memory: Memory, cube: str, evidence: Mapping[str, Memory]) -> dict[str, Any]:
    created = _iso(memory.recorded_at)
    out: dict[str, Any] = {
        "id": memory.id,
        "memory": memory.text,
        "memory_type": memory_type(memory.kind),
        "user_id": memory.owner,
        "session_id": memory.session,
        "status": STATUS_OF[memory.status],
        "is_fast": memory.layer is Layer.TRACE,
        "evolve_to": [],
        "version": memory.version,
        "history": [],
        "working_binding": None,
        "type": memory.kind.value,
        "key": memory.title,
        "confidence": memory.confidence,
        "source": _source_name(memory),
        "tags": list(memory.tags),
        "visibility": None,
        "created_at": created,
        "updated_at": _iso(memory.known_from) or created,
        "sources": _sources(memory, evidence),
        "embedding": [],
        "usage": [],
        "background": "",
        "file_ids": file_ids(memory),
        "info": dict(memory.info),
        "covered_history": None,
        "mem_cube_id": cube,
        "manager_user_id": memory.info.get("manager_user_id"),
        "project_id": memory.info.get("project_id"),
        # what the original does not have
        "layer": memory.layer.value,
        "valid_from": _iso(memory.valid_from),
        "valid_to": _iso(memory.valid_to),
        "deleted_at": _iso(memory.retracted_at),
        "speaker": memory.speaker,
        "role": memory.role,
        "origin": memory.origin.value,
        "trust": memory.trust,
        "importance": memory.importance,
        "seen": memory.seen,
    }
    if memory.kind in PREFERENCES:
        out |= {
            "preference_type": memory.body.get("preference_type", "explicit_preference"),
            "preference": memory.text,
            "topic": memory.body.get("attribute"),
            "reasoning": None,
            "dialog_id": memory.session,
            "original_text": " ".join(evidence[id].text for id in evidence_ids([memory]) if id in evidence),
        }
    if memory.kind in TOOLS | SKILLS:
        out |= {key: value for key, value in memory.body.items() if key not in out}
    return out


def file_ids(memory: Memory) -> list[str]:
    """What names the files of a memory: ids or addresses as they were given, and what the metadata of the caller names."""
    media = [m for m in memory.body.get("media", ()) if isinstance(m, Mapping)]
    named = [memory.body.get("document_id"), memory.body.get("document"), *(m.get("uri") for m in media)]
    named += [memory.id] if memory.kind is Kind.DOCUMENT else []
    given = memory.info.get("file_ids", ())
    more = [memory.info.get("file_id"), *(given if isinstance(given, (list, tuple)) else (given,))]
    return list(dict.fromkeys(str(name) for name in (*named, *more) if name))


def _source_name(memory: Memory) -> str:
    if memory.kind in FILES:
        return "file"
    return {Origin.WEB: "web", Origin.SYSTEM: "system"}.get(memory.origin, "conversation")


def _sources(memory: Memory, evidence: Mapping[str, Memory]) -> list[dict[str, Any]]:
    if memory.layer is Layer.TRACE and not memory.sources:
        own = Source(memory.id, memory.message_id, memory.role, memory.speaker, memory.happened_at)
        return [_source(own, {memory.id: memory}, memory)]
    return [_source(source, evidence, memory) for source in memory.sources]


def _source(source: Source, evidence: Mapping[str, Memory], memory: Memory) -> dict[str, Any]:
    record = evidence.get(source.memory_id) if source.memory_id else None
    out: dict[str, Any] = {
        "type": "file" if memory.kind in FILES else "chat",
        "role": source.role,
        "chat_time": _iso(source.time),
        "message_id": source.message_id,
        "content": record.text if record is not None else None,
        "memory_id": source.memory_id,
    }
    if source.uri:
        out["doc_path"] = source.uri
    if source.start is not None:
        out["span"] = [source.start, source.end]
    return out


def evidence_ids(memories: Collection[Memory]) -> list[str]:
    """The raw records that derived memories rest on."""
    derived = (m for m in memories if m.layer is not Layer.TRACE)
    return list(dict.fromkeys(s.memory_id for m in derived for s in m.sources if s.memory_id))


def _iso(when: datetime | None) -> str | None:
    return when.isoformat() if when is not None else None
