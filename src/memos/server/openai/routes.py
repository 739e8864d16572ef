"""`/v1/chat/completions`, `/v1/responses` and `/v1/models` as OpenAI has them, in front of the configured chat models: what an
application says there is remembered, and it is told what is. Who may act as whom is decided as for every other route.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from fastapi import APIRouter, Response

from memos.errors import MemosError, NotFound
from memos.memory.time import utcnow
from memos.models.llm.passage import Passage
from memos.server.caller import READ
from memos.server.errors import status_of
from memos.server.openai import completions, responses
from memos.server.openai.asked import Asked, asked
from memos.server.openai.exchange import Api, Exchange
from memos.server.openai.kept_responses import Kept
from memos.server.openai.memory import Around
from memos.server.openai.proxy import Here, HereDep, conversation_in, model_in, session_of
from memos.server.openai.said import Answer, Entry, fresh, opening, reply_mark
from memos.server.openai.translated import answered
from memos.server.openai.upstream import Ask, passed_on
from memos.server.replies import json_reply
from memos.system import AsyncMemOS
from memos.system.passing import check_leave

router = APIRouter(prefix="/v1", include_in_schema=False)  # OpenAI describes them


@router.post("/chat/completions", operation_id="openai_chat_completions")
async def chat_completions(at: HereDep) -> Response:
    """OpenAI's chat completions, with memory."""
    return await _answer(at, cast("Api", completions))


@router.post("/responses", operation_id="openai_responses")
async def create_response(at: HereDep) -> Response:
    """OpenAI's responses, with memory."""
    return await _answer(at, cast("Api", responses))


@router.get("/models", operation_id="openai_models")
async def models(at: HereDep) -> Response:
    """The configured models, as OpenAI lists them."""
    at.caller.must(READ)
    return json_reply({"object": "list", "data": [_model(name) for name in await at.memos.chat_models()]})


@router.get("/models/{name:path}", operation_id="openai_model")
async def model(name: str, at: HereDep) -> Response:
    """One of them."""
    at.caller.must(READ)
    for known in await at.memos.chat_models():
        if name in (known, known.partition(":")[2]):
            return json_reply(_model(known))
    raise NotFound(f"no chat model is called {name!r:.120}; GET /v1/models lists them")


async def _answer(at: Here, api: Api) -> Response:
    body = await at.body()
    who = asked(at.request, at.caller, body)
    conversation = await _conversation(at, body, who) if api.NAMED else None
    before = await _before(at, body, who) if api.NAMED else None
    await _check_leave(at.memos, who)
    way = at.way(body.get("model"), who.user)

    entries = api.entries(body)
    known = before or (conversation[1] if conversation else None)
    session = who.session or (known.session if known else await _session(at, body, who, entries))
    said_last = conversation[1].last if conversation else body.get("previous_response_id")
    seed = json.dumps([who.user, session, str(utcnow().date()), said_last or ""])
    around = Around(
        *(at.memos, who, session, fresh(entries, seed, partial(at.proxy.known.call, who.user))),
        acting=bool(body.get("tools")) or any(one.calls for one in entries),
        longest=at.frame.options.text_chars,
        id=at.request.scope.get("memos.request_id", ""),
    )
    block = await around.before()
    kept = Kept(session, model_in(body))
    exchange = Exchange(
        *(api, around, at.proxy, who.user, kept, api.with_block(body, block) if block else body),
        keeps=api.NAMED or body.get("store") is True,
        conversation=conversation,
    )
    if not isinstance(way, Passage):
        return await answered(at.request, way, exchange, at.frame.streams)
    exchange.passage = way
    if api.NAMED and body.get("background"):
        told = exchange.usage(Answer(), left=True).input_tokens
        exchange.kept = replace(kept, told=told, cube=who.cube, writes=who.writes)
    return await passed_on(at.request, way, Ask.of(api.PATH, exchange.body, way.model), exchange, at.frame.streams)


async def _check_leave(memos: AsyncMemOS, who: Asked) -> None:
    """Raise where the user may not use the cube; a data folder that cannot be asked is no refusal, and gives nothing away."""
    if who.mode == "off":
        return
    try:
        await check_leave(memos, who.user, who.cube, read=who.reads, write=who.writes)
    except MemosError as error:
        if status_of(error) < 500:
            raise


async def _before(at: Here, body: Mapping[str, Any], who: Asked) -> Kept | None:
    """The response that a request goes on with. Raises NotFound for one of somebody else, and InvalidInput for what cannot be
    told apart by user.
    """
    at.check_items(body.get("input"))
    previous = body.get("previous_response_id")
    return await at.owned("response", previous, who.user) if previous else None


async def _conversation(at: Here, body: Mapping[str, Any], who: Asked) -> tuple[str, Kept] | None:
    """The conversation that a response is to be in, if it is known whose it is. Raises NotFound for one of somebody else."""
    if not (id := conversation_in(body)):
        return None
    kept = await at.owned("conversation", id, who.user)
    return None if kept is None else (str(id), kept)


async def _session(at: Here, body: Mapping[str, Any], who: Asked, entries: list[Entry]) -> str:
    """A conversation that has no name: one that the server keeps, or that of a day which began with these words. Of those that
    began alike but were answered otherwise at first, whichever goes on first has the name of the beginning.
    """
    kept = conversation_in(body) or body.get("previous_response_id")
    if kept:
        return session_of(kept)
    session = f"openai-{utcnow():%Y-%m-%d}-{opening(entries, who.user)}"
    mark = reply_mark(entries)
    if mark is None or not who.writes:
        return session
    try:
        first = await asyncio.to_thread(at.proxy.kept.first, f"opening\x1f{who.user}\x1f{session}", mark)
    except OSError:
        return session
    return session if first == mark else f"{session}-{mark}"


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": name.partition(":")[0]}
