"""Routes of skills: list, read, hand out and edit them, and take them out and in as folders with `SKILL.md`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from memos.frames import SkillList
from memos.memory.ids import is_id
from memos.memory.learned import Skill, State
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.errors import Refused
from memos.server.native.answers import reply
from memos.server.native.fields import NAME, NOT_BLANK, Flag, Name, Scoped, Wire
from memos.server.native.match import IfMatch, etag, only_at
from memos.server.native.memories import ETAG
from memos.server.native.policies import ListLimit
from memos.server.native.problems import reads, writes
from memos.server.native.scope import Place, WhoseDep, WhoseTooDep, home_of
from memos.server.native.turns import InSession
from memos.server.quick import QuickRoute
from memos.server.wire import content_type
from memos.system import AsyncMemOS
from memos.system.base import DEFAULT_SESSION

router = APIRouter(prefix="/v1/skills", tags=["Skills"], route_class=QuickRoute)
folders = APIRouter(prefix="/v1/skill-folders", tags=["Skills"], route_class=QuickRoute)

MEDIA_TYPE = "application/octet-stream"
ZIP = "application/zip"
_TAKEN = frozenset({MEDIA_TYPE, ZIP, "text/markdown", "text/plain"})
_BINARY = {"schema": {"type": "string", "format": "binary"}}
SkillPath = Annotated[
    str,
    Path(
        description="The skill's name, or its id.",
        examples=["install-python-package"],
        json_schema_extra={"minLength": 1, "maxLength": 256, "pattern": NAME},
    ),
]
AboutQuery = Annotated[
    str | None,
    Query(min_length=1, pattern=NOT_BLANK, description="What they should answer.", examples=["install a package"]),
]
StatesQuery = Annotated[
    list[State] | None,
    Query(description="Only in these states (by default active and on probation).", examples=[["active"]]),
]
NamesQuery = Annotated[
    list[Name] | None,
    Query(description="Only these, by name or id; may be given several times.", examples=[["install-python-package"]]),
]
Line = Annotated[str, Field(max_length=4_000)]
Lines = Annotated[list[Line], Field(max_length=200)]


class ParameterFields(Wire):
    """A part of a skill that differs from case to case."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    source: str = Field("unknown", description="Where its value comes from: goal, error, input or unknown.")
    examples: list[str] = Field(default_factory=list, max_length=20, description="Values seen.")
    description: str = Field("", description="What it is.")
    required: Flag = Field(True, description="Whether it is always needed.")


class ActionFields(Wire):
    """One step of a procedure."""

    tool: str = Field(description="The tool; empty where words say what to do.", examples=["bash"])
    input: str = Field(description="What it is given, with parameters as `{name}`.", examples=["apk add {library}-dev"])


class EditSkill(Scoped):
    """What is to be changed; what is left out stays."""

    name: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(None, description="Another name.")
    description: Line | None = Field(None, description="What it does and when to use it.")
    parameters: list[ParameterFields] | None = Field(None, max_length=100, description="All its parameters.")
    preconditions: Lines | None = Field(None, description="What must hold before.")
    procedure: list[ActionFields] | None = Field(None, max_length=200, description="All its steps.")
    pitfalls: Lines | None = Field(None, description="What goes wrong.")
    examples: Lines | None = Field(None, description="Where it was used.")
    verification: Line | None = Field(None, description="How to see that it worked.")
    tools: Lines | None = Field(None, description="Tools it needs.")
    environment: Line | None = Field(None, description="Where it holds; empty: anywhere.")
    license: Line | None = Field(None, description="Under which it may be passed on.")
    guide: Annotated[str, Field(max_length=262_144)] | None = Field(
        None, description="Free text, shown instead of what the fields say."
    )
    edited: Literal[False] | None = Field(
        None, description="`false`, alone: learning may write it again, and what was edited is gone."
    )


class UseSkill(Scoped):
    """To which agent a skill is handed."""

    session: InSession = DEFAULT_SESSION


