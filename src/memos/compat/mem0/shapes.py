"""What mem0 shows of a memory, of its history and of a scope: plain dictionaries made of our nouns. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from memos.compat.mem0.filters import OWN
from memos.compat.mem0.scopes import ENTITIES
from memos.door import plain
from memos.memory.hit import Hit
from memos.memory.model import Kind, Memory, Status, Version

READ = frozenset({Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT, Kind.EVENT})  # what is read from messages
SOMEBODY = "User"  # the name of a speaker whose id is no name
LABELS = "mem0 labels"  # why a version came about that only gives a fact the labels of its messages
_LIFTED = 2  # a fact is a few words, of which fewer are in the question than of a message that answers it as well


def own(memory: Memory) -> dict[str, Any]:
    """What we keep for mem0 beside the metadata of its caller."""
    kept = memory.info.get(OWN)
    return plain(kept) if isinstance(kept, Mapping) else {}


def metadata(memory: Memory) -> dict[str, Any]:
    """What a caller gave along, as it was given."""
    return {key: plain(value) for key, value in memory.info.items() if key != OWN}


def item(memory: Memory, home: Mapping[str, str], hit: Hit | None = None, *, breakdown: bool = False) -> dict[str, Any]:
    """A memory as mem0 shows it."""
    kept = own(memory)
    runs = kept.get("runs") or []
    ids: dict[str, Any] = {name: home.get(name) for name in ENTITIES}
    if ids["run_id"] is None and runs:
        ids["run_id"] = runs[-1]
    shown = {
        "id": memory.id,
        "memory": memory.text,
        "hash": hashlib.md5(memory.text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(),
        **ids,
        "actor_id": actor(memory, home),
        "role": memory.role,
        "metadata": metadata(memory) or None,
        "categories": list(memory.tags),
        "created_at": moment(memory.happened_at),
        "updated_at": moment(memory.known_from),
        "expiration_date": kept.get("expires"),
        "immutable": bool(kept.get("immutable")),
        "memory_type": memory.kind.value,
    }
    if hit is not None:
        shown["score"] = score(hit)
        if breakdown:
            shown["score_breakdown"] = breakdown_of(hit)
    return shown


def actor(memory: Memory, home: Mapping[str, str]) -> str | None:
    """Who said it, where the caller named somebody."""
    unnamed = (None, memory.role, home.get("user_id"), SOMEBODY)
    return None if memory.speaker in unnamed else memory.speaker


def moment(at: datetime | None) -> str | None:
    """A time as mem0 writes it."""
    return at.isoformat() if at is not None else None


def score(hit: Hit) -> float:
    """How well a hit answers, in [0, 1]. What was read is lifted, so that facts and messages can be told against each other."""
    value = 1 - (1 - hit.score) ** _LIFTED if hit.memory.kind in READ else hit.score
    return round(min(1.0, max(0.0, value)), 4)


def breakdown_of(hit: Hit) -> dict[str, float]:
    """The shares of meaning, words and names in a hit's score."""
    parts = {
        "semantic": ("dense", "dense_window"),
        "bm25": ("lexical",),
        "entity": ("name", "name_asked", "speaker"),
    }
    return {name: round(max(0.0, sum(hit.why.get(key, 0.0) for key in keys)), 4) for name, keys in parts.items()}


def fields_only(shown: dict[str, Any], fields: Collection[str] | None) -> dict[str, Any]:
    """Only the fields asked for; the id is always among them."""
    return shown if not fields else {name: value for name, value in shown.items() if name in fields or name == "id"}


def history(versions: Sequence[Version], home: Mapping[str, str], heirs: Mapping[str, str]) -> list[dict[str, Any]]:
    """The changes of a memory, the oldest first; those of labels alone are none. `heirs`: the text of what superseded it."""
    entries: list[dict[str, Any]] = []
    before: Memory | None = None
    for version in versions:
        memory = version.memory
        if before is not None and _same(before, memory):
            before = memory
            continue
        event = "ADD" if before is None else "UPDATE"
        new: str | None = memory.text
        if memory.status is not Status.ACTIVE and (before is None or before.status is Status.ACTIVE):
            heir = heirs.get(memory.id)
            event, new = ("UPDATE", heir) if heir is not None else ("DELETE", None)
        entries.append(
            {
                "id": f"{memory.id}-{memory.version}",
                "memory_id": memory.id,
                "input": None,
                "old_memory": before.text if before is not None else None,
                "new_memory": new,
                "event": event,
                "metadata": metadata(memory) or None,
                **{name: home.get(name) for name in ENTITIES},
                "actor_id": actor(memory, home),
                "role": memory.role,
                "is_deleted": event == "DELETE",
                "created_at": moment(versions[0].at),
                "updated_at": moment(version.at),
            }
        )
        before = memory
    return entries


def _same(before: Memory, after: Memory) -> bool:
    mine, others = own(before), own(after)
    shown = ("expires", "immutable")
    return (
        before.text == after.text
        and before.status is after.status
        and (not mine or metadata(before) == metadata(after))
        and (not mine or all(mine.get(name) == others.get(name) for name in shown))
    )
