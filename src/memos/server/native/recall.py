"""The route by which an agent recalls: skills, guidance, experience, the world and facts, in one block under one budget."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from memos.memory.acting import Recalled, Tier, Trigger
from memos.server.app import Core
from memos.server.frame import FrameDep
from memos.server.limits import check_text
from memos.server.native.answers import reply
from memos.server.native.fields import Name, QueryText, Scoped
from memos.server.native.problems import asks
from memos.server.native.scope import WhoseTooDep
from memos.server.native.turns import Agent, Also, BlockTokens, InSession
from memos.server.quick import QuickRoute
from memos.system.acting import DEFAULT_AGENT
from memos.system.base import DEFAULT_SESSION

router = APIRouter(prefix="/v1/recall", tags=["Agents"], route_class=QuickRoute)


class Recall(Scoped):
    """What an agent is about to do, or what went wrong."""

    query: Annotated[
        QueryText,
        Field(
            description="A goal, a message, a tool's input, or the name of a skill.",
            examples=["install lxml on alpine"],
        ),
    ]
    trigger: Trigger = Field(
        Trigger.TURN, description="Why: which tiers are asked, and what leads, follows from it.", examples=["repair"]
    )
    session: InSession = DEFAULT_SESSION
    agent: Agent = DEFAULT_AGENT
    environment: Annotated[str, Field(max_length=256)] = Field(
        "", description="A name of where the agent works: a host, a repository.", examples=["alpine-ci"]
    )
    tool: Name | None = Field(None, description="The tool that is about to be called, or failed.", examples=["bash"])
    error: str | None = Field(None, description="What it failed with.", examples=["fatal error: libxml/xmlversion.h"])
    tiers: list[Tier] | None = Field(
        None, min_length=1, max_length=len(Tier), description="Only these.", examples=[["skill", "guidance"]]
    )
    also: Also = Field(default_factory=list)
    max_tokens: BlockTokens = 1_500


@router.post("", operation_id="recall", summary="Recall for an agent", response_model=Recalled, responses=asks())
async def recall(memos: Core, whose: WhoseTooDep, frame: FrameDep, body: Recall) -> Response:
    """What the agent should know now, in `context` as one block for its prompt, never longer than `max_tokens`.

    With an open task in the session, skills and policies in it count as tried there, and hints that wait for the session are
    delivered.
    """
    check_text(frame.options, body.query, "query has")
    check_text(frame.options, body.error, "error has")
    place = whose.place(body)
    options = body.model_dump(exclude={"user", "cube", "query"})
    return reply(await memos.recall(body.query, **options, user=place.user, cube=place.cube))
