"""How one session of Hermes reaches the memory: as whom, in which cube, and with the time it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeVar

from memos.errors import Conflict, InvalidInput, NotFound
from memos.hosts.hermes.engine import Engine, lease
from memos.hosts.hermes.options import Options
from memos.tools.door import Door

T = TypeVar("T")
BUDGET = 12_000  # characters of a tool's answer
DEFAULT_PROFILE = "default"


@dataclass(frozen=True, slots=True)
class Who:
    """`user` None: the one of the key, or of the data folder. `cube` None: her own. `agent`: who acts."""

    user: str | None
    cube: str | None
    agent: str

    @classmethod
    def of(cls, options: Options, *, platform: str, profile: str, speaker: str) -> Who:
        """Whose memory a session is about: of the user that is set, else of who speaks in a gateway; each profile of Hermes has a
        cube of its own, but the default one.
        """
        user = options.user or (f"{platform}-{speaker}"[:128] if speaker else "") or None
        own = profile and profile != DEFAULT_PROFILE
        cube = options.cube or (f"{user or 'default'}-hermes-{profile}"[:128] if own else "") or None
        return cls(user, cube, f"hermes-{profile}"[:128] if own else "hermes")


class Link:
    """The calls of a session."""

    def __init__(self, options: Options, who: Who) -> None:
        self._engine: Engine | None = lease(options)
        self._who, self._made = who, who.cube is None

    def begin(self, call: Callable[[Door], Awaitable[T]]) -> Future[T]:
        """Begin a call; its result is in the future, or what went wrong."""
        if self._engine is None:
            raise RuntimeError("the session of Hermes is over")
        return self._engine.begin(lambda door: self._ours(door, call))

    def call(self, call: Callable[[Door], Awaitable[T]], seconds: float) -> T:
        """The result of a call. Raises MemosError, and TimeoutError when it is not there in time; it goes on then."""
        return self.begin(call).result(seconds)

    def close(self, seconds: float) -> None:
        """Leave the memory, within a time."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.release(seconds)

    async def _ours(self, door: Door, call: Callable[[Door], Awaitable[T]]) -> T:
        door = replace(door, user=self._who.user, cube=self._who.cube, agent=self._who.agent, budget=BUDGET)
        if not self._made:
            await _with_cube(door)
            self._made = True
        return await call(door)


async def _with_cube(door: Door) -> None:
    """Make the cube that is set, or a profile's, unless it is there."""
    try:
        await door.system.stats(**door.where())
    except NotFound:
        assert door.cube is not None
        try:
            await door.system.create_cube(door.cube, **door.who())
        except (Conflict, InvalidInput):  # another call, or process, made it meanwhile, or it is somebody else's
            await door.system.stats(**door.where())
