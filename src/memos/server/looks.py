"""Looks at a system's health that are kept for a moment, since anybody may ask for one."""

from __future__ import annotations

import asyncio
import time

from memos.health import Health
from memos.system import AsyncMemOS

KEPT_SECONDS = 1.0


class Looks:
    """The last look at a system's health."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._at = -KEPT_SECONDS
        self._found: Health | None = None

    async def look(self, memos: AsyncMemOS) -> Health:
        """The health, at most a second old."""
        async with self._lock:
            if self._found is None or time.monotonic() - self._at >= KEPT_SECONDS:
                self._found = await memos.health()
                self._at = time.monotonic()
            return self._found
