"""A user's own language model: checked when it is handed over and at each answer; its errors are ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from llm_models import ScriptedModel
from memos.errors import InvalidInput, ModelBusy, ModelError, ModelTimeout
from memos.models.given import GivenChatModel
from memos.models.llm.port import ChatReply, ChatRequest, Piece

ASK = ChatRequest.of("Be short.", "Where?")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


class Own:
    """A user's model, as simple as can be."""

    model_id = "own"

    def __init__(self, said: Any = "In the sea.", seconds: float = 0) -> None:
        self.said, self.seconds, self.asked, self.closed = said, seconds, list[ChatRequest](), 0

    async def complete(self, request: ChatRequest) -> Any:
        self.asked.append(request)
        await asyncio.sleep(self.seconds)
        if isinstance(self.said, BaseException):
            raise self.said
        return ChatReply(self.said) if isinstance(self.said, str) else self.said

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        try:
            for part in ["In ", "the sea."]:
                await asyncio.sleep(self.seconds)
                yield Piece(part)
            if isinstance(self.said, BaseException):
                raise self.said
            if not isinstance(self.said, str):
                yield self.said
        finally:
            self.closed += 1


async def pieces_of(model: GivenChatModel) -> list[Piece]:
    return [piece async for piece in model.stream(ASK)]


async def test_a_simple_model_works_whole_and_streamed() -> None:
    model = GivenChatModel(Own())
    assert (await model.complete(ASK)).text == "In the sea."
    pieces = await pieces_of(model)
    assert "".join(p.text for p in pieces) == "In the sea."
    assert pieces[-1].reply is not None
    assert (pieces[-1].reply.text, pieces[-1].reply.usage.estimated, model.model_id) == ("In the sea.", True, "own")


@pytest.mark.parametrize("error", [ValueError("boom"), TimeoutError(), KeyError("x"), RuntimeError()])
async def test_what_it_raises_is_a_model_error(error: Exception) -> None:
    model = GivenChatModel(Own(error))
    for call in (model.complete(ASK), pieces_of(model)):
        with pytest.raises(ModelError, match=f"own raised {type(error).__name__}"):
            await call


async def test_our_own_errors_are_left_as_they_are() -> None:
    with pytest.raises(ModelBusy):
        await GivenChatModel(Own(ModelBusy("later", 3))).complete(ASK)


@pytest.mark.parametrize("said", [None, 3, {"text": "x"}, ChatReply(b"x"), ChatReply("x", None)])  # type: ignore[arg-type]
async def test_what_is_no_reply_is_an_error(said: Any) -> None:
    model = GivenChatModel(Own(said))
    with pytest.raises(ModelError, match="answered no ChatReply"):
        await model.complete(ASK)


@pytest.mark.parametrize("said", [3, {"text": "x"}, Piece(b"x"), Piece(reply="x")])  # type: ignore[arg-type]
async def test_what_is_no_piece_is_an_error(said: Any) -> None:
    with pytest.raises(ModelError):
        await pieces_of(GivenChatModel(Own(said)))


async def test_it_is_not_waited_for_forever() -> None:
    model = GivenChatModel(Own(seconds=5), 0.05)
    for call in (model.complete(ASK), pieces_of(model)):
        with pytest.raises(ModelTimeout, match=r"own did not answer within 0\.05 s"):
            await call


async def test_a_stream_that_is_left_is_closed() -> None:
    own = Own()
    stream = GivenChatModel(own).stream(ASK)
    await anext(stream)
    await stream.aclose()
    assert own.closed == 1


async def test_a_schema_is_told_it_in_words_unless_it_says_it_can() -> None:
    own = Own()
    await GivenChatModel(own).complete(replace(ASK, schema=SCHEMA))
    assert own.asked[0].schema is None
    assert '{"city"?: string}' in own.asked[0].messages[0].content
    can = ScriptedModel("{}")
    await GivenChatModel(can).complete(replace(ASK, schema=SCHEMA))
    assert can.requests[0].schema == SCHEMA


class NoStream:
    model_id = "x"

    async def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply("")

    def stream(self, request: ChatRequest) -> None: ...


class NoName:
    async def complete(self, request: ChatRequest) -> ChatReply:
        return ChatReply("")


@pytest.mark.parametrize("given", [object(), NoName(), NoStream(), "text", None])
def test_an_object_that_is_no_model_is_refused_when_handed_over(given: Any) -> None:
    with pytest.raises(InvalidInput, match="language model"):
        GivenChatModel(given)
