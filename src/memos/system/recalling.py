"""The verb by which an agent recalls: skills, guidance, experience, the world and facts, in one block under one budget."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memos.memory.acting import Recalled, Tier, Trigger
from memos.system.acting import DEFAULT_AGENT
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base


class Recalling(Base):
    """See `AsyncMemOS`."""

    async def recall(
        self,
        query: str,
        *,
        trigger: Trigger | str = Trigger.TURN,
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        environment: str = "",
        tool: str | None = None,
        error: str | None = None,
        tiers: Collection[Tier | str] | None = None,
        also: Sequence[str] = (),
        max_tokens: int = 1_500,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Recalled:
        """What an agent should know for `query`: a goal, a message, a tool's input, the name of a skill; by `trigger`.

        With an open episode in the session, skills and policies handed out count as trials in it, and hints of the session that
        were not delivered yet are. `tool` and `error`: what is about to be called, or failed. `tiers`: only these. `also`:
        further cubes the user may read; what is learned there is used, and its trials count there. Raises InvalidInput.
        """
        raise NotImplementedError
