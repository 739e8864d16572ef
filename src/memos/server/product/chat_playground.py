"""POST /product/chat/stream/playground: a stream that also tells its stages, its references and what to ask next."""

from __future__ import annotations

import contextlib
from typing import Any

from starlette.responses import Response

from memos.answers import ChatEvent
from memos.memory.time import load_zone
from memos.server.caller import Caller
from memos.server.frame import Frame
from memos.server.product import preferences
from memos.server.product.chat import STOPPED, STREAM, Asked, Frames, error_frame, prepared
from memos.server.product.evidence import evidence_of
from memos.server.product.models import PlaygroundBody
from memos.server.product.translate import found
from memos.server.sse import begun
from memos.system import AsyncMemOS

_STAGES = {"reasoning": "reasoning", "answering": "2"}


async def playground(core: AsyncMemOS, caller: Caller, frame: Frame, body: PlaygroundBody) -> Response:
    """The stream. Its first `reference` is what was found, its second what the model was shown, numbered as answers cite it."""
    with frame.streams.promised():
        asked = await prepared(core, caller, body)
        events = await begun(_told(asked, asked.options(STREAM) | {"cite": True, "suggest": True}))
    return frame.streams.reply(events, stopped=STOPPED)


async def _told(asked: Asked, options: dict[str, Any]) -> Frames:
    async with contextlib.aclosing(asked.core.chat_stream(**options)) as events:
        first = await anext(events)  # what is wrong is raised here, before anything is told
        hits = asked.hits
        evidence = await evidence_of(asked.core, asked.user, [(hit.cube, hit.memory) for hit in hits])
        zone = load_zone(asked.core.settings.timezone)
        shown = {hit.id: found(hit, zone, evidence=evidence) for hit in hits}
        liked = [hit.memory for hit in asked.buckets.hits["pref_mem"]]
        yield _frame("status", "0")
        yield _frame("status", "1")
        yield _frame("reference", list(shown.values()))
        yield _frame("pref_md_string", preferences.rendered(liked, asked.body.query)["pref_string"])
        yield _of(first, shown)
        async for event in events:
            yield _of(event, shown)


def _of(event: ChatEvent, shown: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """An event in the words of the playground; None for what it does not tell."""
    match event.type:
        case "references":
            return _frame("reference", [shown[hit.id] for hit in event.references])
        case "status":
            return _frame("status", _STAGES[event.stage]) if event.stage in _STAGES else None
        case "reasoning" | "text":
            return _frame(event.type, event.text)
        case "time":
            return _frame("time", {"total_time": round(event.total, 3), "speed_improvement": None})
        case "suggestions":
            return _frame("suggestion", list(event.questions))
        case "error":
            return error_frame(event)
        case "end":
            return {"type": "end"}
        case _:
            return None


def _frame(type: str, data: Any) -> dict[str, Any]:
    return {"type": type, "data": data}
