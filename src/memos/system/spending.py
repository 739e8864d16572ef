"""The verb of what language models used and cost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date

from memos.arguments import listed
from memos.errors import InvalidInput
from memos.memory.number import whole
from memos.memory.spending import BY, By, LlmUse
from memos.memory.time import parse_time, utcnow
from memos.models.llm.port import PURPOSES
from memos.storage.sqlite.registry import check_name
from memos.system.base import Base, When

MOST_USES = 100_000
USES = 10_000


class Spending(Base):
    """See `AsyncMemOS`."""

    async def llm_usage(
        self,
        *,
        user: str | None = None,
        purpose: str | None = None,
        since: When = None,
        until: When = None,
        by: Sequence[By] = BY,
        limit: int = USES,
    ) -> tuple[LlmUse, ...]:
        """What language models used and cost, for everybody or one `user`, told apart `by` any of day, user, purpose and model
        (by nothing: one sum): newest days first, then those with the most tokens, `limit` (up to 100,000) at most.

        `since` and `until`: from a day to a day, both included; days are those of UTC. What other processes counted in their
        last seconds is not in it yet. Raises InvalidInput.
        """
        if user is not None:
            check_name(user, "user")
        if purpose is not None and purpose not in PURPOSES:
            raise InvalidInput(f"purpose is one of {', '.join(PURPOSES)}, got {purpose!r:.60}")
        for name in (chosen := tuple(listed(by, "by"))):
            if name not in BY:
                raise InvalidInput(f"by names {', '.join(BY)}, got {name!r:.60}")
        whole(limit, "limit", most=MOST_USES)
        parts = self._parts()
        first, last = _day(since), _day(until)
        await parts.ledger.flush()
        return await asyncio.to_thread(
            parts.registry.llm_usage.find,
            tuple(dict.fromkeys(chosen)),
            user=user,
            purpose=purpose,
            since=first,
            until=last,
            limit=limit,
        )


def _day(value: When) -> date | None:
    return None if value is None else parse_time(value, now=utcnow()).instant.date()
