"""What a server says of itself: `/health`, `/ready`, `/metrics`, `/docs`. None of them calls a model."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from memos import __version__
from memos.errors import NotFound
from memos.health import Condition
from memos.server import docs_page, metrics
from memos.server.app import Core
from memos.server.caller import Caller, CallerDep
from memos.server.frame import FrameDep
from memos.server.replies import json_reply
from memos.server.wire import CALLER

router = APIRouter(tags=["operations"])


@router.get("/health", summary="Whether the server is alive")
async def health() -> Response:
    """Answers as long as the process does; says nothing about what it depends on (see `/ready`)."""
    return json_reply({"status": "healthy", "service": "memos", "version": __version__})


@router.get("/ready", summary="Whether the server can work", responses={503: {"description": "It cannot."}})
async def ready(request: Request, memos: Core, frame: FrameDep) -> Response:
    """`ready`, `degraded` (it works, but something wants attention) or, with status 503, `failing`.

    Which part it is and why is told to those who may call.
    """
    found = await frame.looks.look(memos)
    body: dict[str, Any] = {"status": found.condition}
    if isinstance(request.scope.get(CALLER), Caller):
        body["checks"] = {c.name: {"status": c.condition, "detail": c.detail} for c in found.checks}
    return json_reply(body, 503 if found.condition is Condition.FAILING else 200)


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
async def show_metrics(memos: Core, frame: FrameDep, caller: CallerDep) -> Response:
    """Counts and seconds in the text format of Prometheus; where keys are in use, for any key."""
    if not frame.options.metrics:
        raise NotFound("metrics are turned off (MEMOS_SERVER_METRICS)")
    return Response(frame.metrics.text(await memos.usage()), media_type=metrics.CONTENT_TYPE)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The API on one page."""
    text = docs_page.page(request.app.openapi())
    return Response(text, media_type="text/html", headers={"Content-Security-Policy": docs_page.POLICY})