@router.get("", operation_id="list_skills", summary="List skills", response_model=SkillList, responses=reads())
async def find(
    memos: Core, whose: WhoseDep, query: AboutQuery = None, states: StatesQuery = None, limit: ListLimit = 100
) -> Response:
    """The skills of a cube: those that answer a `query`, best first, or all, the most reliable first."""
    place = whose.place()
    found = await memos.skills(query, states=states, limit=limit, user=place.user, cube=place.cube)
    return reply(SkillList(tuple(found)))


@router.get(
    "/{name}",
    operation_id="get_skill",
    summary="Read a skill",
    response_model=Skill,
    responses={200: ETAG, **reads()},
)
async def get(memos: Core, whose: WhoseDep, name: SkillPath) -> Response:
    """A skill, whatever its state. That it is read counts for nothing; `use` hands it out."""
    place = whose.place()
    found = await memos.skill(name, user=place.user, cube=await _home(memos, place, name))
    return reply(found, headers=etag(found.memory))


@router.post(
    "/{name}/use", operation_id="use_skill", summary="Hand a skill out", response_model=Skill, responses=writes()
)
async def use(memos: Core, whose: WhoseTooDep, name: SkillPath, body: UseSkill | None = None) -> Response:
    """Gives a skill to the agent of the session's open task: what comes of the task counts for or against the skill."""
    place = whose.place(body, WRITE)
    session = DEFAULT_SESSION if body is None else body.session
    found = await memos.skill(name, use=True, session=session, user=place.user, cube=await _home(memos, place, name))
    return reply(found, headers=etag(found.memory))


@router.patch(
    "/{name}",
    operation_id="edit_skill",
    summary="Edit a skill",
    response_model=Skill,
    responses={200: ETAG, **writes(412)},
)
async def edit(memos: Core, whose: WhoseTooDep, name: SkillPath, body: EditSkill, if_match: IfMatch = None) -> Response:
    """Changes what is given. From then on learning never overwrites the skill: what it would change is told in its `proposal`."""
    place = whose.place(body, WRITE)
    changes: dict[str, Any] = body.model_dump(exclude={"user", "cube"}, exclude_none=True)
    with only_at(if_match) as wanted:
        done = await memos.edit_skill(
            name, changes, if_version=wanted, user=place.user, cube=await _home(memos, place, name)
        )
    return reply(done, headers=etag(done.memory))


@folders.get(
    "",
    operation_id="export_skills",
    summary="Download skills",
    response_class=Response,
    responses={
        200: {"description": "A zip of folders, one for each skill, with its `SKILL.md`.", "content": {ZIP: _BINARY}},
        **reads(),
    },
)
async def export(memos: Core, whose: WhoseDep, names: NamesQuery = None) -> Response:
    """Skills in the format of agent skills; by default all that are active or on probation."""
    place = whose.place()
    data = await memos.export_skills(names=names, zip=True, user=place.user, cube=place.cube)
    assert isinstance(data, bytes)
    headers = {"Content-Disposition": 'attachment; filename="skills.zip"', "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type=ZIP, headers=headers)


@folders.post(
    "",
    operation_id="import_skills",
    summary="Upload skills",
    response_model=SkillList,
    responses=writes(),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "A zip of folders with `SKILL.md`, or one `SKILL.md`.",
            "content": {MEDIA_TYPE: _BINARY},
        }
    },
)
async def take_in(
    request: Request,
    memos: Core,
    whose: WhoseDep,
    dry_run: Annotated[bool, Query(description="Only tell what would be stored.")] = False,
) -> Response:
    """Stores what a zip of skill folders, or one `SKILL.md`, holds; they begin on probation. All of it is checked first: hostile
    or unreadable ones store nothing (400).
    """
    place = whose.place(need=WRITE)
    sent = content_type(request.headers.get("content-type", MEDIA_TYPE))
    if sent not in _TAKEN:
        raise Refused(415, "wrong_type", f"skills are sent as {MEDIA_TYPE} (or {ZIP}, text/markdown), not {sent!r:.60}")
    found = await memos.import_skills(await request.body(), dry_run=dry_run, user=place.user, cube=place.cube)
    return reply(SkillList(tuple(found)))


async def _home(memos: AsyncMemOS, place: Place, name: str) -> str | None:
    """The cube of a skill: one given by its id is looked up in all that the user may read."""
    return await home_of(memos, place, name) if is_id(name) else place.cube
