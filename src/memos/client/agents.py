"""The verbs of an agent: what it reports of its turns, steps and outcomes, and what it recalls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from memos.client.connected import Connected
from memos.client.encoding import body, segment
from memos.memory.acting import (
    OutcomeReported,
    Recalled,
    SessionEnded,
    StepReported,
    Tier,
    Trigger,
    TurnEnded,
    TurnStarted,
)
from memos.memory.episode import StepReport

When = datetime | str | float | None
Steps = Sequence[StepReport | Mapping[str, Any]]


class AgentVerbs(Connected):
    """Report what an agent does, and recall for it. `user` None: the client's user, else the key's.

    A report that is sent again after a lost answer is stored once: it carries a key made here, unless one is given.
    """

    async def start_turn(
        self,
        text: str,
        *,
        session: str = "default",
        agent: str = "agent",
        environment: str = "",
        task: Literal["auto", "new", "same"] = "auto",
        key: str | None = None,
        also: Sequence[str] = (),
        max_tokens: int = 1_500,
        recall: bool = True,
        at: When = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> TurnStarted:
        """A user message came in: store it, and recall what the agent should know; see `AsyncMemOS.start_turn`."""
        fields = body(
            text=text,
            session=session,
            agent=agent,
            environment=environment,
            task=task,
            key=key or uuid4().hex,
            also=also,
            max_tokens=max_tokens,
            recall=recall,
            at=at,
            user=self._as(user),
            cube=cube,
        )
        return await self._post("/v1/turns", TurnStarted, fields)

    async def report_step(
        self,
        tool: str,
        input: Any = None,
        output: Any = None,
        *,
        error: str | None = None,
        ok: bool | None = None,
        duration: float | None = None,
        call_id: str | None = None,
        reflection: str | None = None,
        session: str = "default",
        agent: str = "agent",
        also: Sequence[str] = (),
        max_tokens: int = 400,
        at: When = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> StepReported:
        """A tool was called: store what it was given and what came of it; see `AsyncMemOS.report_step`. Without a `call_id` it is
        sent once: whether a lost answer was stored is not known.
        """
        fields = body(
            tool=tool,
            input=input,
            output=output,
            error=error,
            ok=ok,
            duration=duration,
            call_id=call_id,
            reflection=reflection,
            session=session,
            agent=agent,
            also=also,
            max_tokens=max_tokens,
            at=at,
            user=self._as(user),
            cube=cube,
        )
        return await self._post("/v1/steps", StepReported, fields, repeatable=call_id is not None)

    async def end_turn(
        self,
        text: str | None = None,
        *,
        steps: Steps = (),
        reflection: str | None = None,
        key: str | None = None,
        session: str = "default",
        agent: str = "agent",
        at: When = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> TurnEnded:
        """The turn is over: store the reply, and steps that were not reported one by one; see `AsyncMemOS.end_turn`."""
        fields = body(
            text=text,
            steps=_sent(steps),
            reflection=reflection,
            key=key or uuid4().hex,
            session=session,
            agent=agent,
            at=at,
            user=self._as(user),
            cube=cube,
        )
        return await self._post("/v1/turns/end", TurnEnded, fields)

    async def report_subagent(
        self,
        task: str,
        result: str | None = None,
        *,
        name: str,
        ok: bool | None = None,
        error: str | None = None,
        steps: Steps = (),
        key: str | None = None,
        session: str = "default",
        agent: str = "agent",
        at: When = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> StepReported:
        """A sub-agent finished; see `AsyncMemOS.report_subagent`."""
        fields = body(
            task=task,
            result=result,
            name=name,
            ok=ok,
            error=error,
            steps=_sent(steps),
            key=key or uuid4().hex,
            session=session,
            agent=agent,
            at=at,
            user=self._as(user),
            cube=cube,
        )
        return await self._post("/v1/subagents", StepReported, fields)

    async def report_outcome(
        self,
        score: float | None = None,
        comment: str | None = None,
        *,
        source: Literal["user", "verifier"] = "user",
        episode: str | None = None,
        session: str = "default",
        agent: str | None = None,
        key: str | None = None,
        at: When = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> OutcomeReported:
        """Say how a task went; see `AsyncMemOS.report_outcome`. Raises InvalidInput and NotFound."""
        fields = body(
            score=score,
            comment=comment,
            source=source,
            episode=episode,
            session=session,
            agent=agent,
            key=key or uuid4().hex,
            at=at,
            user=self._as(user),
            cube=cube,
        )
        return await self._post("/v1/outcomes", OutcomeReported, fields)

    async def end_session(
        self,
        session: str = "default",
        *,
        agent: str | None = None,
        at: When = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> SessionEnded:
        """The session is over: its open episodes are closed, and learned from in a while."""
        path = f"/v1/sessions/{segment(session, 'session')}/end"
        return await self._post(path, SessionEnded, body(agent=agent, at=at, user=self._as(user), cube=cube))

    async def recall(
        self,
        query: str,
        *,
        trigger: Trigger | str = Trigger.TURN,
        session: str = "default",
        agent: str = "agent",
        environment: str = "",
        tool: str | None = None,
        error: str | None = None,
        tiers: Collection[Tier | str] | None = None,
        also: Sequence[str] = (),
        max_tokens: int = 1_500,
        user: str | None = None,
        cube: str | None = None,
    ) -> Recalled:
        """What an agent should know now, in one block for its prompt; see `AsyncMemOS.recall`."""
        fields = body(
            query=query,
            trigger=trigger,
            session=session,
            agent=agent,
            environment=environment,
            tool=tool,
            error=error,
            tiers=[tiers] if isinstance(tiers, str) else tiers,
            also=also,
            max_tokens=max_tokens,
            user=self._as(user),
            cube=cube,
        )
        return await self._post("/v1/recall", Recalled, fields)


def _sent(steps: Steps) -> list[Any]:
    names = [f.name for f in fields_of(StepReport)]
    return [body(**{n: getattr(s, n) for n in names}) if isinstance(s, StepReport) else s for s in steps]
