"""Routes of upkeep: working sets, topics, and what a cube keeps for how long."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from memos.frames import Rules, Runs, Topics
from memos.memory.model import Kind
from memos.memory.upkeep import Reorganized, RetentionPlan, RetentionRun, Working
from memos.organize.retention import LISTED
from memos.organize.retention_rules import MOST_RULES
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.native.answers import reply
from memos.server.native.cubes import existing
from memos.server.native.fields import A_NUMBER, NAME_BOUNDS, NOT_BLANK, Flag, Limited, PathCube, Tags, Wire
from memos.server.native.problems import asks, reads, writes
from memos.server.native.scope import ActingDep
from memos.server.native.slashes import SlashRoute

router = APIRouter(prefix="/v1/cubes", tags=["Upkeep"], route_class=SlashRoute)

MOST_DAYS, MOST_BYTES = 36_500_000, 1 << 53
SessionQuery = Annotated[
    str | None, Query(description="The session; without one, that spoken in last.", examples=["trip"], **NAME_BOUNDS)
]
AboutQuery = Annotated[
    str | None, Query(min_length=1, pattern=NOT_BLANK, description="What they are about.", examples=["pottery"])
]
TopicsLimit = Annotated[int, Query(ge=1, le=1000, description="Topics at most.")]
RunsLimit = Annotated[int, Query(ge=1, le=1000, description="Runs at most.")]


class Rule(Wire):
    """What goes, in time: exactly one of `max_age_days`, `keep_newest` and `keep_bytes`."""

    kinds: list[Kind] = Field(
        default_factory=list,
        max_length=len(Kind),
        description="Of these kinds; none: of all derived ones. Raw records go only where their kinds are named.",
        examples=[["trace"]],
    )
    tags: Tags = Field(default_factory=list)
    max_age_days: Annotated[float, Field(gt=0, le=MOST_DAYS), A_NUMBER] | None = Field(
        None, description="What was not changed for so long.", examples=[365]
    )
    keep_newest: Annotated[int, Field(ge=0, le=10_000), A_NUMBER] | None = Field(
        None, description="What is not among the newest so many."
    )
    keep_bytes: Annotated[int, Field(ge=0, le=MOST_BYTES), A_NUMBER] | None = Field(
        None, description="What is beyond so many bytes of text, the newest first."
    )
    hard: Flag = Field(False, description="Deleted for good; `false`: taken back, which can be undone.")


class RuleList(Wire):
    """All rules of a cube, in the order they are applied."""

    rules: list[Rule] = Field(
        max_length=MOST_RULES, examples=[[{"kinds": ["trace"], "max_age_days": 365}]], description="None: nothing goes."
    )


class Preview(Wire):
    """Rules to be tried, or none for those of the cube."""

    rules: list[Rule] | None = Field(None, max_length=MOST_RULES, description="Without: the rules of the cube.")
    limit: Limited = Field(LISTED, description="Memories listed at most.")


class Apply(Wire):
    """How rules are to be applied."""

    despite_clock: Flag = Field(False, description="The clock is right, though it seems wrong.")


@router.get(
    "/{name}/working",
    operation_id="get_working_set",
    summary="The working set of a session",
    response_model=Working,
    responses=reads(),
)
async def working(memos: Core, acting: ActingDep, name: PathCube, session: SessionQuery = None) -> Response:
    """The at most twenty memories most relevant to a session: facts that hold first, then what was said."""
    user = acting.user()
    await existing(memos, name, user)
    return reply(await memos.working(session, user=user, cube=name))


@router.get(
    "/{name}/topics", operation_id="list_topics", summary="List topics", response_model=Topics, responses=reads()
)
async def topics(
    memos: Core, acting: ActingDep, name: PathCube, query: AboutQuery = None, limit: TopicsLimit = 100
) -> Response:
    """What the memories of a cube are about, each topic with a summary and its evidence: those that answer a `query`, best first,
    or the largest. `stale` ones were written before something in them changed.
    """
    user = acting.user()
    await existing(memos, name, user)
    return reply(Topics(tuple(await memos.topics(query, limit=limit, user=user, cube=name))))


@router.post(
    "/{name}/reorganize",
    operation_id="reorganize_cube",
    summary="Bring topics up to date",
    response_model=Reorganized,
    responses=writes(),
)
async def reorganize(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """Groups memories about the same thing and writes a summary of each group that is new or has changed."""
    user = acting.user(WRITE)
    await existing(memos, name, user)
    return reply(await memos.reorganize(user=user, cube=name))


@router.get(
    "/{name}/retention",
    operation_id="get_retention",
    summary="Retention rules of a cube",
    response_model=Rules,
    responses=reads(),
)
async def rules(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """The rules by which memories go in time. Without any, nothing goes by itself."""
    user = acting.user()
    await existing(memos, name, user)
    return reply(Rules(tuple(await memos.retention(user=user, cube=name))))


@router.put(
    "/{name}/retention",
    operation_id="put_retention",
    summary="Set the retention rules of a cube",
    response_model=Rules,
    responses=writes(),
)
async def set_rules(memos: Core, acting: ActingDep, name: PathCube, body: RuleList) -> Response:
    """All rules at once; an empty list takes them away. They are applied hourly. Only an admin of the cube may."""
    user = acting.user(WRITE)
    await existing(memos, name, user)
    return reply(Rules(tuple(await memos.set_retention(_given(body.rules), user=user, cube=name))))


@router.post(
    "/{name}/retention/preview",
    operation_id="preview_retention",
    summary="What retention rules would take",
    response_model=RetentionPlan,
    responses=asks(),
)
async def preview(memos: Core, acting: ActingDep, name: PathCube, body: Preview) -> Response:
    """Each memory that would go now and why, with what would go along. Nothing is changed; who may write may ask."""
    user = acting.user(WRITE)
    await existing(memos, name, user)
    given = None if body.rules is None else _given(body.rules)
    return reply(await memos.preview_retention(given, limit=body.limit, user=user, cube=name))


@router.post(
    "/{name}/retention/apply",
    operation_id="apply_retention",
    summary="Apply the retention rules of a cube",
    response_model=RetentionRun,
    responses=writes(),
)
async def apply(memos: Core, acting: ActingDep, name: PathCube, body: Apply) -> Response:
    """Now, instead of within the hour. A clock that seems wrong is a reason to do nothing, told in `refused`. Only an admin of
    the cube may.
    """
    user = acting.user(WRITE)
    await existing(memos, name, user)
    return reply(await memos.apply_retention(despite_clock=body.despite_clock, user=user, cube=name))


@router.get(
    "/{name}/retention/runs",
    operation_id="list_retention_runs",
    summary="What retention took",
    response_model=Runs,
    responses=reads(),
)
async def runs(memos: Core, acting: ActingDep, name: PathCube, limit: RunsLimit = 100) -> Response:
    """The runs that took anything or were refused, newest first."""
    user = acting.user()
    await existing(memos, name, user)
    return reply(Runs(tuple(await memos.retention_log(limit=limit, user=user, cube=name))))


def _given(rules: list[Rule]) -> list[dict[str, Any]]:
    return [rule.model_dump(exclude_none=True) for rule in rules]
