"""The verbs by which an agent reports what it does: turns, steps, sub-agents, outcomes, and the end of a session.

Each is one durable change before anything else happens (laws 1 and 2); what is learned from it comes later, in the background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from memos.memory.acting import OutcomeReported, SessionEnded, StepReported, TurnEnded, TurnStarted
from memos.memory.episode import StepReport
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base, When

DEFAULT_AGENT = "agent"
TaskChoice = Literal["auto", "new", "same"]
OutcomeSource = Literal["user", "verifier"]
Steps = Sequence[StepReport | Mapping[str, Any]]


class Acting(Base):
    """See `AsyncMemOS`."""

    async def start_turn(
        self,
        text: str,
        *,
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        environment: str = "",
        task: TaskChoice = "auto",
        key: str | None = None,
        also: Sequence[str] = (),
        max_tokens: int = 1_500,
        recall: bool = True,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> TurnStarted:
        """A user message came in: store it, find out whether it goes on with the session's task, and recall what the agent
        should know.

        `environment`: a name of where the agent works (a host, a repository), to which what is learned of the world is tied.
        `task`: `new` or `same` where the caller knows; `auto` finds out. `key`: one for each message, given again when the call
        is repeated: nothing is done twice; another text under the same key raises Conflict. `also`: further cubes to recall
        from. `max_tokens`: hard budget of the block; `recall=False` leaves it out. `at`: when it was said, by default now.
        """
        raise NotImplementedError

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
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        also: Sequence[str] = (),
        max_tokens: int = 400,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> StepReported:
        """A tool was called: store what it was given and what came of it, as a step of the session's open episode.

        `input` and `output`: a text, or anything JSON can say. `ok`: whether it worked; where left out, an `error` says no, and
        without one nobody knows. `duration` in seconds. `call_id`: the provider's; a call reported twice under one id is stored
        once. After repeated failures of the same tool in the same context the answer holds a hint (`max_tokens` bounds it).
        """
        raise NotImplementedError

    async def end_turn(
        self,
        text: str | None = None,
        *,
        steps: Steps = (),
        reflection: str | None = None,
        key: str | None = None,
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> TurnEnded:
        """The turn is over: store the reply, and steps that were not reported one by one, all in one change.

        `steps`: as `report_step` takes them; those reported before under the same `call_id` are stored once. `reflection`: what
        the agent thinks of how it went. The episode stays open for the next turn. `key`: as in `start_turn`.
        """
        raise NotImplementedError

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
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> StepReported:
        """A sub-agent finished: a step of this episode, and, with its own `steps`, an episode of its own (agent `name`, child of
        this one) that is learned from like any other.
        """
        raise NotImplementedError

    async def report_outcome(
        self,
        score: float | None = None,
        comment: str | None = None,
        *,
        source: OutcomeSource = "user",
        episode: str | None = None,
        session: str = DEFAULT_SESSION,
        agent: str | None = None,
        key: str | None = None,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> OutcomeReported:
        """Say how a task went: `score` in [-1, 1], or a comment from which it is read, or both. Of `episode`, or of the session's
        last one, which may be closed and learned from already: it is learned from again.

        `source`: `user` for a person's opinion, `verifier` for a test or grader. A comment of a user that holds beyond the task
        ("always run the tests", "use uv instead of pip") also becomes a directive. Raises InvalidInput, NotFound.
        """
        raise NotImplementedError

    async def end_session(
        self,
        session: str = DEFAULT_SESSION,
        *,
        agent: str | None = None,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> SessionEnded:
        """The session is over: its open episodes are closed, and learned from in a while. A later turn may begin it again."""
        raise NotImplementedError
