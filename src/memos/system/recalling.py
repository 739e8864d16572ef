"""The verb by which an agent recalls: skills, guidance, experience, the world and facts, in one block under one budget."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

from memos.arguments import listed, member
from memos.errors import InvalidInput, MemosError
from memos.memory.acting import Recalled, Tier, Trigger
from memos.memory.number import whole
from memos.reading.parts import is_blank
from memos.recall.tiers import PLANS, Plan
from memos.storage.sqlite.registry import check_name
from memos.system.acting import DEFAULT_AGENT, MOST_TOKENS
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base
from memos.system.recollection import Asked, Recollection


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
        asked = Asked(
            query=_text(query, "query"),
            trigger=member(Trigger, trigger, "trigger"),
            session=check_name(session, "session"),
            agent=check_name(agent, "agent"),
            environment=check_name(environment, "environment") if environment else "",
            tool=_optional(tool, "tool"),
            error=_optional(error, "error"),
            user=user,
            max_tokens=whole(max_tokens, "max_tokens", most=MOST_TOKENS),
        )
        plan = _plan(asked.trigger, tiers)
        parts = self._parts()
        work = Recollection(parts, self.settings, asked, plan)
        async with contextlib.AsyncExitStack() as stack:
            info, store = await stack.enter_async_context(self._cube(user, cube, "read"))
            work.own(info, store, at_work=parts.registry.level(info, user) in ("write", "admin"))
            for name in dict.fromkeys(check_name(c, "cube") for c in listed(also, "also")):
                if name == info.name:
                    continue
                try:
                    work.further(*await stack.enter_async_context(self._cube(user, name, "read")))
                except MemosError as e:
                    if isinstance(e, (LookupError, PermissionError, InvalidInput)):
                        raise
                    work.miss(f"cube {name!r} could not be asked: {e}")
            return await work.done()


def _plan(trigger: Trigger, tiers: Collection[Tier | str] | None) -> Plan:
    """The plan of a trigger, or of it what is asked for: tiers it has no room for otherwise share what the others leave."""
    plan = PLANS[trigger]
    if tiers is None:
        return plan
    wanted = [member(Tier, t, "tier") for t in listed(tiers, "tiers")]
    if not wanted:
        raise InvalidInput("tiers is a list of at least one tier; leave it out for all")
    return plan.only(wanted)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or is_blank(value):
        raise InvalidInput(f"the {what} is empty; give a goal, a message, a tool's input or the name of a skill")
    return value


def _optional(value: object, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is a text, got {value!r:.60}")
    return value
