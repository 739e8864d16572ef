"""mem0 over a memory of ours: its verbs, as coroutines over `Door`, for the wires of the server and for the drop-in classes.

One user of ours (the tenant: whoever has the key) holds the memories of all subjects that mem0's ids name, each in a cube of its
own. Nothing here knows of HTTP, or of the words in which mem0 answers but those of `shapes`.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from memos.compat.mem0 import adding, changing, finding
from memos.compat.mem0.adding import Adding, Stored
from memos.compat.mem0.changing import UNCHANGED
from memos.compat.mem0.filters import OWN, Group, Leaf, parse
from memos.compat.mem0.finding import Listed, Searched, Wanted
from memos.compat.mem0.places import Known, Place, Places
from memos.compat.mem0.scopes import ENTITIES, one_of, scope_of
from memos.compat.mem0.shapes import history, item, own
from memos.door import Door
from memos.errors import InvalidInput, NotFound
from memos.memory.model import EdgeType, Memory
from memos.system import DEFAULT_USER

FEEDBACK: Mapping[str, float] = {
    "POSITIVE": 0.8,
    "NEGATIVE": 0.2,
    "VERY_NEGATIVE": 0.05,
}  # how important it is from then on
_KNOWN: weakref.WeakKeyDictionary[object, Known] = weakref.WeakKeyDictionary()  # by memory system
EVERYTHING = Group("and", ())
_COUNTED = 500  # cubes whose memories are counted for a list of entities


class Mem0:
    """The verbs of mem0 for one user of a `MemOS` or an `AsyncMemOS`. With a synchronous one nothing in them waits, see `Door`.

    Raises InvalidInput for a client of a server, which has a wire of its own for this.
    """

    def __init__(self, memos: object, user: str | None = None) -> None:
        if not hasattr(memos, "locate"):
            raise InvalidInput(
                f"{type(memos).__name__} cannot be used here; give a MemOS or an AsyncMemOS, or point mem0's own client at "
                "/compat/mem0 of the server"
            )
        self.user = user or DEFAULT_USER
        self.memos = memos
        self.door = Door(memos, self.user)
        self.places = Places(self.door, self.user, _KNOWN.setdefault(memos, Known()))

    async def add(
        self,
        messages: object,
        *,
        user_id: object = None,
        agent_id: object = None,
        app_id: object = None,
        run_id: object = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = True,
        expiration_date: object = None,
        timestamp: object = None,
        immutable: bool = False,
        categories: Sequence[str] = (),
        event: str | None = None,
        wait: bool = True,
    ) -> list[dict[str, Any]]:
        """Store messages, and what is read from them. Returns `{id, memory, event}` for each thing that came about: ADD, UPDATE
        (with `previous_memory`), DELETE, or NONE for what was there already.

        `timestamp`: when it was said. `wait=False` returns nothing and reads in the background; `event` names the work, for
        `tasks`. Raises InvalidInput without any id.
        """
        stored = await self.stored(
            messages,
            {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id},
            metadata=metadata,
            infer=infer,
            expiration_date=expiration_date,
            timestamp=timestamp,
            immutable=immutable,
            categories=categories,
            event=event,
            wait=wait,
        )
        return list(stored.events)

    async def stored(
        self,
        messages: object,
        ids: Mapping[str, object],
        *,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = True,
        expiration_date: object = None,
        timestamp: object = None,
        immutable: bool = False,
        categories: Sequence[str] = (),
        event: str | None = None,
        wait: bool = True,
    ) -> Stored:
        """The same, with all there is to say of it: a model that could not read is told in `notices`, and leaves it pending."""
        scope = one_of(scope_of(ids))
        said = adding.messages_of(messages, scope, timestamp)
        what = Adding(
            scope,
            said,
            infer,
            adding.metadata_of(metadata),
            adding.day_of(expiration_date),
            bool(immutable),
            tuple(str(category) for category in categories),
            event,
        )
        if not said:
            return Stored(())
        place = await self.places.made(scope)
        try:
            result = await adding.store(self.door, place, what, wait=wait and infer)
        except NotFound:  # the cube was deleted between the two
            place = await self.places.made(scope)
            result = await adding.store(self.door, place, what, wait=wait and infer)
        if not infer:
            events = await adding.as_they_are(self.door, place, what, result.ids)
        else:
            events = await adding.read_from(self.door, place, result.ids) if wait else []
        self.places.known.saw(place.cube, (each["id"] for each in events))
        return Stored(events, result.notices, infer and result.pending)

    async def became(self, cube: str, event: str) -> list[dict[str, Any]]:
        """What became of an add that did not wait, once it is done."""
        place = next((place for place in await self.places.all() if place.cube == cube), None)
        if place is None:
            return []
        where = {f"info.{OWN}.event": event}
        page = await self.door.ask("list", cube=cube, filter=where, kinds=["trace"], limit=1000, newest_first=False)
        ids = [memory.id for memory in page.items]
        if page.items and own(page.items[0]).get("state") == "raw":
            return [{"id": m.id, "memory": m.text, "event": "ADD"} for m in page.items]
        return await adding.read_from(self.door, place, ids) if ids else []

    async def search(
        self,
        query: str,
        filters: object,
        wanted: Wanted = Wanted(),
        *,
        limit: int = 10,
        threshold: float = 0.0,
        rerank: bool = True,
        reference_date: object = None,
        breakdown: bool = False,
        bare_metadata: bool = False,
    ) -> Searched:
        """What answers a question, among what the filters mean. `threshold`: lowest score, 0 to 1; `limit`: results at most.

        `bare_metadata`: names in filters that are no fields are keys of metadata. Raises InvalidInput, InvalidFilter.
        """
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput("query is a text that is not blank")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise InvalidInput(f"top_k is a whole number from 0 on, got {limit!r:.40}")
        if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
            raise InvalidInput(f"threshold is a number from 0 to 1, got {threshold!r:.40}")
        node = parse(filters, bare_metadata=bare_metadata)
        return await finding.search(
            self.door,
            self.places,
            query.strip(),
            node,
            wanted,
            limit=limit,
            threshold=threshold,
            rerank=rerank,
            at=reference_date,
            breakdown=breakdown,
        )

    async def get_all(
        self,
        filters: object,
        wanted: Wanted = Wanted(),
        *,
        skip: int = 0,
        most: int | None = 100,
        bare_metadata: bool = False,
    ) -> Listed:
        """The memories that the filters mean, the newest first: `most` of them (None: all) after the first `skip`."""
        node = filters if isinstance(filters, Group) else parse(filters, bare_metadata=bare_metadata)
        return await finding.listed(self.door, self.places, node, wanted, skip, most)

    async def get(self, memory_id: str) -> dict[str, Any]:
        """One memory. Raises NotFound."""
        place = await self.places.of(memory_id)
        return item(await changing.visible(self.door, place, memory_id), place.home)

    async def update(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: object = UNCHANGED,
        timestamp: object = None,
    ) -> dict[str, Any]:
        """Change text, metadata (added to what there is), expiration date (None takes it away) or time of a memory; returns it.

        Raises NotFound, and InvalidInput when nothing is to be changed or the memory is immutable.
        """
        if text is None and metadata is None and expiration_date is UNCHANGED and timestamp is None:
            raise InvalidInput("at least one of text, metadata, timestamp and expiration_date must be given")
        place = await self.places.of(memory_id)
        expires = expiration_date if expiration_date is UNCHANGED else adding.day_of(expiration_date)
        more = adding.metadata_of(metadata) if metadata is not None else None
        changed = await changing.update(
            self.door, place, memory_id, text=text, metadata=more, expires=expires, at=timestamp
        )
        return item(changed, place.home)

    async def delete(self, memory_id: str, *, linked: bool = False) -> None:
        """Delete a memory for good. `linked`: and what it had superseded, so that this does not come back. Raises NotFound."""
        await changing.delete(self.door, await self.places.of(memory_id), [memory_id], linked=linked)

    async def delete_all(self, **ids: object) -> int:
        """Delete everything of a subject, an agent, an app or a run (those given together, `*` for every one); returns how many
        memories went.

        Raises InvalidInput without any id.
        """
        named = {name: value for name, value in scope_of(ids).ids.items() if value is not None}
        leaves = [Leaf(n, "exists", True) if value == "*" else Leaf(n, "eq", value) for n, value in named.items()]
        chosen = await self.places.matching(Group("and", tuple(leaves)))
        run = named.get("run_id")
        return sum([await changing.delete_matching(self.door, place, left, run) for place, left in chosen])

    async def reset(self) -> int:
        """Delete everything of all subjects of this tenant; returns how many memories went."""
        return sum([await changing.delete_matching(self.door, place, None, None) for place in await self.places.all()])

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The changes of a memory, the oldest first. Raises NotFound, also for what was deleted: nothing of that is kept."""
        place = await self.places.of(memory_id)
        await changing.visible(self.door, place, memory_id)
        graph = await self.door.ask(
            "graph", [memory_id], cube=place.cube, types=[EdgeType.SUPERSEDES], include_inactive=True
        )
        by_id: dict[str, Memory] = {m.id: m for m in graph.memories}
        heirs = {edge.dst: by_id[edge.src].text for edge in graph.edges if edge.src in by_id}
        return history(await self.door.ask("history", memory_id, cube=place.cube), place.home, heirs)

    async def entities(self) -> list[dict[str, Any]]:
        """The users, agents, apps, and runs without a user, for which there is a memory: `{id, name, type, total_memories, …}`.

        `total_memories` is null where there are more than 500 cubes.
        """
        places = await self.places.all()
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for place in places:
            count = (
                await finding.count(self.door, place, Wanted(show_expired=True)) if len(places) <= _COUNTED else None
            )
            for name, value in place.home.items():
                kind = name.removesuffix("_id")
                entry = found.setdefault(
                    (kind, value),
                    {
                        "id": f"{kind}:{value}",
                        "name": value,
                        "type": kind,
                        "total_memories": 0 if count is not None else None,
                        "created_at": place.since,
                        "updated_at": place.since,
                        "metadata": None,
                    },
                )
                entry["created_at"] = min(entry["created_at"], place.since)
                if count is not None:
                    entry["total_memories"] += count
        return list(found.values())

    async def delete_entity(self, kind: str, name: str) -> int:
        """Delete everything of an entity; returns how many memories went. That may be none: who deletes all entities one by one
        comes to those that went with another. Raises InvalidInput for another kind.
        """
        if f"{kind}_id" not in ENTITIES:
            raise InvalidInput(f"{kind!r:.40} is no kind of entity; there are user, agent, app and run")
        return await self.delete_all(**one_of(scope_of({f"{kind}_id": name})).ids)

    async def batch_update(self, memories: Sequence[Mapping[str, Any]]) -> int:
        """Change text or metadata of several memories; all of them are there, or none is changed. Returns how many."""
        for each in memories:
            await self._seen(str(each["memory_id"]))
        for each in memories:
            await self.update(str(each["memory_id"]), text=each.get("text"), metadata=each.get("metadata"))
        return len(memories)

    async def batch_delete(self, ids: Sequence[str]) -> int:
        """Delete several memories; all of them are there, or none is deleted. Returns how many."""
        by_place: dict[str, tuple[Place, list[str]]] = {}
        for id in dict.fromkeys(ids):
            place = await self._seen(id)
            by_place.setdefault(place.cube, (place, []))[1].append(id)
        for place, here in by_place.values():
            await changing.delete(self.door, place, here)
        return sum(len(here) for _, here in by_place.values())

    async def _seen(self, id: str) -> Place:
        place = await self.places.of(id)
        await changing.visible(self.door, place, id)
        return place

    async def feedback(self, memory_id: str, feedback: str | None, reason: str | None = None) -> dict[str, Any]:
        """Note what is thought of a memory (POSITIVE, NEGATIVE, VERY_NEGATIVE; None takes it back): it counts more, or less."""
        if feedback is not None and feedback not in FEEDBACK:
            raise InvalidInput(f"feedback is one of {', '.join(FEEDBACK)} or null, got {feedback!r:.40}")
        place = await self.places.of(memory_id)
        memory = await changing.visible(self.door, place, memory_id)
        noted = {**own(memory), "feedback": feedback, "feedback_reason": reason if feedback is not None else None}
        await self.door.ask(
            "update",
            memory_id,
            cube=place.cube,
            info={OWN: {key: value for key, value in noted.items() if value is not None}},
            importance=FEEDBACK[feedback] if feedback is not None else 0.5,
            cause="mem0 feedback",
        )
        return {"id": memory_id, "feedback": feedback, "feedback_reason": reason}

    async def summary(self, filters: object = None, *, most: int = 50) -> str:
        """What is known (of everybody, without filters), a line for each memory, the newest first. No model is asked."""
        found = await self.get_all(EVERYTHING if filters is None else filters, most=most)
        return "\n".join(f"- {memory['memory']}" for memory in found.results)

    async def export(self, filters: object = None) -> list[dict[str, Any]]:
        """All memories that the filters mean; without filters those of everybody."""
        asked = EVERYTHING if filters is None else filters
        return (await self.get_all(asked, Wanted(show_expired=True), most=None)).results
