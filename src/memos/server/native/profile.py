"""The route that says what is known of somebody."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from memos.memory.profile import Profile
from memos.server.app import Core
from memos.server.native.answers import reply
from memos.server.native.fields import NOT_BLANK, When
from memos.server.native.problems import reads
from memos.server.native.scope import WhoseDep
from memos.server.native.slashes import SlashRoute

router = APIRouter(prefix="/v1", tags=["Finding"], route_class=SlashRoute)

AboutQuery = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        pattern=NOT_BLANK,
        description="Of whom: a name, or a relative (`brother`). By default, of the user.",
        examples=["Melanie"],
    ),
]
TokensQuery = Annotated[
    int, Query(ge=1, le=100_000, description="Hard budget of `text` (a token: 4 characters).", examples=[400])
]
NowQuery = Annotated[When | None, Query(description="What is now.", examples=["2026-11-30T09:00:00Z"])]


@router.get(
    "/profile",
    operation_id="profile",
    summary="What is known of somebody",
    response_model=Profile,
    responses=reads(),
)
async def profile(
    memos: Core,
    whose: WhoseDep,
    about: AboutQuery = None,
    max_tokens: TokensQuery = 400,
    reference_time: NowQuery = None,
) -> Response:
    """Wishes that always hold, facts, preferences, plans and the last events, each with its date and its sources. `text` is ready
    to be put in a prompt, in an order that changes only with what is known; `items` is what it shows.
    """
    place = whose.place()
    found = await memos.profile(
        about=about, max_tokens=max_tokens, reference_time=reference_time, user=place.user, cube=place.cube
    )
    return reply(found)
