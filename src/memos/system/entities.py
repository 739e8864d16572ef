"""The verbs of entities: who and what is named, under which names, and making two one (which can be taken back)."""

from __future__ import annotations

import builtins

from memos.errors import InvalidInput, NotFound
from memos.memory.entity import ALIASED, Entity, EntityPage, Merged, Unmerged, aliases_of
from memos.memory.filter import And, Compare, Field, Filter, Op
from memos.memory.ids import is_id
from memos.memory.model import Kind, Memory
from memos.organize.entities import add_alias, merge_entities, remove_alias, unmerge
from memos.reading.parts import is_blank, well_formed
from memos.storage.ports import NOW, WAS_TRUE, Change, View
from memos.storage.sqlite.cube import SqliteCube
from memos.system.base import DEFAULT_USER, Base

MOST_NAME = 200  # characters
_ENTITY = Compare(Field("kind"), Op.EQ, Kind.ENTITY.value)
_MOST_FOUND = 1_000


class Entities(Base):
    """See `AsyncMemOS`."""

    async def entities(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        merged: bool = False,
        limit: int = 100,
        cursor: str | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> EntityPage:
        """Who and what is named in a cube, newest first, a page at a time.

        `name`: a part of the name or of an alias (then everything is on one page). `type`: person, place, organisation,
        product, ... `merged`: also those that were merged into others.
        """
        view = View(statuses=WAS_TRUE) if merged else NOW
        where: Filter = _ENTITY
        if type is not None:
            where = And((_ENTITY, Compare(Field("tags"), Op.CONTAINS, type)))
        async with self._cube(user, cube, "read") as (_, store):
            await self._parts().background.catch_up(store)
            if name is None:
                page = await store.list(where, view=view, limit=limit, cursor=cursor)
                return EntityPage(tuple(map(Entity.of, page.items)), page.cursor)
            found = await _by_part(store, _checked(name), where, view)
        return EntityPage(tuple(Entity.of(m) for m in found[:limit]), None)

    async def resolve_entity(
        self, name: str, *, user: str = DEFAULT_USER, cube: str | None = None
    ) -> builtins.list[Entity]:
        """The entities that bear exactly this name or alias, in any case: one, unless things of several types do."""
        wanted = _checked(name)
        async with self._cube(user, cube, "read") as (_, store):
            await self._parts().background.catch_up(store)
            return [Entity.of(m) for m in await bearing(store, wanted)]

    async def merge_entities(
        self, keep: str, other: str, *, user: str = DEFAULT_USER, cube: str | None = None
    ) -> Merged:
        """Make two entities (ids or names) one: `keep` has the names, mentions and relations of both from here on.

        One change: `unmerge` takes it back also when more was said since. Raises NotFound, InvalidInput for one and the same
        or a name that several have, and Conflict for an entity that is merged already.
        """
        async with self._cube(user, cube, "write") as (_, store):
            kept, gone = await _meant(store, keep), await _meant(store, other)
            change = Change(actor=user, cause=f"merge entity {gone} into {kept}")
            return await store.write(lambda tx: merge_entities(tx, kept, gone), change)

    async def unmerge(self, entity: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Unmerged:
        """Take a merge back: the entity (by its id) has again what it had, and what was said since by its own name.

        Raises NotFound, InvalidInput when it is not merged, and Conflict when what it was merged into was merged since.
        """
        async with self._cube(user, cube, "write") as (_, store):
            change = Change(actor=user, cause=f"unmerge entity {entity}")
            id = await _merged(store, entity)
            return await store.write(lambda tx: unmerge(tx, id), change)

    async def add_alias(self, entity: str, name: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Entity:
        """Let an entity (id or name) be found by one more name. Raises NotFound, and Conflict when the name is another's."""
        alias = _checked(name)
        async with self._cube(user, cube, "write") as (_, store):
            id = await _meant(store, entity)
            return await store.write(lambda tx: add_alias(tx, id, alias), Change(actor=user, cause="add alias"))

    async def remove_alias(
        self, entity: str, name: str, *, user: str = DEFAULT_USER, cube: str | None = None
    ) -> Entity:
        """Take an alias away. Raises NotFound when it is none, and Conflict for the name of an entity that was merged."""
        alias = _checked(name)
        async with self._cube(user, cube, "write") as (_, store):
            id = await _meant(store, entity)
            return await store.write(lambda tx: remove_alias(tx, id, alias), Change(actor=user, cause="remove alias"))


def _checked(name: object) -> str:
    if not isinstance(name, str) or is_blank(name):
        raise InvalidInput(f"the name is blank or no text ({name!r:.40})")
    if len(name) > MOST_NAME:
        raise InvalidInput(f"a name has at most {MOST_NAME} characters, got {len(name)}")
    return " ".join(well_formed(name).split())


def names_of(m: Memory) -> set[str]:
    """The name and the aliases of an entity, in small letters."""
    return {m.text.casefold(), *(a.casefold() for a in aliases_of(m))}


async def bearing(store: SqliteCube, name: str) -> builtins.list[Memory]:
    """The entities that bear exactly this name or alias, in any case."""
    return [m for m in await _by_part(store, name, _ENTITY, NOW) if name.casefold() in names_of(m)]


async def _by_part(store: SqliteCube, part: str, where: Filter, view: View) -> builtins.list[Memory]:
    """The entities of which a name holds this, those that bear it first."""
    by_name = await store.list(And((where, Compare(Field("text"), Op.LIKE, part))), view=view, limit=_MOST_FOUND)
    aliased = await store.list(And((where, Compare(Field("slot"), Op.EQ, ALIASED))), view=view, limit=_MOST_FOUND)
    wanted = part.casefold()
    found = {m.id: m for m in (*by_name.items, *aliased.items) if any(wanted in name for name in names_of(m))}
    return sorted(found.values(), key=lambda m: wanted not in names_of(m))


async def _meant(store: SqliteCube, entity: str) -> str:
    """The id of the entity that an id or a name means."""
    if is_id(entity):
        return entity
    name = _checked(entity)
    found = await bearing(store, name)
    if not found:
        raise NotFound(f"no entity is called {name!r} in this cube")
    if len(found) > 1:
        several = ", ".join(f"{m.id} ({m.body.get('type', 'other')})" for m in found[:5])
        raise InvalidInput(f"{len(found)} entities are called {name!r}: {several}; give the id")
    return found[0].id


async def _merged(store: SqliteCube, entity: str) -> str:
    """The id of a merged entity that an id or a name means."""
    if is_id(entity):
        return entity
    name = _checked(entity)
    held = await _by_part(store, name, _ENTITY, View(statuses=WAS_TRUE))
    found = [m for m in held if m.text.casefold() == name.casefold() and Entity.of(m).merged_into]
    if len(found) != 1:
        raise NotFound(f"{len(found) or 'no'} merged entities are called {name!r} in this cube; give the id")
    return found[0].id
