"""`/v1/chat/completions`, `/v1/responses` and `/v1/models` as OpenAI has them, in front of the configured chat models: what an
application says there is remembered, and it is told what is. Who may act as whom is decided as for every other route.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from fastapi import APIRouter, Request, Response

from memos.errors import InvalidInput, MemosError, NotFound, Unavailable
from memos.memory.ids import unique_key
from memos.memory.time import utcnow
from memos.models.llm.passage import Passage
from memos.server.app import Core
from memos.server.caller import READ, Caller, CallerDep, caller_of
from memos.server.errors import status_of
from memos.server.frame import Frame, FrameDep
from memos.server.openai import completions, responses
from memos.server.openai.asked import Asked, asked
from memos.server.openai.exchange import Api, Exchange
from memos.server.openai.kept_responses import KeptResponses
from memos.server.openai.memory import Around, Known
from memos.server.openai.said import fresh, opening
from memos.server.openai.translated import answered
from memos.server.openai.upstream import passed_on
from memos.server.replies import json_reply
from memos.system import AsyncMemOS
from memos.system.passing import check_leave, way_to

router = APIRouter(prefix="/v1", include_in_schema=False)  # OpenAI describes them

_OFF = "the OpenAI proxy is switched off on this server (MEMOS_SERVER_PROXY)"
_NOT_YOURS = "there is no response {!r:.80} to go on with; send the conversation whole"
_ACCOUNT = "{} names something of the whole account at the model's server, which a key of one user may not; send the items whole"


class Proxy:
    """What one application knows of requests before."""

    def __init__(self, memos: AsyncMemOS) -> None:
        self.known = Known()
        self.kept = KeptResponses(memos.settings.home)


@router.post("/chat/completions", operation_id="openai_chat_completions")
async def chat_completions(request: Request, memos: Core, frame: FrameDep) -> Response:
    """OpenAI's chat completions, with memory."""
    return await _answer(request, memos, frame, cast("Api", completions))


@router.post("/responses", operation_id="openai_responses")
async def create_response(request: Request, memos: Core, frame: FrameDep) -> Response:
    """OpenAI's responses, with memory."""
    return await _answer(request, memos, frame, cast("Api", responses))


@router.get("/models", operation_id="openai_models")
async def models(memos: Core, frame: FrameDep, caller: CallerDep) -> Response:
    """The configured models, as OpenAI lists them."""
    _check_on(frame)
    caller.must(READ)
    return json_reply({"object": "list", "data": [_model(name) for name in await memos.chat_models()]})


@router.get("/models/{name:path}", operation_id="openai_model")
async def model(name: str, memos: Core, frame: FrameDep, caller: CallerDep) -> Response:
    """One of them."""
    _check_on(frame)
    caller.must(READ)
    for known in await memos.chat_models():
        if name in (known, known.partition(":")[2]):
            return json_reply(_model(known))
    raise NotFound(f"no chat model is called {name!r:.120}; GET /v1/models lists them")


async def _answer(request: Request, memos: AsyncMemOS, frame: Frame, api: Api) -> Response:
    _check_on(frame)
    body = await _body(request)
    caller = caller_of(request)
    who = asked(request, caller, body)
    proxy = _proxy(request, memos)
    before = await _conversation(body, caller, who, proxy) if api.NAMED else None
    await _check_leave(memos, who)
    name = body.get("model")
    way = way_to(
        memos, name if isinstance(name, str) and name else None, who.user, others=frame.options.proxy_any_model
    )

    entries = api.entries(body)
    session = who.session or before or _session(body, opening(entries, who.user))
    seed = json.dumps([who.user, session, str(utcnow().date()), body.get("previous_response_id") or ""])
    around = Around(
        *(memos, who, session, fresh(entries, seed, partial(proxy.known.call, who.user)), proxy.known),
        acting=bool(body.get("tools")) or any(one.calls for one in entries),
        longest=frame.options.text_chars,
        id=request.scope.get("memos.request_id", ""),
    )
    block = await around.before()
    exchange = Exchange(api, around, proxy.kept, who.user, session, api.with_block(body, block) if block else body)
    if isinstance(way, Passage):
        return await passed_on(request, way, exchange, frame.streams)
    return await answered(request, way, exchange, frame.streams)


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise InvalidInput("the body is not JSON") from None
    if not isinstance(body, dict):
        raise InvalidInput("the body is a JSON object")
    return body


async def _check_leave(memos: AsyncMemOS, who: Asked) -> None:
    """Raise where the user may not use the cube; a data folder that cannot be asked is no refusal, and gives nothing away."""
    if who.mode == "off":
        return
    try:
        await check_leave(memos, who.user, who.cube, read=who.reads, write=who.writes)
    except MemosError as error:
        if status_of(error) < 500:
            raise


async def _conversation(body: Mapping[str, Any], caller: Caller, who: Asked, proxy: Proxy) -> str | None:
    """The session of the response that a request goes on with. Raises NotFound for one of somebody else, and InvalidInput for
    what cannot be told apart by user.
    """
    if body.get("background"):
        raise InvalidInput(
            "background responses cannot be passed on: nobody would be there to hear the answer; use `stream`"
        )
    given = body.get("input")
    items = given if isinstance(given, list) else []
    if not caller.any_user:
        if body.get("conversation"):
            raise InvalidInput(_ACCOUNT.format("conversation"))
        if any(map(_refers, items)):
            raise InvalidInput(_ACCOUNT.format("item_reference"))
    previous = body.get("previous_response_id")
    if not isinstance(previous, str) or not previous:
        return None
    known, session = await asyncio.to_thread(proxy.kept.session_of, previous, who.user)
    if session is None and (known or not caller.any_user):
        raise NotFound(_NOT_YOURS.format(previous))
    return session


def _refers(item: Any) -> bool:
    """Whether an item of the input is none, but names one: so does all that has an id and neither type nor role."""
    kind = item.get("type") if isinstance(item, Mapping) else "message"
    return kind == "item_reference" or (not kind and bool(item.get("id")) and not item.get("role"))


def _session(body: Mapping[str, Any], begun: str) -> str:
    """A conversation that has no name: that of a day which began with these words, or which the server keeps."""
    kept = body.get("conversation") or body.get("previous_response_id")
    if kept:
        return f"openai-{unique_key('openai', json.dumps(kept, sort_keys=True)).hex()[:12]}"
    return f"openai-{utcnow():%Y-%m-%d}-{begun}"


def _check_on(frame: Frame) -> None:
    if not frame.options.proxy:
        raise Unavailable(_OFF)


def _proxy(request: Request, memos: AsyncMemOS) -> Proxy:
    state = request.app.state
    if not hasattr(state, "openai_proxy"):
        state.openai_proxy = Proxy(memos)
    return cast("Proxy", state.openai_proxy)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": name.partition(":")[0]}
