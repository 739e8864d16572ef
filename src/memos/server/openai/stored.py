"""What the models' server keeps for those who asked it to: responses, stored chat completions and conversations; looked at,
changed and deleted by whom they belong to. All is passed on as it is, under the server's own key; only a list is made of the
own ones.

The answer to a response that was made in the background is kept here when it is fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Response

from memos.errors import InvalidInput, ModelError, Unavailable
from memos.models.llm.passage import Passage
from memos.server.caller import READ, WRITE
from memos.server.openai import responses
from memos.server.openai.asked import Asked, asked, asking_user
from memos.server.openai.exchange import Api, Exchange, read
from memos.server.openai.kept_responses import Kept
from memos.server.openai.memory import Around
from memos.server.openai.proxy import Here, HereDep, conversation_in, in_path, model_in, session_of
from memos.server.openai.said import Fresh
from memos.server.openai.upstream import Ask, passed_on
from memos.server.replies import json_reply

router = APIRouter(prefix="/v1", include_in_schema=False)

_RESPONSE, _COMPLETION, _CONVERSATION = "response", "chat completion", "conversation"
_PAGE, _LISTED = 100, 20  # things asked for at once, and told by default
_PAGES = 20  # looked through for one answer
_NOT_KEPT = "the data folder cannot be written ({}), and whose a conversation is must be known before it is used"
_OTHERS = "none of {:,} stored chat completions looked through is this user's; narrow them by `model` or `metadata`"


# -- responses --------------------------------------------------------------------------------------------------------


@router.get("/responses/{id}", operation_id="openai_response")
async def response(id: str, at: HereDep) -> Response:
    """A response, or the events of one that is made in the background."""
    return await _fetched(at, id, "", READ)


@router.post("/responses/{id}/cancel", operation_id="openai_cancel_response")
async def cancel_response(id: str, at: HereDep) -> Response:
    """End a response that is made in the background."""
    return await _fetched(at, id, "/cancel", READ)


@router.post("/responses/input_tokens", operation_id="openai_input_tokens")
async def input_tokens(at: HereDep) -> Response:
    """How many tokens a request would be."""
    way, body, _, _ = await _asked_about(at, "/responses/input_tokens")
    return await passed_on(
        at.request, way, Ask.of("/responses/input_tokens", body, way.model), Quiet(), at.frame.streams
    )


@router.post("/responses/compact", operation_id="openai_compact")
async def compact(at: HereDep) -> Response:
    """A conversation made shorter by the server. Memory is left out of it."""
    path = "/responses/compact"
    way, body, user, before = await _asked_about(at, path)
    session = before.session if before is not None else session_of(body.get("previous_response_id"))
    kept = Kept(session, model_in(body))
    exchange = Exchange(
        *(cast("Api", responses), _around(at, user, kept), at.proxy, user, kept, body), keeps=True, passage=way
    )
    return await passed_on(at.request, way, Ask.of(path, body, way.model), exchange, at.frame.streams)


# -- stored chat completions ------------------------------------------------------------------------------------------


@router.get("/chat/completions", operation_id="openai_list_completions")
async def completions(at: HereDep) -> Response:
    """The own stored ones: all of the account lie together there."""
    user = asking_user(at.request, at.caller, READ)
    asked_for = [(name, value) for name, value in at.request.query_params.multi_items() if name != "limit"]
    after, most = at.request.query_params.get("after"), _limit(at.request.query_params.get("limit"))
    if after is not None:
        await at.owned(_COMPLETION, after, user)
    way = _passage(at, None, user)
    found: list[Any] = []
    for _ in range(_PAGES):
        query = [*((n, v) for n, v in asked_for if n != "after"), ("limit", str(_PAGE))]
        query += [("after", after)] if after is not None else []
        ask = Ask(f"/chat/completions?{urlencode(query)}", method="GET", whole=True)
        answer = await passed_on(at.request, way, ask, Quiet(), at.frame.streams)
        if answer.status_code != 200:
            return answer
        page = read(bytes(answer.body))
        data, more = _page(page)
        found += [one for one, own in zip(data, await _own(at, data, user), strict=True) if own]
        if len(found) >= most or not more or not data:
            return json_reply({**page, **_told(found, most, more=more and bool(data))})
        after = data[-1]["id"]
    if not found:
        raise Unavailable(_OTHERS.format(_PAGE * _PAGES))
    return json_reply({**page, **_told(found, most, more=True)})


# -- conversations ----------------------------------------------------------------------------------------------------


@router.post("/conversations", operation_id="openai_create_conversation")
async def create_conversation(at: HereDep) -> Response:
    """Begin a conversation that the server keeps."""
    who = asked(at.request, at.caller, {})
    at.check_items((await at.body()).get("items"))

    async def keep(body: Any) -> None:
        if isinstance(body, Mapping) and isinstance(id := body.get("id"), str):
            try:
                await asyncio.to_thread(at.proxy.kept.keep, id, who.user, Kept(who.session or session_of(id)))
            except OSError as error:
                raise Unavailable(_NOT_KEPT.format(error.strerror or type(error).__name__)) from error

    ask = Ask("/conversations", await at.request.body())
    return await passed_on(at.request, _passage(at, None, who.user), ask, Quiet(keep), at.frame.streams)


@router.post("/conversations/{id}/items", operation_id="openai_add_conversation_items")
async def add_items(id: str, at: HereDep) -> Response:
    """Put something in it."""
    at.check_items((await at.body()).get("items"))
    return await _of(at, _CONVERSATION, id, f"/conversations/{id}/items", WRITE)


# -- what is passed on as it came, about a thing of the user's own ------------------------------------------------------


def _passed_on(method: str, path: str, what: str, need: str) -> None:
    async def of_own(id: str, at: HereDep) -> Response:
        given = {name: in_path(what if name == "id" else name, value) for name, value in at.request.path_params.items()}
        return await _of(at, what, id, path.format(**given), need)

    router.add_api_route(path, of_own, methods=[method], name=f"{method} {path}")


for _method, _path, _what, _need in (
    ("DELETE", "/responses/{id}", _RESPONSE, WRITE),
    ("GET", "/responses/{id}/input_items", _RESPONSE, READ),
    ("GET", "/chat/completions/{id}", _COMPLETION, READ),
    ("POST", "/chat/completions/{id}", _COMPLETION, WRITE),  # its metadata
    ("DELETE", "/chat/completions/{id}", _COMPLETION, WRITE),
    ("GET", "/chat/completions/{id}/messages", _COMPLETION, READ),
    ("GET", "/conversations/{id}", _CONVERSATION, READ),
    ("POST", "/conversations/{id}", _CONVERSATION, WRITE),  # its metadata
    ("DELETE", "/conversations/{id}", _CONVERSATION, WRITE),
    ("GET", "/conversations/{id}/items", _CONVERSATION, READ),
    ("GET", "/conversations/{id}/items/{item}", _CONVERSATION, READ),
    ("DELETE", "/conversations/{id}/items/{item}", _CONVERSATION, WRITE),
):
    _passed_on(_method, _path, _what, _need)


# -- inside -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Quiet:
    """Listens to nothing (see `upstream.Listener`): an answer that is only passed on. `whole` is told of one that is no error."""

    whole: Callable[[Any], Awaitable[None]] | None = None
    named: bool = True

    @property
    def headers(self) -> Mapping[str, str]:
        """Memory has no part in it."""
        return {}

    def take(self, event: Any) -> None:
        """Not listened to."""

    async def passing(self) -> None:
        """Not listened to."""

    async def answered(self, body: Any) -> None:
        """The whole answer."""
        if self.whole is not None:
            await self.whole(body)

    def ended(self, why: str | None) -> None:
        """Not listened to."""

    def unanswered(self, *, left: bool = False) -> None:
        """Not listened to."""


async def _of(at: Here, what: str, id: str, path: str, need: str) -> Response:
    """Pass on a request about one thing, of which the id stands in the path."""
    user = asking_user(at.request, at.caller, need)
    kept = await at.owned(what, in_path(what, id), user)
    return await passed_on(at.request, _passage(at, kept, user), await _ask(at, path), Quiet(), at.frame.streams)


async def _fetched(at: Here, id: str, more: str, need: str) -> Response:
    """Pass on a request that is answered by a response; if it was made in the background, what it says is listened to."""
    user = asking_user(at.request, at.caller, need)
    kept = await at.owned(_RESPONSE, in_path(_RESPONSE, id), user)
    way, ask = _passage(at, kept, user), await _ask(at, f"/responses/{id}{more}")
    if kept is None or kept.told is None:
        return await passed_on(at.request, way, ask, Quiet(), at.frame.streams)
    exchange = Exchange(
        *(cast("Api", responses), _around(at, user, kept), at.proxy, user, kept, {}), passage=way, fetched=True
    )
    return await passed_on(at.request, way, ask, exchange, at.frame.streams)


async def _ask(at: Here, path: str) -> Ask:
    """The request as it came."""
    query = at.request.url.query
    streams = at.request.query_params.get("stream", "").lower() == "true"
    body = await at.request.body()
    return Ask(f"{path}?{query}" if query else path, body or None, at.request.method, streams)


async def _asked_about(at: Here, path: str) -> tuple[Passage, dict[str, Any], str, Kept | None]:
    """The way to whom a request with a conversation is passed on, its body, the user, and what it goes on with. Raises as an
    answer does.
    """
    body = await at.body()
    user = asked(at.request, at.caller, body).user
    at.check_items(body.get("input"))
    before: Kept | None = None
    for what, id in ((_CONVERSATION, conversation_in(body)), (_RESPONSE, body.get("previous_response_id"))):
        before = await at.owned(what, id, user) if id else before
    way = at.way(body.get("model"), user)
    if not isinstance(way, Passage):
        raise InvalidInput(f"{way.model_id} answers /v1/chat/completions only, not /v1{path}")
    return way, body, user, before


def _passage(at: Here, kept: Kept | None, user: str) -> Passage:
    """The way to the server that keeps a thing: that of the model it was made by, else of the chat model."""
    way = at.way(kept.model if kept is not None else None, user, spends=False)
    if not isinstance(way, Passage):
        raise InvalidInput(f"{way.model_id} keeps nothing; a server that speaks OpenAI's protocol may")
    return way


def _around(at: Here, user: str, kept: Kept) -> Around:
    """Memory around the end of a response that was made in the background, if it is to be kept."""
    mode = asked(at.request, at.caller, {}).mode if kept.writes else "off"
    who = Asked(user, kept.cube, kept.session, "write" if mode in ("write", "both") else "off", 1)
    return Around(
        *(at.memos, who, kept.session, Fresh((), "", "", frozenset())),
        acting=False,
        longest=at.frame.options.text_chars,
        id=at.request.scope.get("memos.request_id", ""),
    )


def _limit(value: str | None) -> int:
    if value is None:
        return _LISTED
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= _PAGE):
        raise InvalidInput(f"limit is a whole number from 1 to {_PAGE}, got {value!r:.40}")
    return int(value)


def _page(page: Any) -> tuple[list[Any], bool]:
    """The things of a page, and whether there are more. Raises ModelError for what is none."""
    data = page.get("data") if isinstance(page, Mapping) else None
    if not isinstance(data, list) or not all(isinstance(d, Mapping) and isinstance(d.get("id"), str) for d in data):
        raise ModelError("the models' server answered no list of stored chat completions")
    return data, page.get("has_more") is True


async def _own(at: Here, data: list[Any], user: str) -> list[bool]:
    """Which of them the user may see."""

    def look() -> list[bool]:
        found = [at.proxy.kept.find(one["id"], user) for one in data]
        return [kept is not None or (not known and at.caller.any_user) for known, kept in found]

    return await asyncio.to_thread(look)


def _told(found: list[Any], most: int, *, more: bool) -> dict[str, Any]:
    told = found[:most]
    ends = {"first_id": told[0]["id"] if told else None, "last_id": told[-1]["id"] if told else None}
    return {"data": told, **ends, "has_more": more or len(found) > most}
