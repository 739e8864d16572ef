"""The verbs that show what was lived and learned: episodes, policies, the world, lineage, the stream of events and a report."""

from __future__ import annotations

import builtins
from collections.abc import Collection

from memos.memory.acting import Evolved, LearningEvents, LearningReport, Lineage, WorldAnswer
from memos.memory.episode import EpisodeDetail, Episodes
from memos.memory.learned import Form, Policy, Skill, State, WorldStatement
from memos.system.base import DEFAULT_USER, Base, When


class Learned(Base):
    """See `AsyncMemOS`."""

    async def evolve(self, *, now: bool = False, user: str = DEFAULT_USER, cube: str | None = None) -> Evolved:
        """Learn from every closed episode that is due, instead of waiting for the background. `now`: also from those that wait
        for feedback.
        """
        raise NotImplementedError

    async def episodes(
        self,
        *,
        session: str | None = None,
        agent: str | None = None,
        is_open: bool | None = None,
        limit: int = 50,
        cursor: str | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Episodes:
        """The episodes of a cube, newest first, a page at a time."""
        raise NotImplementedError

    async def episode(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> EpisodeDetail:
        """An episode with its steps, what was said of its outcome, and what was handed out in it. Raises NotFound."""
        raise NotImplementedError

    async def policies(
        self,
        query: str | None = None,
        *,
        states: Collection[State | str] | None = None,
        forms: Collection[Form | str] | None = None,
        limit: int = 100,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> builtins.list[Policy]:
        """The policies of a cube: those that answer a question, best first, or all, newest first. `states`: candidate, active,
        retired (by default all); `forms`: fix, path, avoid, directive.
        """
        raise NotImplementedError

    async def policy(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Policy:
        """A policy with what is counted of it. Raises NotFound."""
        raise NotImplementedError

    async def world(
        self,
        query: str | None = None,
        *,
        environment: str | None = None,
        hops: int = 3,
        limit: int = 20,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> WorldAnswer:
        """What is known of an environment, or of all: statements with their evidence; for a question also paths of at most `hops`
        hops in the graph that connect what it names ("who asked for this, and what did they agree to before?").
        """
        raise NotImplementedError

    async def world_statement(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> WorldStatement:
        """A statement of the world model. Raises NotFound."""
        raise NotImplementedError

    async def set_state(
        self, id: str, state: State | str, *, reason: str = "", user: str = DEFAULT_USER, cube: str | None = None
    ) -> Policy | Skill | WorldStatement:
        """Retire a policy, a skill or a statement by hand, or bring it back as active or on probation; learning does not undo a
        decision made by hand. Raises NotFound, InvalidInput.
        """
        raise NotImplementedError

    async def lineage(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Lineage:
        """Where something learned comes from, down to the steps and episodes it rests on, and what was made of it, up to skills.
        For any memory: a step's lineage shows what it taught. Raises NotFound.
        """
        raise NotImplementedError

    async def learning_events(
        self, *, after: int = 0, limit: int = 100, user: str = DEFAULT_USER, cube: str | None = None
    ) -> LearningEvents:
        """What was learned after event number `after`, in order: the stream that can be followed and resumed."""
        raise NotImplementedError

    async def learning_report(
        self, *, since: When = None, until: When = None, user: str = DEFAULT_USER, cube: str | None = None
    ) -> LearningReport:
        """What changed in a span of time (by default the last seven days): episodes and how they went, what was learned, promoted
        and retired.
        """
        raise NotImplementedError
