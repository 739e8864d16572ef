"""The verbs that show what was lived and learned, and follow it as it happens."""

from __future__ import annotations

import asyncio
import builtins
import time
from collections.abc import AsyncGenerator, Collection
from datetime import datetime
from typing import Any

from memos.client.connected import Connected
from memos.client.decoding import decode
from memos.client.encoding import body, segment
from memos.client.transport import Call
from memos.errors import Unavailable
from memos.frames import Policies
from memos.memory.acting import Evolved, LearningEvents, LearningReport, Lineage, WorldAnswer
from memos.memory.episode import EpisodeDetail, Episodes
from memos.memory.learned import Form, LearningEvent, Policy, Skill, State, WorldStatement

When = datetime | str | float | None
_RECONNECTS = 5
_SETTLED = 10.0  # seconds: a stream that held so long was a good one, and its end is not held against the server


class LearnedVerbs(Connected):
    """Episodes, policies, the world model, lineage, and the stream of what is learned."""

    async def evolve(self, *, now: bool = False, user: str | None = None, cube: str | None = None) -> Evolved:
        """Learn from every closed episode that is due; see `AsyncMemOS.evolve`."""
        return await self._post("/v1/learning/evolve", Evolved, {"now": now, **self._of(user, cube)}, patient=True)

    async def episodes(
        self,
        *,
        session: str | None = None,
        agent: str | None = None,
        is_open: bool | None = None,
        limit: int = 50,
        cursor: str | None = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> Episodes:
        """The episodes of a cube, newest first, a page at a time."""
        params = body(session=session, agent=agent, is_open=is_open, limit=limit, cursor=cursor)
        return await self._get("/v1/episodes", Episodes, params | self._of(user, cube))

    async def episode(self, id: str, *, user: str | None = None, cube: str | None = None) -> EpisodeDetail:
        """An episode with its steps and what was said of its outcome. Raises NotFound."""
        return await self._get(f"/v1/episodes/{segment(id, 'id')}", EpisodeDetail, self._of(user, cube))

    async def policies(
        self,
        query: str | None = None,
        *,
        states: Collection[State | str] | None = None,
        forms: Collection[Form | str] | None = None,
        limit: int = 100,
        user: str | None = None,
        cube: str | None = None,
    ) -> builtins.list[Policy]:
        """The policies that answer a question, best first, or all, newest first; see `AsyncMemOS.policies`."""
        params = body(query=query, states=states, forms=forms, limit=limit) | self._of(user, cube)
        return [*(await self._get("/v1/policies", Policies, params)).items]

    async def policy(self, id: str, *, user: str | None = None, cube: str | None = None) -> Policy:
        """A policy with what is counted of it. Raises NotFound."""
        return await self._get(f"/v1/policies/{segment(id, 'id')}", Policy, self._of(user, cube))

    async def world(
        self,
        query: str | None = None,
        *,
        environment: str | None = None,
        hops: int = 3,
        limit: int = 20,
        user: str | None = None,
        cube: str | None = None,
    ) -> WorldAnswer:
        """What is known of an environment, and how what a question names is connected; see `AsyncMemOS.world`."""
        params = body(query=query, environment=environment, hops=hops, limit=limit) | self._of(user, cube)
        return await self._get("/v1/world", WorldAnswer, params)

    async def world_statement(self, id: str, *, user: str | None = None, cube: str | None = None) -> WorldStatement:
        """A statement of the world model. Raises NotFound."""
        return await self._get(f"/v1/world/{segment(id, 'id')}", WorldStatement, self._of(user, cube))

    async def set_state(
        self,
        id: str,
        state: State | str,
        *,
        reason: str = "",
        user: str | None = None,
        cube: str | None = None,
    ) -> Policy | Skill | WorldStatement:
        """Retire a policy, a skill or a statement by hand, or bring it back; see `AsyncMemOS.set_state`."""
        of: Any = Policy | Skill | WorldStatement
        fields = {"state": state, "reason": reason, **self._of(user, cube)}
        found: _Learned = await self._post(f"/v1/learned/{segment(id, 'id')}/state", of, fields, repeatable=False)
        return found

    async def lineage(self, id: str, *, user: str | None = None, cube: str | None = None) -> Lineage:
        """Where something learned comes from, and what came of it; see `AsyncMemOS.lineage`. Raises NotFound."""
        return await self._get(f"/v1/lineage/{segment(id, 'id')}", Lineage, self._of(user, cube))

    async def learning_events(
        self, *, after: int = 0, limit: int = 100, user: str | None = None, cube: str | None = None
    ) -> LearningEvents:
        """What was learned after event number `after`, in order."""
        params = {"after": after, "limit": limit, **self._of(user, cube)}
        return await self._get("/v1/learning/events", LearningEvents, params)

    async def follow_learning(
        self, *, after: int = 0, user: str | None = None, cube: str | None = None
    ) -> AsyncGenerator[LearningEvent, None]:
        """What is learned, event by event, from number `after` on and as it happens, without an end.

        A stream that breaks, or that the server ends, is taken up again after the last event: none is missed, none comes twice.
        Raises Unavailable when that fails several times in a row, and what a new call would raise.
        """
        breaks = 0
        while True:
            began = time.monotonic()
            params = {"after": after, **self._of(user, cube)}
            call = Call("GET", "/v1/learning/stream", params=params, headers={"Accept": "text/event-stream"})
            try:
                async for data in self._transport.events(call):
                    event = decode(LearningEvent, data)
                    breaks = 0
                    if event.number > after:
                        after = event.number
                        yield event
                broken = Unavailable("the server ended the stream of what is learned")
            except Unavailable as e:
                broken = e
            breaks = 1 if time.monotonic() - began >= _SETTLED else breaks + 1
            if breaks > _RECONNECTS:
                raise broken
            await asyncio.sleep(0.1 * breaks)

    async def learning_report(
        self, *, since: When = None, until: When = None, user: str | None = None, cube: str | None = None
    ) -> LearningReport:
        """What changed in a span of time, by default the last week; see `AsyncMemOS.learning_report`."""
        params = body(since=since, until=until) | self._of(user, cube)
        return await self._get("/v1/learning/report", LearningReport, params)


_Learned = Policy | Skill | WorldStatement
