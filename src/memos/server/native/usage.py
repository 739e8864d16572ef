"""The route of what language models used and cost: everybody's for administrators, else the caller's own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from memos.frames import LlmUses
from memos.memory.spending import BY, By, LlmUse
from memos.models.llm.port import Purpose
from memos.server.app import Core
from memos.server.native.answers import reply
from memos.server.native.fields import LimitQuery, When
from memos.server.native.problems import reads
from memos.server.native.scope import ActingDep, is_admin
from memos.server.native.slashes import SlashRoute

router = APIRouter(prefix="/v1", tags=["Accounts"], route_class=SlashRoute)

Since = Annotated[When | None, Query(description="From this day of UTC.", examples=["2026-11-01"])]
Until = Annotated[When | None, Query(description="To this day of UTC, which is included.", examples=["2026-11-30"])]
ByQuery = Annotated[
    list[By] | None,
    Query(max_length=len(BY), description="What is told apart; by default, all four.", examples=[["user", "model"]]),
]
PurposeQuery = Annotated[Purpose | None, Query(description="Only calls for this.", examples=["chat"])]


@router.get(
    "/usage",
    operation_id="llm_usage",
    summary="What language models used and cost",
    response_model=LlmUses,
    responses=reads(),
)
async def llm_usage(
    memos: Core,
    acting: ActingDep,
    purpose: PurposeQuery = None,
    since: Since = None,
    until: Until = None,
    by: ByQuery = None,
    limit: LimitQuery = 1_000,
) -> Response:
    """Calls, tokens and cost by day, user, purpose and model: newest days first, then those with the most tokens. Of one `user`,
    or without one of everybody for an administrator, of the caller for anybody else. A cost is known where the server was given
    prices (`MEMOS_LLM_PRICES`).
    """
    user = None if acting.named is None and is_admin(acting.caller) else acting.user()
    asked: dict[str, Any] = {"user": user, "purpose": purpose, "since": since, "until": until}
    found = await memos.llm_usage(**asked, by=by or BY, limit=limit)
    whole = await memos.llm_usage(**asked, by=())
    return reply(LlmUses(found, whole[0] if whole else LlmUse(user=user, purpose=purpose)))
