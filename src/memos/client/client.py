"""`AsyncClient`: a MemOS server, with the verbs of `AsyncMemOS`. `memos.client.sync` is its synchronous face."""

from __future__ import annotations

import os
from typing import Self

from memos.client.agents import AgentVerbs
from memos.client.chat import ChatVerbs
from memos.client.entities import EntityVerbs
from memos.client.feedback import FeedbackVerbs
from memos.client.images import ImageVerbs
from memos.client.learned import LearnedVerbs
from memos.client.memories import MemoryVerbs
from memos.client.profile import ProfileVerbs
from memos.client.reading import ReadingVerbs
from memos.client.service import ServiceVerbs
from memos.client.skills import SkillVerbs
from memos.client.transport import Transport
from memos.client.upkeep import UpkeepVerbs
from memos.client.usage import UsageVerbs
from memos.errors import InvalidInput
from memos.models.resilience import RetryPolicy

DEFAULT_URL = "http://127.0.0.1:8000"
_ATTEMPTS, _FIRST_PAUSE, _LONGEST_PAUSE = 5, 0.2, 5.0


class AsyncClient(
    MemoryVerbs,
    AgentVerbs,
    LearnedVerbs,
    SkillVerbs,
    ChatVerbs,
    UpkeepVerbs,
    ReadingVerbs,
    ServiceVerbs,
    EntityVerbs,
    FeedbackVerbs,
    UsageVerbs,
    ProfileVerbs,
    ImageVerbs,
):
    """A server to add to and search in, for asyncio. Nothing is sent before the first call; `close` (or `async with`) ends it.

    `base_url` and `api_key` default to the environment variables MEMOS_URL and MEMOS_API_KEY, then to this machine without a key.
    `user`: whom calls are for that name none; without it, the key's user. `timeout`: seconds a call may take, all attempts and
    pauses included; `patience`: the same for calls that wait for work to be done (`wait=True`, `flush`, archives, tasks).
    `attempts`: how often at most a call is sent whose repetition does no harm. Connections that cannot be made, 429, 502, 503
    and 504 are tried again, with growing pauses or after as long as the server says.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        user: str | None = None,
        timeout: float = 60.0,
        patience: float = 600.0,
        attempts: int = _ATTEMPTS,
    ) -> None:
        for name, seconds in (("timeout", timeout), ("patience", patience)):
            if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not 0 < seconds <= 86_400:
                raise InvalidInput(f"{name} is a number of seconds, more than 0 and at most a day, got {seconds!r:.60}")
        if not isinstance(attempts, int) or isinstance(attempts, bool) or not 1 <= attempts <= 100:
            raise InvalidInput(f"attempts is a whole number from 1 to 100, got {attempts!r:.60}")
        key = api_key if api_key is not None else os.environ.get("MEMOS_API_KEY")
        if key is not None and not (isinstance(key, str) and key.strip().isascii() and key.strip().isprintable()):
            raise InvalidInput("api_key (or MEMOS_API_KEY) holds characters that no key has")
        self._user = user
        self._transport = Transport(
            base_url if base_url is not None else os.environ.get("MEMOS_URL") or DEFAULT_URL,
            key.strip() if key else None,
            timeout=timeout,
            patience=patience,
            policy=RetryPolicy(attempts=attempts, base=_FIRST_PAUSE, longest=_LONGEST_PAUSE),
        )

    @property
    def base_url(self) -> str:
        """The address of the server, without a slash at the end."""
        return self._transport.base_url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        await self._transport.close()
