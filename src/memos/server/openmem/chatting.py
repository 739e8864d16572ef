"""chat: a question answered with a user's memory and knowledge bases, whole or as a stream.

The conversation so far is what was stored under its id.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from memos.answers import ChatError, ChatEvent
from memos.memory.hit import Hit, SearchResult
from memos.memory.time import load_zone
from memos.server.caller import READ, WRITE, Caller
from memos.server.frame import Frame
from memos.server.openmem import details, finding
from memos.server.openmem.adding import NO_PUBLIC
from memos.server.openmem.bodies import ChatBody, GetMessagesBody, SearchBody
from memos.server.openmem.codes import ok
from memos.server.openmem.details import MemoryDetail
from memos.server.openmem.messages import newest_messages
from memos.server.openmem.subjects import bases
from memos.server.sse import CUT_OFF, begun
from memos.system import AsyncMemOS

CONTEXT_TOKENS = 4_000
_HISTORY = 20  # messages of the conversation so far
_NO_INTERNET = "internet_search: this server does not search the web"


@dataclass(frozen=True, slots=True)
class Chatted:
    """The answer to a chat. `memory_detail_list`: the memories it rests on."""

    response: str
    reasoning: str = ""
    memory_detail_list: Sequence[MemoryDetail] = ()
    notices: Sequence[str] = ()


async def chat(memos: AsyncMemOS, caller: Caller, frame: Frame, body: ChatBody) -> Response:
    """Answer. What is wrong with a request is told before a stream begins."""
    user = caller.acting(body.user_id, WRITE if body.add_message_on_answer else READ)
    if body.stream:
        frame.streams.check_room()
    written = await bases(memos, caller, body.allow_knowledgebase_ids, WRITE, user)
    await memos.chat_model(body.model_name)
    found = await finding.remember(memos, caller, _search_of(body))
    labels = {"agent_id": body.agent_id, "app_id": body.app_id, "source": body.source}
    options: dict[str, Any] = {
        "query": body.query,
        "user": user,
        "session": body.conversation_id,
        "history": await _history(memos, caller, body),
        "system_prompt": body.system_prompt,
        "model": body.model_name,
        "temperature": body.temperature,
        "top_p": body.top_p,
        "max_tokens": body.max_tokens,
        "context_tokens": CONTEXT_TOKENS,
        "found": SearchResult(body.query, _ranked(found), found.status, reasons=tuple(found.reasons)),
        "add": body.add_message_on_answer,
        "add_to": [(user, None), *((base.user, base.id) for base in written)],
        "tags": body.tags,
        "info": {**(body.info or {}), **{name: value for name, value in labels.items() if value is not None}},
    }
    if body.stream:
        with frame.streams.promised():
            events = await begun(_told(memos, options))
        return frame.streams.reply(events, stopped=_frame(ChatError("unavailable", CUT_OFF)))
    answer = await memos.chat(**options)
    if body.add_message_on_answer and not body.async_mode:
        await memos.flush(user=user)
    zone = load_zone(memos.settings.timezone)
    shown = [details.hit_detail(h, zone, h.cube if h.cube in found.bases else None) for h in answer.references]
    notices = [
        *answer.notices,
        *([_NO_INTERNET] if body.internet_search else []),
        *([NO_PUBLIC] if body.allow_public else []),
    ]
    return ok(Chatted(answer.text, answer.reasoning, shown, notices))


def _search_of(body: ChatBody) -> SearchBody:
    """What is searched for a question."""
    names = SearchBody.model_fields.keys() & ChatBody.model_fields.keys() - {"agent_id"}  # beside a user, only a label
    return SearchBody.model_validate({name: getattr(body, name) for name in names})


def _ranked(found: finding.Remembered) -> tuple[Hit, ...]:
    every = {hit.id: hit for hit in (*found.tools, *found.preferences, *found.hits)}
    best = sorted(every.values(), key=lambda hit: -hit.score)
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(best, 1))


async def _history(memos: AsyncMemOS, caller: Caller, body: ChatBody) -> list[dict[str, str]]:
    """The conversation so far, as far as it was stored."""
    if body.conversation_id is None:
        return []
    asked = GetMessagesBody(user_id=body.user_id, conversation_id=body.conversation_id, message_limit_number=_HISTORY)
    newest = await newest_messages(memos, caller, asked)
    return [
        {"role": message.role, "content": message.content}
        for message in newest
        if message.role in ("user", "assistant")
    ]


async def _told(memos: AsyncMemOS, options: dict[str, Any]) -> AsyncGenerator[dict[str, Any] | None, None]:
    """The frames of a stream: `reasoning` and `text`, `error` where it fails."""
    async with contextlib.aclosing(memos.chat_stream(**options)) as events:
        async for event in events:
            yield _frame(event)


def _frame(event: ChatEvent) -> dict[str, Any] | None:
    match event.type:
        case "reasoning" | "text":
            return {"type": event.type, "data": event.text}
        case "error":
            return {"type": "error", "content": event.message, "data": event.message}
        case _:
            return None
