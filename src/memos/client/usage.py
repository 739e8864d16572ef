"""The verb about what language models used and cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from memos.client.connected import Connected
from memos.client.encoding import body
from memos.frames import LlmUses
from memos.memory.spending import BY, By, LlmUse

_USES = 10_000


class UsageVerbs(Connected):
    """What language models used and cost."""

    async def llm_usage(
        self,
        *,
        user: str | None = None,
        purpose: str | None = None,
        since: datetime | date | str | float | None = None,
        until: datetime | date | str | float | None = None,
        by: Sequence[By] = BY,
        limit: int = _USES,
    ) -> tuple[LlmUse, ...]:
        """What language models used and cost; see `AsyncMemOS.llm_usage`. Everybody's needs a key with the scope `admin` (and no
        `user` of the client); others get their own.
        """
        names = (by,) if isinstance(by, str) else tuple(by)
        params = body(user=self._as(user), purpose=purpose, since=since, until=until, by=names or None, limit=limit)
        found = await self._get("/v1/usage", LlmUses, params)
        return found.items if names else (found.total,) if found.total.calls else ()
