"""The verbs of entities: who and what is named, under which names, and making two one."""

from __future__ import annotations

import builtins

from memos.client.connected import Connected
from memos.client.encoding import body
from memos.memory.entity import Entity, EntityPage, Merged, Unmerged


class EntityVerbs(Connected):
    """Entities of a cube."""

    async def entities(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        merged: bool = False,
        limit: int = 100,
        cursor: str | None = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> EntityPage:
        """Who and what is named in a cube, a page at a time; see `AsyncMemOS.entities`."""
        params = body(
            name=name, type=type, merged=merged or None, limit=limit, cursor=cursor, user=self._as(user), cube=cube
        )
        return await self._get("/v1/entities", EntityPage, params)

    async def resolve_entity(
        self, name: str, *, user: str | None = None, cube: str | None = None
    ) -> builtins.list[Entity]:
        """The entities that bear exactly this name or alias."""
        fields = {"name": name, "user": self._as(user), "cube": cube}
        return [*(await self._post("/v1/entities/resolve", EntityPage, fields))]

    async def merge_entities(
        self, keep: str, other: str, *, user: str | None = None, cube: str | None = None
    ) -> Merged:
        """Make two entities (ids or names) one. Raises NotFound, InvalidInput and Conflict."""
        fields = {"keep": keep, "other": other, "user": self._as(user), "cube": cube}
        return await self._post("/v1/entities/merge", Merged, fields, repeatable=False)

    async def unmerge(self, entity: str, *, user: str | None = None, cube: str | None = None) -> Unmerged:
        """Take a merge back; see `AsyncMemOS.unmerge`. Raises NotFound, InvalidInput and Conflict."""
        fields = {"entity": entity, "user": self._as(user), "cube": cube}
        return await self._post("/v1/entities/unmerge", Unmerged, fields, repeatable=False)

    async def add_alias(self, entity: str, name: str, *, user: str | None = None, cube: str | None = None) -> Entity:
        """Let an entity (id or name) be found by one more name. Raises NotFound and Conflict."""
        fields = {"entity": entity, "name": name, "user": self._as(user), "cube": cube}
        return await self._post("/v1/entities/aliases", Entity, fields)

    async def remove_alias(self, entity: str, name: str, *, user: str | None = None, cube: str | None = None) -> Entity:
        """Take an alias away. Raises NotFound and Conflict."""
        fields = {"entity": entity, "name": name, "user": self._as(user), "cube": cube}
        return await self._post("/v1/entities/aliases/remove", Entity, fields, repeatable=False)
