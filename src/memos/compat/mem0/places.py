"""The cubes of mem0 that belong to one user of ours (the tenant): found, made, and asked where a memory is."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memos.compat.mem0.filters import Node, within
from memos.compat.mem0.scopes import KIND, Scope, homes_of
from memos.door import Door
from memos.errors import Conflict, InvalidInput, NotFound
from memos.storage.ports import CubeInfo

_TRIES = 5
_REMEMBERED = 50_000


_FIRST = "00000000-0000-0000-0000-000000000000"


@dataclass(slots=True)
class Settled:
    """The last fact, and the last message, that was looked at for labels (`labels.settle`)."""

    facts: str = _FIRST
    messages: str = _FIRST


class Known:
    """What is remembered of a memory system between requests, to save work: where memories are, how far cubes are settled."""

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self.settled: dict[str, Settled] = {}

    def saw(self, cube: str, ids: Iterable[str]) -> None:
        """Note where memories are that were just shown, or else every cube would be looked into for one by its id."""
        self.seen |= dict.fromkeys(ids, cube)
        while len(self.seen) > _REMEMBERED:
            del self.seen[next(iter(self.seen))]


@dataclass(frozen=True, slots=True)
class Place:
    """A cube, and the ids whose memories it holds."""

    cube: str
    home: Mapping[str, str]
    since: str
    settled: Settled


class Places:
    """The cubes of one tenant. A cube that somebody else owns is never among them, whatever its name and its grants."""

    def __init__(self, door: Door, owner: str, known: Known) -> None:
        self._door, self._owner, self.known = door, owner, known

    async def all(self) -> list[Place]:
        """Every cube."""
        return [place for cube in await self._door.ask("list_cubes") if (place := self._mine(cube)) is not None]

    async def matching(self, node: Node) -> list[tuple[Place, Mapping[str, Any] | None]]:
        """The cubes in which something may match, each with what is left of the filter there (None: nothing)."""
        found: list[tuple[Place, Mapping[str, Any] | None]] = []
        for place in await self.all():
            left = within(node, place.home)
            if left is not False:
                found.append((place, None if left is True else left))
        return found

    async def made(self, scope: Scope) -> Place:
        """The cube of a scope, which is created when it is not there."""
        for number in itertools.count():
            name = scope.cube(self._owner, number)
            place = await self._there(name)
            if place is None:
                try:
                    place = self._mine(await self._door.ask("create_cube", name, info={"kind": KIND, **scope.home}))
                except InvalidInput:  # made by somebody meanwhile: by us, or by another under this name
                    place = await self._there(name)
            if place is not None and place.home == scope.home:
                return place
            if number >= _TRIES:
                break
        raise Conflict(f"the cube {scope.cube(self._owner)!r} is another's; its owner has to give up the name")

    async def of(self, id: str) -> Place:
        """Where a memory is. Raises NotFound when it is not in a cube of this tenant's mem0."""
        seen = self.known.seen.get(id)
        place = await self._there(seen) if seen is not None else None
        if place is not None:
            with contextlib.suppress(NotFound):
                await self._door.ask("get", id, cube=place.cube)
                return place
        name = (await self._door.ask("locate", [id])).get(id)
        place = await self._there(name) if name is not None else None
        if place is None:
            raise NotFound(f"memory {id} does not exist")
        return place

    async def _there(self, name: str) -> Place | None:
        try:
            return self._mine(await self._door.ask("open_cube", name))
        except NotFound:
            return None

    def _mine(self, cube: CubeInfo) -> Place | None:
        home = homes_of(cube.info) if cube.owner == self._owner else None
        return None if home is None else self._place(cube, home)

    def _place(self, cube: CubeInfo, home: Mapping[str, str]) -> Place:
        # by file: a cube that is made anew under its name begins anew
        settled = self.known.settled.setdefault(cube.location or cube.name, Settled())
        return Place(cube.name, home, cube.created_at.isoformat(), settled)
