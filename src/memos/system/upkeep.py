"""The verbs of upkeep: the working set of a session, what a cube keeps for how long, and its topics."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping
from typing import Any

from memos.errors import InvalidInput
from memos.memory.number import whole
from memos.memory.upkeep import Reorganized, RetentionPlan, RetentionRule, RetentionRun, Topic, Working
from memos.organize.retention import LISTED
from memos.organize.retention_rules import checked_rules, rules_of
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base

Rules = Collection[RetentionRule | Mapping[str, Any]]


class Upkeeping(Base):
    """See `AsyncMemOS`."""

    async def working(
        self, session: str | None = None, *, user: str = DEFAULT_USER, cube: str | None = None
    ) -> Working:
        """The at most twenty memories most relevant to a session (by default, the one spoken in last): facts that hold first,
        then what was said. What was replaced or deleted is never in it.

        From the first time it is asked for, the background keeps it ready; when messages came since it was chosen, it is chosen
        anew now.
        """
        if session is not None:
            check_name(session, "session")
        parts = self._parts()
        async with self._cube(user, cube, "read") as (info, store):
            await parts.background.catch_up(store)
            name = session if session is not None else await store.last_session()
            return await parts.upkeep.working(info, store, name if name is not None else DEFAULT_SESSION)

    async def reorganize(self, *, user: str = DEFAULT_USER, cube: str | None = None) -> Reorganized:
        """Bring the topics of a cube up to date: memories about the same thing are grouped, and each group has a summary with its
        evidence (kind `summary`), by a language model where one is configured for evolution, else out of their own sentences.

        With the setting `reorganize` the background does it by itself. A search shows summaries only when asked for the kind.
        """
        parts = self._parts()
        async with self._cube(user, cube, "write") as (info, store):
            await parts.background.catch_up(store)
            return await parts.upkeep.reorganize(info, store, user, user)

    async def topics(
        self, query: str | None = None, *, limit: int = 100, user: str = DEFAULT_USER, cube: str | None = None
    ) -> builtins.list[Topic]:
        """The topics that `reorganize` found: those that answer a question, best first, or the largest. `stale` ones were written
        before something in them changed.
        """
        whole(limit, "limit")
        if query is not None and (not isinstance(query, str) or not query.strip()):
            raise InvalidInput("the query is empty; leave it out for the largest topics")
        async with self._cube(user, cube, "read") as (info, store):
            return await self._parts().upkeep.topics(info, store, query, limit)

    async def retention(self, *, user: str = DEFAULT_USER, cube: str | None = None) -> builtins.list[RetentionRule]:
        """The retention rules of a cube; none, unless some were set: then nothing ever goes by itself."""
        async with self._cube(user, cube, "read") as (info, _):
            return [*rules_of(info.info)]

    async def set_retention(
        self, rules: Rules, *, user: str = DEFAULT_USER, cube: str | None = None
    ) -> builtins.list[RetentionRule]:
        """Set the retention rules of a cube (an empty list: nothing goes by itself any more). Only an admin of it may.

        They are applied once an hour, in the background. See `preview_retention` for what they would take. Raises InvalidInput.
        """
        checked = checked_rules(rules)
        async with self._cube(user, cube, "admin") as (info, store):
            kept = await self._parts().upkeep.set_rules(info, store, checked, user)
            return [*rules_of(kept.info)]

    async def preview_retention(
        self,
        rules: Rules | None = None,
        *,
        limit: int = LISTED,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> RetentionPlan:
        """What these rules (by default, those of the cube) would take if they were applied now: each memory and why, with what
        goes along. At most `limit` are listed, the oldest first; nothing is changed.
        """
        whole(limit, "limit", most=10_000)
        checked = None if rules is None else checked_rules(rules)
        async with self._cube(user, cube, "write") as (info, store):
            await self._parts().background.catch_up(store)
            return await self._parts().upkeep.plan(info, store, checked, limit)

    async def apply_retention(
        self, *, despite_clock: bool = False, user: str = DEFAULT_USER, cube: str | None = None
    ) -> RetentionRun:
        """Apply the retention rules of a cube now. Only an admin of it may. `more` in the answer: some is left for the next run.

        A clock that seems wrong (behind what is recorded, or a month ahead with nothing recorded) is a reason to do nothing,
        which the answer tells in `refused`; `despite_clock` says that it is right. Raises InvalidInput when there are no rules.
        """
        async with self._cube(user, cube, "admin") as (info, store):
            return await self._parts().upkeep.apply(info, store, user, despite_clock=bool(despite_clock))

    async def retention_log(
        self, *, limit: int = 100, user: str = DEFAULT_USER, cube: str | None = None
    ) -> builtins.list[RetentionRun]:
        """What retention took from a cube, newest first, and what it refused. Runs that had nothing to take are left out."""
        async with self._cube(user, cube, "read") as (info, _):
            return self._parts().upkeep.runs(info, limit)
