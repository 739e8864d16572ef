"""One holder at a time for each cube and kind of work, within one event loop."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary


class Locks:
    """A lock for each name. One that nobody holds or waits for is forgotten."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        """The lock of this name."""
        found = self._held.get(name)
        if found is None:
            found = self._held[name] = asyncio.Lock()
        return found
