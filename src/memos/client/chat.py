"""The verbs of conversation: an answer of the server's chat model that rests on memories, whole or as it is made."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from memos.answers import CONTEXT_TOKENS, LIMIT, ChatAnswer, ChatEvent, ChatModels, Suggested
from memos.client.connected import Connected
from memos.client.decoding import decode
from memos.client.encoding import body, messages_of
from memos.client.transport import Call
from memos.errors import Unavailable
from memos.memory.filter import Filter
from memos.memory.model import Kind

_PATH = "/v1/chat"


class ChatVerbs(Connected):
    """Ask, and be answered with what is remembered. `user` None: the client's user, else the key's."""

    async def chat(
        self,
        query: str,
        *,
        user: str | None = None,
        cube: str | None = None,
        cubes: Sequence[str] | None = None,
        session: str | None = None,
        history: object = None,
        system_prompt: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        limit: int = LIMIT,
        context_tokens: int = CONTEXT_TOKENS,
        filter: Filter | Mapping[str, Any] | None = None,
        kinds: Collection[Kind | str] | None = None,
        threshold: float = 0.0,
        keep_best: int = 0,
        reference_time: datetime | str | float | None = None,
        cite: bool = False,
        add: bool = True,
        add_to: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> ChatAnswer:
        """Answer a question with what is remembered, and remember the question and the answer; see `AsyncMemOS.chat`.

        It is sent once: an answer that was lost on the way is kept on the server. Raises Unavailable when the server has no chat
        model, and ModelError when it fails.
        """
        fields = body(
            query=query,
            user=self._as(user),
            cube=cube,
            cubes=cubes,
            session=session,
            history=messages_of(history),
            system_prompt=system_prompt,
            model=model,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            limit=limit,
            context_tokens=context_tokens,
            filter=filter,
            kinds=kinds,
            threshold=threshold,
            keep_best=keep_best,
            reference_time=reference_time,
            cite=cite,
            add=add,
            add_to=add_to,
            tags=tags,
            info=info,
        )
        return await self._post(_PATH, ChatAnswer, fields, repeatable=False, patient=True)

    async def chat_stream(
        self,
        query: str,
        *,
        user: str | None = None,
        cube: str | None = None,
        cubes: Sequence[str] | None = None,
        session: str | None = None,
        history: object = None,
        system_prompt: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        limit: int = LIMIT,
        context_tokens: int = CONTEXT_TOKENS,
        filter: Filter | Mapping[str, Any] | None = None,
        kinds: Collection[Kind | str] | None = None,
        threshold: float = 0.0,
        keep_best: int = 0,
        reference_time: datetime | str | float | None = None,
        cite: bool = False,
        suggest: bool = False,
        add: bool = True,
        add_to: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        """The same as it is made: events of `memos.answers`, the last one `ChatEnd`; see `AsyncMemOS.chat_stream`.

        Raises Unavailable when the connection breaks before the end; what came so far is kept on the server.
        """
        fields = body(
            query=query,
            user=self._as(user),
            cube=cube,
            cubes=cubes,
            session=session,
            history=messages_of(history),
            system_prompt=system_prompt,
            model=model,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            limit=limit,
            context_tokens=context_tokens,
            filter=filter,
            kinds=kinds,
            threshold=threshold,
            keep_best=keep_best,
            reference_time=reference_time,
            cite=cite,
            suggest=suggest,
            add=add,
            add_to=add_to,
            tags=tags,
            info=info,
            stream=True,
        )
        call = Call("POST", _PATH, body=fields, headers={"Accept": "text/event-stream"}, repeatable=False, patient=True)
        of: Any = ChatEvent
        event: ChatEvent | None = None
        async for data in self._transport.events(call):
            event = decode(of, data)
            yield event
        if event is None or event.type != "end":
            raise Unavailable("the server ended the stream before the answer was at its end")

    async def chat_models(self) -> tuple[str, ...]:
        """The names that `model` may have, the usual one first; none where the server has no chat model."""
        return (await self._get(f"{_PATH}/models", ChatModels)).items

    async def suggest(
        self,
        messages: object = None,
        *,
        user: str | None = None,
        cube: str | None = None,
        language: Literal["en", "zh"] | None = None,
    ) -> tuple[str, ...]:
        """Up to three questions to ask next, about the end of a conversation or what was remembered last."""
        fields = {"messages": messages_of(messages), "user": self._as(user), "cube": cube, "language": language}
        return (await self._post(f"{_PATH}/suggestions", Suggested, fields)).questions
