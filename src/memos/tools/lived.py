"""Tools that show what agents lived through and what was learned of it: episodes, the world model, skills."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from memos.memory.episode import Step
from memos.memory.learned import Skill, State
from memos.text.guide import render
from memos.tools.args import Args, Cube, Id, Listing, Name, Shown, Text, Whole
from memos.tools.budget import piece, preview
from memos.tools.door import Door
from memos.tools.shapes import finite, moment
from memos.tools.tool import Tool

OF_SESSION = "By default this connection's."
_STATES: dict[str, State] = {"candidate": State.PROBATION, "active": State.ACTIVE, "archived": State.RETIRED}
_STATUS = {state: word for word, state in _STATES.items()} | {State.CANDIDATE: "candidate"}


class Timeline(Args):
    """Arguments of memos_timeline."""

    episodeId: Id = Field(description="Id of an episode, as memos_turn_start and memos_search tell it.")
    limit: Annotated[Whole, Field(ge=1, le=100)] | None = Field(default=None, description="Most steps (20).")
    offset: Annotated[Whole, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="How many steps to leave out at the beginning."
    )
    cube: Cube = None


class Trace(Shown):
    """A step of an episode."""

    id: str
    role: str
    turn: int
    at: str | None = None
    text: str
    tool: str | None = None
    error: str | None = None
    ok: bool | None = None
    value: float | None = Field(
        default=None, description="What it was worth for the outcome, -1 to 1, once that is known."
    )


class Episode(Listing):
    """An episode and its steps, in order."""

    episodeId: str
    session: str
    agent: str
    goal: str
    outcome: str = Field(description="open, unknown, success, failure or mixed.")
    reward: float | None = None
    total: int = Field(description="How many steps it has.")
    traces: list[Trace] = Field(default_factory=list)
    next_offset: int | None = None


async def timeline(door: Door, asked: Timeline) -> Episode:
    """The steps of an episode in order."""
    found = await door.system.episode(asked.episodeId, **door.where(asked.cube))
    start = asked.offset or 0
    end = start + min(asked.limit or 20, max(1, door.budget // 400))
    episode = found.episode
    return Episode(
        episodeId=episode.id,
        session=episode.session,
        agent=episode.agent,
        goal=preview(episode.goal, 400),
        outcome=episode.outcome,
        reward=finite(episode.reward),
        total=len(found.steps),
        traces=[_trace(step) for step in found.steps[start:end]],
        next_offset=end if end < len(found.steps) else None,
    )


def _trace(step: Step) -> Trace:
    use = step.use
    return Trace(
        id=step.id,
        role=step.role.value,
        turn=step.turn,
        at=moment(step.at),
        text=preview(step.words),
        tool=use.tool if use else None,
        error=preview(use.error, 300) if use and use.error else None,
        ok=use.ok if use else None,
        value=finite(step.value),
    )


class Environment(Args):
    """Arguments of memos_environment."""

    query: Text | None = Field(default=None, description="What to find; left out, all that is known is listed.")
    limit: Annotated[Whole, Field(ge=1, le=30)] | None = Field(default=None, description="Most statements (5).")
    environment: Name | None = Field(
        default=None, description="Of which environment; what holds everywhere is told too."
    )
    cube: Cube = None


class Statement(Shown):
    """Something that holds in an environment."""

    id: str
    text: str
    section: str = Field(description="environment, inference or constraint.")
    environment: str | None = None
    holds: int = Field(description="Episodes that bear it out.")
    fails: int = Field(description="Episodes against it.")


class World(Listing):
    """What is known of the environment."""

    statements: list[Statement] = Field(default_factory=list)
    paths: list[str] = Field(default_factory=list, description="How what the query names is connected.")


async def environment(door: Door, asked: Environment) -> World:
    """Statements of the world model."""
    found = await door.system.world(
        asked.query, environment=asked.environment, limit=asked.limit or 5, **door.where(asked.cube)
    )
    return World(
        statements=[
            Statement(
                id=s.id, text=preview(s.memory.text), section=s.body.section, environment=s.body.environment or None,
                holds=s.body.holds, fails=s.body.fails,
            )
            for s in found.statements
        ],
        paths=[preview(path.text, 400) for path in found.paths[:5]],
    )  # fmt: skip


class SkillList(Args):
    """Arguments of memos_skill_list."""

    status: Literal["candidate", "active", "archived"] | None = Field(
        default=None, description="By default candidates (on probation) and active ones."
    )
    limit: Annotated[Whole, Field(ge=1, le=50)] | None = Field(default=None, description="Most skills (10).")
    query: Text | None = Field(default=None, description="Only those that answer it, best first.")
    cube: Cube = None


class SkillLine(Shown):
    """A skill in a list."""

    id: str
    name: str
    status: str
    reliability: float | None = Field(default=None, description="0 to 1: how sure it is to work.")
    gain: float | None = Field(default=None, description="How much better episodes went with it.")
    support: int = 0
    preview: str


class SkillLines(Listing):
    """Skills, the most reliable first."""

    skills: list[SkillLine] = Field(default_factory=list)


async def skill_list(door: Door, asked: SkillList) -> SkillLines:
    """The skills there are."""
    states = None if asked.status is None else [_STATES[asked.status]]
    found = await door.system.skills(asked.query, states=states, limit=asked.limit or 10, **door.where(asked.cube))
    return SkillLines(skills=[_line(skill) for skill in found])


def _line(skill: Skill) -> SkillLine:
    return SkillLine(
        id=skill.id,
        name=skill.name,
        status=_STATUS[skill.body.state],
        reliability=finite(skill.record.reliability),
        gain=finite(skill.record.gain),
        support=skill.record.support,
        preview=preview(skill.body.description, 300),
    )


class SkillGet(Args):
    """Arguments of memos_skill_get."""

    id: Name = Field(description="Id or name of the skill.")
    session: Name | None = Field(default=None, description=OF_SESSION)
    cube: Cube = None


class SkillGuide(Shown):
    """A skill as it is to be followed."""

    id: str
    name: str
    status: str
    guide: str
    reliability: float | None = None
    gain: float | None = None
    support: int = 0
    passes: int = 0
    fails: int = 0


async def skill_get(door: Door, asked: SkillGet) -> SkillGuide:
    """The whole guide. That it was handed out counts as a trial, whose outcome is that of the task."""
    session = asked.session or door.session or "default"
    found = await door.system.skill(asked.id, use=True, session=session, **door.where(asked.cube))
    guide = found.body.guide or render(found.body)
    return SkillGuide(
        id=found.id, name=found.name, status=_STATUS[found.body.state], guide=guide[: piece(guide, 0, door.budget - 800)],
        reliability=finite(found.record.reliability), gain=finite(found.record.gain), support=found.record.support,
        passes=found.record.passes, fails=found.record.fails,
    )  # fmt: skip


TOOLS: tuple[Tool[Any], ...] = (
    Tool("memos_timeline", "Steps of an episode", "What happened in an episode (one task of an agent): messages, tool calls "
         "and their results, in order.", Timeline, Episode, timeline, reads=True),
    Tool("memos_environment", "What is known of the environment", "Statements of the world model: what is there, what follows "
         "from what, what must not be.", Environment, World, environment, reads=True),
    Tool("memos_skill_list", "List skills", "Skills learned from episodes that went well: names, how reliable they are, what "
         "they do.", SkillList, SkillLines, skill_list, reads=True),
    Tool("memos_skill_get", "Read a skill", "The whole guide of a skill. Read it before doing what it is for; that you were "
         "given it counts as a trial.", SkillGet, SkillGuide, skill_get),
)  # fmt: skip
