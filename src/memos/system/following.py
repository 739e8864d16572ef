"""The verb that follows what is learned, as it happens, in whichever process: the rows of the cube are the stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from memos.memory.learned import LearningEvent
from memos.system.base import DEFAULT_USER
from memos.system.learned import Learned

PAUSE = 0.5  # seconds between looks where nothing was new
PAGE = 500  # events of one look


class Following(Learned):
    """See `AsyncMemOS`."""

    async def follow_learning(
        self, *, after: int = 0, user: str = DEFAULT_USER, cube: str | None = None
    ) -> AsyncGenerator[LearningEvent, None]:
        """What is learned in a cube, event by event, from number `after` on and as it happens, without an end.

        Who comes back later goes on after the `number` of the last event seen: none is missed, and none comes twice. Raises
        InvalidInput, NotFound, and AccessDenied as soon as the user may not read the cube any more.
        """
        while True:
            found = await self.learning_events(after=after, limit=PAGE, user=user, cube=cube)
            for event in found.items:
                yield event
            after = max(after, found.last)
            if not found.items:
                await asyncio.sleep(PAUSE)
