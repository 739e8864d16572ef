"""The chat routes of the MemOS wire: answers that rest on memories, whole or as a stream of events.

A request is checked, and its memories are searched, before a stream begins: what is wrong with it has a status of its own.
"""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from memos.answers import ChatError
from memos.errors import AccessDenied
from memos.memory.hit import Hit, SearchResult
from memos.memory.time import load_zone
from memos.server.caller import READ, WRITE, Caller
from memos.server.frame import Frame
from memos.server.product import access, wording
from memos.server.product import search as searching
from memos.server.product.models import BusinessBody, ChatBody, SearchBody
from memos.server.product.replies import ok
from memos.server.product.translate import filters_by_cube, ref_id
from memos.server.sse import CUT_OFF, begun
from memos.server.translate import relativity, score_of, told
from memos.system import AsyncMemOS

COMPLETE, STREAM = 0.5, 0.3  # the lowest relativity of a memory that is shown, where the request says none
KEPT = 3  # memories that are shown whatever their relativity
CONTEXT_TOKENS = 4_000
Frames = AsyncGenerator[dict[str, Any] | None, None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A chat request, checked: who asks, what was found, and the cubes that keep the turn."""

    core: AsyncMemOS
    body: ChatBody
    user: str
    buckets: searching.Buckets
    stores: tuple[str, ...]

    @property
    def hits(self) -> list[Hit]:
        """Texts and preferences, best first, each once."""
        every = [*self.buckets.hits["text_mem"], *self.buckets.hits["pref_mem"]]
        best = sorted({hit.id: hit for hit in every}.values(), key=lambda hit: -hit.score)
        return [replace(hit, rank=rank) for rank, hit in enumerate(best, 1)]

    def options(self, threshold: float) -> dict[str, Any]:
        """The arguments of the core's chat."""
        body = self.body
        found = SearchResult(
            body.query,
            tuple(self.hits),
            searching.status_of(self.buckets),
            reasons=tuple(searching.reasons_of(self.buckets)),
        )
        named = {"manager_user_id": body.manager_user_id, "project_id": body.project_id}
        return {
            "query": body.query,
            "user": self.user,
            "session": body.session_id or wording.DEFAULT_SESSION,
            "history": body.history,
            "system_prompt": body.system_prompt,
            "model": body.model_name_or_path,
            "temperature": body.temperature,
            "top_p": body.top_p,
            "max_tokens": body.max_tokens,
            "context_tokens": CONTEXT_TOKENS,
            "threshold": score_of(threshold if body.threshold is None else body.threshold),
            "keep_best": KEPT,
            "found": found,
            "add": bool(self.stores),
            "add_to": self.stores,
            "info": {name: value for name, value in named.items() if value is not None} or None,
        }


async def complete(core: AsyncMemOS, caller: Caller, body: ChatBody) -> Response:
    """The whole answer. `references` and `memory_ids` stand beside the data: what it rests on, and what the turn is kept as."""
    asked = await prepared(core, caller, body)
    answer = await core.chat(**asked.options(COMPLETE))
    return ok(
        wording.CHATTED,
        {"response": answer.text, "reasoning": answer.reasoning},
        references=references(core, answer.references),
        memory_ids=list(answer.added),
        notices=[*answer.notices, *notices(body)] or None,
    )


async def stream(core: AsyncMemOS, caller: Caller, frame: Frame, body: ChatBody) -> Response:
    """The answer as it is made: `reasoning` and `text`, and `error` where it fails."""
    with frame.streams.promised():
        asked = await prepared(core, caller, body)
        events = await begun(_plain(asked, asked.options(STREAM)))
    return frame.streams.reply(events, stopped=STOPPED)


async def business(core: AsyncMemOS, caller: Caller, frame: Frame, body: BusinessBody) -> Response:
    """The same for a business key; memories are searched only where `need_search` says so."""
    keys = frame.options.business_keys
    if not any(hmac.compare_digest(key.encode(), body.business_key.encode()) for key in keys):
        raise AccessDenied(wording.NO_BUSINESS)
    more = {} if body.need_search else {"limit": 0}
    with frame.streams.promised():
        asked = await prepared(core, caller, body, search=body.need_search)
        events = await begun(_plain(asked, asked.options(STREAM) | more))
    return frame.streams.reply(events, stopped=STOPPED)


async def prepared(core: AsyncMemOS, caller: Caller, body: ChatBody, *, search: bool = True) -> Asked:
    """A request with what was found for it. Raises what is wrong with it: filter, cubes, rights, model."""
    user = caller.acting(body.user_id, READ)
    cubes = list(dict.fromkeys(body.readable_cube_ids or [user]))
    filters_by_cube(body.filter, cubes)
    for cube in cubes:
        await core.count(user=user, cube=cube)
    stores: list[str] = []
    if body.add_message_on_answer:
        caller.must(WRITE)
        _, stores = await access.writable(core, caller, body.user_id, body.writable_cube_ids)
    await core.chat_model(body.model_name_or_path)
    buckets = await searching.find(core, user, _search_of(body, cubes)) if search else _nothing(cubes)
    for cube in stores:
        await access.ready(core, user, cube)
    return Asked(core, body, user, buckets, tuple(stores))


def _search_of(body: ChatBody, cubes: Sequence[str]) -> SearchBody:
    return SearchBody(
        query=body.query,
        user_id=body.user_id,
        readable_cube_ids=list(cubes),
        session_id=body.session_id,
        top_k=body.top_k,
        relativity=body.relativity,
        include_preference=body.include_preference,
        pref_top_k=body.pref_top_k,
        search_tool_memory=False,
        tool_mem_top_k=0,
        include_skill_memory=False,
        skill_mem_top_k=0,
        filter=body.filter,
    )


def _nothing(cubes: Sequence[str]) -> searching.Buckets:
    return searching.Buckets(tuple(cubes), {"text_mem": [], "pref_mem": []}, ())


def notices(body: ChatBody) -> list[str]:
    """A sentence for each field that asks for what does not exist here."""
    return [wording.NO_INTERNET] if body.internet_search else []


def references(core: AsyncMemOS, hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """The memories an answer rests on, in short."""
    zone = load_zone(core.settings.timezone)
    return [
        {
            "id": hit.id,
            "ref_id": ref_id(hit.id),
            "cube_id": hit.cube,
            "memory": told(hit, zone),
            "relativity": round(relativity(hit.score), 4),
        }
        for hit in hits
    ]


async def _plain(asked: Asked, options: dict[str, Any]) -> Frames:
    async with contextlib.aclosing(asked.core.chat_stream(**options)) as events:
        async for event in events:
            shown = _FRAMES.get(event.type)
            yield shown(event) if shown is not None else None


def error_frame(event: ChatError) -> dict[str, Any]:
    """What went wrong, under both names that clients of this wire read it by."""
    return {"type": "error", "content": event.message, "data": event.message, "error": event.code}


STOPPED = error_frame(ChatError("unavailable", CUT_OFF))
_FRAMES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "reasoning": lambda event: {"type": "reasoning", "data": event.text},
    "text": lambda event: {"type": "text", "data": event.text},
    "error": error_frame,
}
