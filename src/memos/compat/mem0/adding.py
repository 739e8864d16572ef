"""What mem0 adds: messages, as they are (`infer=False`) or to be read, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from memos.compat.mem0.filters import OWN
from memos.compat.mem0.labels import KEPT, RAW, SAID, evidence_of, facts_of, mark, relabel, settle
from memos.compat.mem0.places import Place
from memos.compat.mem0.scopes import ENTITIES, Scope
from memos.compat.mem0.shapes import SOMEBODY, actor, metadata, own
from memos.door import Door
from memos.errors import InvalidInput
from memos.memory.model import EdgeType, Memory, Status
from memos.reading.read import as_name
from memos.results import AddResult

_NOT_METADATA = frozenset({*ENTITIES, "actor_id"})  # whose it is, is said by the request and by nothing else


@dataclass(frozen=True, slots=True)
class Adding:
    """What is to be added, whole. `event`: the id under which the caller asks what became of it."""

    scope: Scope
    messages: Sequence[Mapping[str, Any]]
    infer: bool = True
    info: Mapping[str, Any] | None = None
    expires: str | None = None
    immutable: bool = False
    categories: Sequence[str] = ()
    event: str | None = None


def messages_of(given: object, scope: Scope, at: object = None) -> list[dict[str, Any]]:
    """The messages of a request in our form. Those of the system are not memories and are left out; so is what has no content.

    Raises InvalidInput for what is no message.
    """
    items: Sequence[Any]
    if isinstance(given, str):
        items = [{"role": "user", "content": given}]
    elif isinstance(given, Mapping):
        items = [given]
    elif isinstance(given, (list, tuple)):
        items = given
    else:
        raise InvalidInput(f"messages must be str, dict or list[dict], got {type(given).__name__}")
    found = []
    for place, message in enumerate(items):
        if isinstance(message, str):
            message = {"role": "user", "content": message}
        if not isinstance(message, Mapping):
            raise InvalidInput(f"messages[{place}] is an object with role and content, got {type(message).__name__}")
        if message.get("role") is None:
            raise InvalidInput(f"messages[{place}] has no role")
        if message["role"] == "system" or not message.get("content"):
            continue
        one = dict(message)
        if one["role"] == "user" and not one.get("name"):
            one["name"] = as_name(scope.user_id) or SOMEBODY
        if at is not None and not one.get("chat_time"):
            one["chat_time"] = at
        found.append(one)
    return found


def metadata_of(given: object) -> dict[str, Any]:
    """Metadata as it may be kept. Raises InvalidInput."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInput(f"metadata is an object, got {type(given).__name__}")
    if OWN in given:
        raise InvalidInput(f"metadata has the key {OWN!r}, which is kept for what this server notes itself")
    return {str(key): value for key, value in given.items() if key not in _NOT_METADATA and value is not None}


def day_of(value: object) -> str | None:
    """An expiration date as YYYY-MM-DD, None for none. Raises InvalidInput."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip()[:10]).isoformat()
        except ValueError:
            pass
    raise InvalidInput(f"expiration_date is a day as YYYY-MM-DD, got {value!r:.40}")


@dataclass(frozen=True, slots=True)
class Stored:
    """What an add did: what came about so far, what was skipped or could not be done yet, and whether reading goes on."""

    events: Sequence[dict[str, Any]]
    notices: Sequence[str] = ()
    pending: bool = False


async def store(door: Door, place: Place, what: Adding, *, wait: bool) -> AddResult:
    """Store the messages. What is to be read, is: before this returns with `wait`."""
    kept: dict[str, Any] = {"state": SAID if what.infer else RAW}
    kept |= {"runs": [what.scope.run_id]} if what.scope.run_id is not None else {}
    kept |= {"expires": what.expires} if what.expires is not None else {}
    kept |= {"immutable": True} if what.immutable else {}
    kept |= {"event": what.event} if what.event is not None else {}
    result = await door.ask(
        "add",
        list(what.messages),
        cube=place.cube,
        session=what.scope.run_id,
        tags=list(what.categories),
        info={**(what.info or {}), OWN: kept},
        derive=what.infer,
        wait=wait,
        whole=True,
        task_id=what.event,
    )
    assert isinstance(result, AddResult)
    return result


async def as_they_are(door: Door, place: Place, what: Adding, ids: Sequence[str]) -> list[dict[str, Any]]:
    """What became of messages that were stored as they are. One that was there already takes the new metadata."""
    events = []
    for id in dict.fromkeys(ids):
        memory = await door.ask("get", id, cube=place.cube)
        mine = own(memory)
        event = "ADD"
        if mine.get("event") != what.event or memory.seen > 1:
            changed = {key: value for key, value in (what.info or {}).items() if metadata(memory).get(key) != value}
            labels = {**mine, "state": RAW} | ({"expires": what.expires} if what.expires is not None else {})
            if what.scope.run_id is not None:
                labels["runs"] = list(dict.fromkeys([*mine.get("runs", ()), what.scope.run_id]))
            event = "NONE"
            if changed or labels != mine:
                await door.ask("update", id, cube=place.cube, info={**changed, OWN: labels})
                event = "UPDATE"
        shown = {"id": id, "memory": memory.text, "event": event, "role": memory.role}
        events.append(shown | {"actor_id": actor(memory, place.home)})
    return events


async def read_from(door: Door, place: Place, ids: Sequence[str]) -> list[dict[str, Any]]:
    """What was read from messages: ADD what is new, UPDATE what replaced something, DELETE what they ended. A message from which
    nothing was read is itself a memory.
    """
    await settle(door, place)
    records = [await door.ask("get", id, cube=place.cube) for id in dict.fromkeys(ids)]
    here = {record.id for record in records}
    facts = await facts_of(door, place, sorted(here))
    sources = await evidence_of(door, place, [fact.id for fact in facts]) if facts else {}
    fresh = [fact for fact in facts if set(sources.get(fact.id, ())) <= here]
    await relabel(door, place, [fact for fact in facts if fact not in fresh], records)
    former = await replaced_by(door, place, [fact.id for fact in fresh])
    events = []
    for fact in sorted(fresh, key=lambda fact: fact.id):
        was = former.get(fact.id)
        if fact.status is Status.ACTIVE:
            shown = {"id": fact.id, "memory": fact.text, "event": "ADD" if was is None else "UPDATE"}
            events.append(shown | ({"previous_memory": was.text} if was is not None else {}))
        elif was is not None:  # it says that something is over, and is over itself
            events.append({"id": was.id, "memory": was.text, "event": "DELETE"})
    told = {message for messages in sources.values() for message in messages}
    for record in records:
        if record.role == "user" and record.id not in told and own(record).get("state") in (SAID, KEPT):
            await mark(door, place, record, KEPT)
            events.append({"id": record.id, "memory": record.text, "event": "ADD"})
    return events


async def replaced_by(door: Door, place: Place, ids: Sequence[str]) -> dict[str, Memory]:
    """What each of these superseded."""
    if not ids:
        return {}
    graph = await door.ask("graph", list(ids), cube=place.cube, types=[EdgeType.SUPERSEDES], include_inactive=True)
    by_id = {m.id: m for m in graph.memories}
    return {edge.src: by_id[edge.dst] for edge in graph.edges if edge.src in set(ids) and edge.dst in by_id}
