"""The verbs of upkeep: the working set of a session, topics, and what a cube keeps for how long."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from memos.client.cubes import CubeVerbs
from memos.client.encoding import body
from memos.client.transport import Call
from memos.frames import Rules, Runs, Topics
from memos.memory.upkeep import (
    Reorganized,
    RetentionPlan,
    RetentionRule,
    RetentionRun,
    Topic,
    Working,
)

Given = Collection[RetentionRule | Mapping[str, Any]]


class UpkeepVerbs(CubeVerbs):
    """The upkeep of a cube."""

    async def working(self, session: str | None = None, *, user: str | None = None, cube: str | None = None) -> Working:
        """The memories most relevant to a session (by default, the one spoken in last); see `AsyncMemOS.working`."""
        params = body(session=session, user=self._as(user))
        return await self._get(await self._of_cube(user, cube, "working"), Working, params)

    async def topics(
        self, query: str | None = None, *, limit: int = 100, user: str | None = None, cube: str | None = None
    ) -> builtins.list[Topic]:
        """The topics that answer a question, best first, or the largest; see `AsyncMemOS.topics`."""
        params = body(query=query, limit=limit, user=self._as(user))
        return [*(await self._get(await self._of_cube(user, cube, "topics"), Topics, params)).items]

    async def reorganize(self, *, user: str | None = None, cube: str | None = None) -> Reorganized:
        """Bring the topics of a cube up to date; see `AsyncMemOS.reorganize`."""
        params = body(user=self._as(user))
        call = Call("POST", await self._of_cube(user, cube, "reorganize"), params=params, patient=True)
        return await self._transport.ask(call, Reorganized)

    async def retention(self, *, user: str | None = None, cube: str | None = None) -> builtins.list[RetentionRule]:
        """The retention rules of a cube."""
        return [
            *(await self._get(await self._of_cube(user, cube, "retention"), Rules, body(user=self._as(user)))).items
        ]

    async def set_retention(
        self, rules: Given, *, user: str | None = None, cube: str | None = None
    ) -> builtins.list[RetentionRule]:
        """Set the retention rules of a cube; see `AsyncMemOS.set_retention`. Only an admin of the cube may."""
        params, fields = body(user=self._as(user)), {"rules": _sent(rules)}
        call = Call("PUT", await self._of_cube(user, cube, "retention"), params=params, body=fields)
        return [*(await self._transport.ask(call, Rules)).items]

    async def preview_retention(
        self, rules: Given | None = None, *, limit: int = 1000, user: str | None = None, cube: str | None = None
    ) -> RetentionPlan:
        """What these rules (by default, the cube's) would take now, and why. Nothing is changed."""
        fields = body(rules=None if rules is None else _sent(rules), limit=limit)
        path, params = await self._of_cube(user, cube, "retention/preview"), body(user=self._as(user))
        return await self._transport.ask(Call("POST", path, params=params, body=fields, patient=True), RetentionPlan)

    async def apply_retention(
        self, *, despite_clock: bool = False, user: str | None = None, cube: str | None = None
    ) -> RetentionRun:
        """Apply the retention rules of a cube now; see `AsyncMemOS.apply_retention`."""
        path, params = await self._of_cube(user, cube, "retention/apply"), body(user=self._as(user))
        call = Call("POST", path, params=params, body={"despite_clock": despite_clock}, patient=True, repeatable=False)
        return await self._transport.ask(call, RetentionRun)

    async def retention_log(
        self, *, limit: int = 100, user: str | None = None, cube: str | None = None
    ) -> builtins.list[RetentionRun]:
        """What retention took from a cube, newest first, and what it refused."""
        params = body(limit=limit, user=self._as(user))
        return [*(await self._get(await self._of_cube(user, cube, "retention/runs"), Runs, params)).items]


def _sent(rules: Given) -> builtins.list[Any]:
    return [asdict(rule) if is_dataclass(rule) else rule for rule in rules]
