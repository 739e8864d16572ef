"""Routes of conversation: an answer that rests on memories, whole or as a stream, the models there are, and what to ask next."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, TypeAdapter, WithJsonSchema

from memos.answers import CONTEXT_TOKENS, LIMIT, ChatAnswer, ChatError, ChatEvent, ChatModels, ChatReferences, Suggested
from memos.reading.foreign import ROLES
from memos.server import briefly
from memos.server.app import Core
from memos.server.caller import READ, WRITE
from memos.server.frame import FrameDep
from memos.server.limits import check_messages, check_text
from memos.server.native import fields
from memos.server.native.answers import reply, to_json
from memos.server.native.fields import A_NUMBER, Flag, Info, Name, Said, Scoped, Session, Tags
from memos.server.native.models import either
from memos.server.native.problems import asks, reads, writes
from memos.server.native.scope import ActingDep, WhoseTooDep
from memos.server.quick import QuickRoute
from memos.server.sse import CUT_OFF, begun
from memos.system import AsyncMemOS

router = APIRouter(prefix="/v1/chat", tags=["Chat"], route_class=QuickRoute)
_MOST_TOKENS = 1 << 31
Count = Annotated[int, Field(ge=0, le=10_000), A_NUMBER]
_SAID: dict[str, Any] = {
    "type": "object",
    "title": "Said",
    "properties": {
        "role": {"type": "string", "enum": sorted(ROLES)},
        "content": {"anyOf": [{"type": "string"}, {"type": "array"}, {"type": "object"}, {"type": "null"}]},
    },
    "examples": [{"role": "user", "content": "My cat is Tom."}],
}
Conversation = Annotated[
    list[Any],
    WithJsonSchema({"type": "array", "items": {"anyOf": [{"type": "string"}, _SAID]}, "title": "Conversation"}),
]
ModelName = Annotated[str, Field(min_length=1, max_length=200, examples=["openai:gpt-4o-mini"])]


class Chat(Scoped):
    """A question that is answered with what is remembered."""

    model_config = ConfigDict(json_schema_extra=either("cube", "cubes", required=False))

    query: Annotated[Said, Field(description="What is asked.", examples=["Where do I live?"])]
    cubes: list[Name] | None = Field(
        None, min_length=1, max_length=100, description="Search these cubes together, instead of `cube`."
    )
    session: Session | None = None
    history: Conversation | None = Field(None, description="The conversation so far, as chat messages.")
    system_prompt: str | None = Field(
        None, description="Yours instead of ours; the memories stand where it says `{memories}`, else at its end."
    )
    model: ModelName | None = Field(None, description="One of `/v1/chat/models`; the first of them by default.")
    temperature: Annotated[float, Field(ge=0, le=2), A_NUMBER] | None = Field(None, description="Of the answer.")
    top_p: Annotated[float, Field(ge=0, le=1), A_NUMBER] | None = Field(None, description="Of the answer.")
    max_tokens: Annotated[int, Field(ge=1, le=_MOST_TOKENS), A_NUMBER] | None = Field(
        None, description="Of the answer."
    )
    limit: Count = Field(LIMIT, description="Memories looked at; 0 to answer without.")
    context_tokens: Annotated[int, Field(ge=1, le=_MOST_TOKENS), A_NUMBER] = Field(
        CONTEXT_TOKENS, description="Hard budget of the memories shown (a token: 4 characters)."
    )
    filter: fields.WhereFilter | None = None
    kinds: fields.Kinds | None = None
    threshold: fields.Threshold = 0.0
    keep_best: Count = Field(0, description="So many of the best are shown whatever their score.")
    reference_time: fields.When | None = Field(None, description="What is now, for the model and the search.")
    cite: Flag = Field(False, description="Have the answer cite memories, as `[1:9f2c01ab]`.")
    suggest: Flag = Field(False, description="In a stream: also tell what could be asked next.")
    add: Flag = Field(True, description="Remember the question and the answer.")
    add_to: list[Name] | None = Field(
        None, min_length=1, max_length=100, description="In these cubes, instead of `cube` or the user's own."
    )
    tags: Tags = Field(default_factory=list)
    info: Info | None = None
    stream: Flag = Field(False, description="Answer with events, as the answer is made.")


class Suggest(Scoped):
    """What questions are wanted for."""

    messages: Conversation | None = Field(None, description="The end of the conversation. Without: recent memories.")
    language: Literal["en", "zh"] | None = Field(None, description="Of the questions; that of the conversation.")


def _events() -> dict[str, Any]:
    """The documentation of the stream: one shape for each event."""
    schema = TypeAdapter(ChatEvent).json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    shapes = [definition for name, definition in schema["$defs"].items() if name.startswith("Chat")]
    event = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"oneOf": shapes}}
    return {"schema": {"type": "object", "properties": {"data": event}, "required": ["data"]}}


_ANSWERED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; with `stream` server-sent events, the `data` of each an event as JSON.",
        "content": {"text/event-stream": _events()},
    }
}


@router.post(
    "",
    operation_id="chat",
    summary="Answer with memories",
    response_model=ChatAnswer,
    responses={**writes(), **_ANSWERED},
)
async def chat(memos: Core, whose: WhoseTooDep, frame: FrameDep, body: Chat) -> Response:
    """Searches, has the chat model answer, and remembers both. The memories it was shown are the `references`.

    With `stream` the answer comes as events, the last one always `end`; an error on the way is an event too. Question and
    answer are kept when the answer ends, also when you leave before. Without a chat model: 503.
    """
    check_messages(frame.options, body.query)
    check_messages(frame.options, body.history)
    check_text(frame.options, body.system_prompt, "system_prompt has")
    place = whose.place(body, WRITE if body.add else READ)
    options = body.model_dump(exclude={"user", "cube", "stream", "suggest", "history", "filter", "kinds"})
    options |= {
        "user": place.user,
        "cube": place.cube,
        "history": body.history,
        "filter": body.filter,
        "kinds": body.kinds,
    }
    if not body.stream:
        answer = await memos.chat(**options)
        return reply(replace(answer, references=tuple(map(briefly.hit, answer.references))))
    with frame.streams.promised():
        events = await begun(_told(memos, options | {"suggest": body.suggest}))
    return frame.streams.reply(events, stopped=to_json(ChatError("unavailable", CUT_OFF)).decode())


async def _told(memos: AsyncMemOS, options: dict[str, Any]) -> AsyncGenerator[str | None, None]:
    async with contextlib.aclosing(memos.chat_stream(**options)) as events:
        async for event in events:
            if isinstance(event, ChatReferences):
                event = replace(event, references=tuple(map(briefly.hit, event.references)))
            yield to_json(event).decode()


@router.get(
    "/models",
    operation_id="list_chat_models",
    summary="The chat models",
    response_model=ChatModels,
    responses=reads(),
)
async def models(memos: Core, acting: ActingDep) -> Response:
    """The names that `model` may have, the usual one first; empty where none is configured."""
    acting.user(READ)
    return reply(ChatModels(await memos.chat_models()))


@router.post(
    "/suggestions",
    operation_id="suggest",
    summary="What could be asked next",
    response_model=Suggested,
    responses=asks(),
)
async def suggest(memos: Core, whose: WhoseTooDep, frame: FrameDep, body: Suggest) -> Response:
    """Up to three questions, about the end of a conversation or what was remembered last: by the chat model where one is
    configured and answers, else by rules.
    """
    check_messages(frame.options, body.messages)
    place = whose.place(body)
    asked = await memos.suggest(body.messages, user=place.user, cube=place.cube, language=body.language)
    return reply(Suggested(asked))
